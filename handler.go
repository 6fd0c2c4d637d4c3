package leat

import (
	"context"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
)

// Handler handles one record. It steers by what it returns:
//
//   - nil: the record is handled. The checkpoint may pass it.
//   - any other error, or a panic: the same record is tried again, as Config.Retry says: after a pause that
//     doubles from 100 ms to 30 s, for ever, if it does not say otherwise. The records behind it in the shard
//     wait (with PerKey, those of its key).
//   - RetryAfter(d, err): as an error, but the pause is d.
//   - Poison(err): no try will succeed. The record is given up at once, as Config.Retry says.
//   - Stop(err): the consumer stops in order, the record stays unhandled, and Run returns err.
//     So it does if the handler calls runtime.Goexit, as t.FailNow does.
//
// One record of a shard is handled at a time, in the order of sequence numbers; with Config.Order PerKey(n)
// up to n records of a shard, but one record of a partition key at a time, in that order. Shards run beside
// each other, so Handle is called from several goroutines in any case. The context is not cancelled when Run's is: only
// when the shard's lease is lost (the cause is ErrLeaseLost), when DrainTimeout is over (ErrDraining) or
// HandlerTimeout is (ErrHandlerTimeout).
type Handler interface {
	Handle(ctx context.Context, r *Record) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, r *Record) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r *Record) error { return f(ctx, r) }

// RetryAfter returns an error that makes the record be tried again after d, instead of the usual pause.
func RetryAfter(d time.Duration, err error) error {
	return &dispatch.RetryAfterError{Pause: d, Err: err}
}

// Stop returns an error that stops the consumer: it drains, checkpoints what was handled before,
// releases its shards, and Run returns err.
func Stop(err error) error { return &dispatch.StopError{Err: err} }

// Defer lets the acknowledgement of what a handler has got come from elsewhere: its nil does not count, but what ack is
// called with, once, from any goroutine, means what a handler's result means. Until then the record counts
// as running, with its order (with PerShard the next record of the shard waits, with PerKey the next one of the key),
// its context, HandlerTimeout and DrainTimeout; but it holds none of the n places of PerKey(n): MaxInFlight is the bound. With
// a batch, it is the batch's. An ack is inert once the lease is gone, and after the first.
//
// ctx is the handler's, or derived from it, and its handler has not returned; otherwise Defer returns nil. If the handler
// returns an error or panics after Defer, that counts, and ack is inert.
func Defer(ctx context.Context) (ack func(error)) {
	settle := dispatch.Defer(ctx)
	if settle == nil {
		return nil
	}
	return func(err error) { settle(steering(err)) }
}

// PanicError is a handler's panic as an error: Value is what it panicked with, Stack the stack of its goroutine (as
// debug.Stack writes it). Event.Err and ShardStats.Error wrap it, see errors.As; Logger gets the stack, too.
type PanicError = dispatch.PanicError

// Causes of a handler's cancelled context: context.Cause tells which.
var (
	// ErrLeaseLost says that the shard is, or may soon be, another worker's. What the handler returns does not count.
	ErrLeaseLost = dispatch.ErrLeaseLost

	// ErrDraining says that the worker is stopping, or gives the shard away, and that DrainTimeout is over. What the handler
	// returns counts for 5 s more.
	ErrDraining = dispatch.ErrDraining

	// ErrHandlerTimeout says that the call has run for longer than HandlerTimeout. What the handler returns counts.
	ErrHandlerTimeout = dispatch.ErrHandlerTimeout
)
