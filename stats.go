package leat

import (
	"time"

	"github.com/leatstream/leat/internal/engine"
)

// Stats is where a worker stands at one moment.
type Stats struct {
	Group  string
	Stream string // as Config has it: a name or an ARN
	Worker string // its id in the store: name@incarnation; "" before Run has joined

	// Suspended says that the worker cannot prove that its shards are its own, since the store does not
	// answer: no handler is started.
	Suspended bool

	StoreError error // of the last reads and write of the store; nil if it answered

	Buffered     int64 // bytes of records held in memory, answers on the way included
	BufferedPeak int64 // the most that ever were; see Config.MaxBuffered

	Shards []ShardStats // held by this worker, sorted by id; the caller's
}

// ShardStats is where a shard stands.
type ShardStats struct {
	Shard    string
	Position Position      // every record up to it is handled; with PerKey, some above it too
	Token    int64         // Record.Token of this epoch
	Handled  int64         // records, since this worker took the shard, those that were given up included
	GivenUp  int64         // records, of these: dead letters, or skipped
	Strays   int64         // user records that do not belong to the shard: see Config.OnStray
	Bad      int64         // records that look like aggregated ones and are not: handled as they are, see Record.Aggregated
	Queued   int           // records read and not yet handled
	Behind   time.Duration // how far the last answer was behind the newest record; 0 at the tip
	Read     time.Time     // when that answer came; zero before the first
	Attempt  int           // tries of the oldest record that is not handled; 0 if none is being handled
	Error    error         // of its last try
	Why      string        // what the shard is doing, or waiting for, in words
}

// Stats returns where this worker stands now. It does no IO and may be called at any time, also
// before Run.
func (c *Consumer) Stats() Stats {
	s := Stats{
		Group: c.cfg.Group, Stream: c.cfg.Stream,
		Buffered: c.budget.Used(), BufferedPeak: c.budget.Peak(),
	}
	e, ok := c.engine.get()
	if !ok {
		return s
	}
	now := e.Stats()
	s.Worker, s.Suspended, s.StoreError = now.Worker, now.Suspended, now.StoreErr
	for _, g := range now.Shards {
		s.Shards = append(s.Shards, ShardStats{
			Shard: g.Shard, Position: g.Position, Token: g.Token, Handled: g.Handled, GivenUp: g.GivenUp, Strays: g.Strays, Bad: g.Bad, Queued: g.Queued,
			Behind: g.Behind, Read: g.Read, Attempt: g.Attempt, Error: g.Err, Why: g.Why,
		})
	}
	return s
}

// Health is nil if the worker is a member of its group and can prove it: a readiness probe. It does
// no IO.
func (c *Consumer) Health() error {
	if e, ok := c.engine.get(); ok {
		return e.Health()
	}
	return engine.ErrNotMember
}
