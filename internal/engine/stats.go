package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/lease"
)

// Stats is where the worker stands.
type Stats struct {
	Worker    string // id; "" before Run
	Suspended bool   // it cannot prove that it holds its shards, and starts no handler
	StoreErr  error  // of the last read or write, if it was not answered
	Shards    []ShardStats
}

// ShardStats is where a shard stands that this worker has.
type ShardStats struct {
	Shard    string
	Token    int64
	Position lease.Position // everything up to it is handled
	Handled  int64          // records, since the shard was taken, those that were given up included
	GivenUp  int64          // records, of these
	Strays   int64          // user records that do not belong to the shard
	Bad      int64          // records that look like aggregated ones, and are not
	Queued   int            // records read and not handled
	Behind   time.Duration  // of the last answer read
	Read     time.Time      // when that came
	Running  time.Time      // when the handler was called that has the record at the head
	Attempt  int            // of the record at the head
	Err      error          // of its last try
	Why      string         // what the shard is doing, or waiting for
}

// Stats returns where the worker stands now.
func (e *Engine) Stats() Stats {
	open := e.open()
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Stats{Worker: e.id, Suspended: e.proof.member() && !e.proof.Open(time.Now()), StoreErr: e.store.err()}
	for _, g := range open {
		lane := g.lane.State()
		s.Shards = append(s.Shards, ShardStats{
			Shard: g.shard, Token: g.token, Position: g.lane.Watermark(),
			Handled: lane.Handled, GivenUp: lane.GivenUp, Strays: lane.Strays, Bad: g.bad, Queued: lane.Queued,
			Behind: g.behind, Read: g.read, Running: lane.Running, Attempt: lane.Attempt, Err: lane.Err,
			Why: g.why(lane),
		})
	}
	for _, halted := range e.halted {
		s.Shards = append(s.Shards, halted)
	}
	slices.SortFunc(s.Shards, func(a, b ShardStats) int { return strings.Compare(a.Shard, b.Shard) })
	return s
}

// note remembers which shards are on hold, and which stand still for good. These are no longer open, but people look for
// them here; a hold, or a new epoch, ends it.
func (e *Engine) note(r lease.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r.Kind {
	case lease.OnHold:
		e.holds[r.Shard] = r.Err
		delete(e.halted, r.Shard)
	case lease.HoldEnded:
		delete(e.holds, r.Shard)
	case lease.InvariantBroken:
		e.halted[r.Shard] = ShardStats{Shard: r.Shard, Position: r.Position, Why: r.Err.Error()}
	case lease.Took:
		delete(e.halted, r.Shard)
	}
}

// why says what a shard is doing, the most telling thing first.
func (g *grant) why(lane dispatch.LaneState) string {
	head := whyHead(lane)
	hold := g.engine.holds[g.shard]
	switch {
	case hold != nil && head != "":
		return fmt.Sprintf("giving the shard back, on hold: %v; %s", hold, head)
	case hold != nil:
		return fmt.Sprintf("giving the shard back, on hold: %v", hold)
	case g.waits:
		return "waiting for a handler of an earlier epoch to return"
	case lane.Suspended:
		return "suspended: the worker cannot prove its lease, the store does not answer"
	case lane.Full && head != "":
		return fmt.Sprintf("%v; %s", &dispatch.HeadError{Above: lane.Above}, head)
	case lane.Full:
		return (&dispatch.HeadError{Above: lane.Above}).Error()
	case head != "":
		return head
	}
	return g.reader.Status()
}

// whyHead says what keeps the record at the head, if that is worth a word.
func whyHead(lane dispatch.LaneState) string {
	switch {
	case lane.Err != nil && lane.Running.IsZero():
		return fmt.Sprintf("retrying a record after attempt %d: %v", lane.Attempt, lane.Err)
	case lane.Deferred && time.Since(lane.Running) > time.Second:
		return fmt.Sprintf("waiting for a deferred ack for %v, attempt %d", time.Since(lane.Running).Round(time.Second), lane.Attempt)
	case !lane.Running.IsZero() && time.Since(lane.Running) > time.Second:
		return fmt.Sprintf("handler running for %v, attempt %d", time.Since(lane.Running).Round(time.Second), lane.Attempt)
	}
	return ""
}

// Errors of Health.
var (
	ErrNotMember = errors.New("not a member of the group")
	ErrSuspended = errors.New("suspended: the lease store does not answer, no handler is started")
)

// Health is nil if the worker is a member of its group and can prove it.
func (e *Engine) Health() error {
	e.mu.Lock()
	storeErr := e.store.err()
	e.mu.Unlock()
	var unwell error
	switch {
	case !e.proof.member():
		unwell = ErrNotMember
	case !e.proof.Open(time.Now()):
		unwell = ErrSuspended
	default:
		return nil
	}
	if storeErr != nil {
		return fmt.Errorf("%w: %w", unwell, storeErr)
	}
	return unwell
}
