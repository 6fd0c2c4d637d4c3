package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
)

// Stats is where the worker stands.
type Stats struct {
	Worker    string // id; "" before Run
	Suspended bool   // it cannot prove that it holds its shards, and starts no handler
	StoreErr  error  // of the last call to the store
	Shards    []ShardStats
}

// ShardStats is where a held shard stands.
type ShardStats struct {
	Shard    string
	Token    int64
	Position lease.Position // everything up to it is handled
	Handled  int64          // records, since the shard was taken
	Queued   int            // records read and not handled
	Behind   time.Duration  // of the last answer read
	Read     time.Time      // when that came
	Running  time.Time      // when the running handler was called
	Attempt  int            // of the record at the head
	Err      error          // of its last try
	Why      string         // what the shard is doing, or waiting for
}

// Stats returns where the worker stands now.
func (e *Engine) Stats() Stats {
	open := e.open()
	slices.SortFunc(open, func(a, b *grant) int { return strings.Compare(a.shard, b.shard) })
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Stats{Worker: e.id, Suspended: e.proof.member() && !e.proof.Open(), StoreErr: e.store.err}
	for _, g := range open {
		lane := g.lane.State()
		s.Shards = append(s.Shards, ShardStats{
			Shard: g.shard, Token: g.token, Position: g.lane.Watermark(),
			Handled: lane.Handled, Queued: lane.Queued,
			Behind: g.behind, Read: g.read, Running: lane.Running, Attempt: lane.Attempt, Err: lane.Err,
			Why: g.why(lane.Running, lane.Attempt, lane.Err, lane.Suspended),
		})
	}
	return s
}

// why says what a shard is doing, the most telling thing first.
func (g *grant) why(running time.Time, attempt int, err error, suspended bool) string {
	switch {
	case g.waits:
		return "waiting for a handler of an earlier epoch to return"
	case suspended:
		return "suspended: the worker cannot prove its lease, the store does not answer"
	case err != nil && running.IsZero():
		return fmt.Sprintf("retrying a record after attempt %d: %v", attempt, err)
	case !running.IsZero() && time.Since(running) > time.Second:
		return fmt.Sprintf("handler running for %v, attempt %d", time.Since(running).Round(time.Second), attempt)
	case g.stuck != nil:
		return fmt.Sprintf("cannot be read: %v", g.stuck)
	}
	return g.reader.Status()
}

// Errors of Health.
var (
	ErrNotMember = errors.New("not a member of the group")
	ErrSuspended = errors.New("suspended: the lease store does not answer, no handler is started")
)

// Health is nil if the worker is a member of its group and can prove it.
func (e *Engine) Health() error {
	e.mu.Lock()
	storeErr := e.store.err
	e.mu.Unlock()
	var unwell error
	switch {
	case !e.proof.member():
		unwell = ErrNotMember
	case !e.proof.Open():
		unwell = ErrSuspended
	default:
		return nil
	}
	if storeErr != nil {
		return fmt.Errorf("%w: %w", unwell, storeErr)
	}
	return unwell
}
