package leat

import (
	"context"

	"github.com/leatstream/leat/internal/engine"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// ShardHandler handles shards: it is told when this worker takes one, gets its records in batches, and is told
// when the worker gives it up. Calls for one shard come one at a time; shards run beside each other.
type ShardHandler interface {
	// Open comes before the first Handle of a shard. An error, or a panic, makes it come again, after the pauses
	// of Config.Retry, for ever; Stop stops the consumer.
	Open(ctx context.Context, s *Shard) error

	// Handle handles records in their order. What it returns means what it means for a BatchHandler; Config.Batch
	// has the bounds.
	Handle(ctx context.Context, s *Shard, records []Record) error

	// Close comes once Open has returned nil and no Handle runs any more. Nothing that Handle has left
	// unhandled comes to this Shard again. With ReasonFinished an error makes Close come again: the shard's
	// children are not read before. Otherwise an error is told, an EventCloseFailed, and that is all. With ReasonLost
	// the context is already cancelled; with ReasonReleased it is when DrainTimeout is over, and until then no other
	// worker reads the shard.
	Close(ctx context.Context, s *Shard, reason Reason) error
}

// Shard is one shard as this worker holds it, from Open to Close. When the worker takes it again that is another
// Shard.
type Shard struct {
	Stream   string
	ID       string
	Position Position // everything up to it was handled before
	Token    int64    // that of its records; see Record.Token
	State    any      // the handler's own
}

// Reason says why a worker gives a shard up.
type Reason string

// The reasons.
const (
	ReasonFinished Reason = "finished" // everything in the shard is handled, and nothing more will come
	ReasonReleased Reason = "released" // the shard is given back with its last checkpoint: a stop, a move
	ReasonLost     Reason = "lost"     // the shard is, or may soon be, another worker's
)

// reason is the public word for why a grant ended.
func reason(r lease.CloseReason) Reason { return Reason(r.String()) }

// handlerOf makes what the engine calls for one epoch of a shard.
func (c *Consumer) handlerOf(stream string) func(engine.Shard) engine.Handler {
	var plain engine.Handler
	switch shards := c.cfg.Shards; {
	case c.cfg.Handler != nil:
		plain.Handle = func(ctx context.Context, records []record.Record) error {
			return steering(c.cfg.Handler.Handle(ctx, (*Record)(&records[0])))
		}
	case shards == nil:
		plain.Handle = func(ctx context.Context, records []record.Record) error {
			return steering(c.cfg.Batch.Handler.HandleBatch(ctx, public(records)))
		}
	default:
		return func(epoch engine.Shard) engine.Handler {
			s := &Shard{Stream: stream, ID: epoch.ID, Position: epoch.Position, Token: epoch.Token}
			return engine.Handler{
				Open: func(ctx context.Context) error { return shards.Open(ctx, s) },
				Handle: func(ctx context.Context, records []record.Record) error {
					return steering(shards.Handle(ctx, s, public(records)))
				},
				Close: func(ctx context.Context, r lease.CloseReason) error { return shards.Close(ctx, s, reason(r)) },
			}
		}
	}
	return func(engine.Shard) engine.Handler { return plain }
}
