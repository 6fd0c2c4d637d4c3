package dispatch

import (
	"context"
	"sync/atomic"
	"time"
)

// turnContext is the context of one call of the handler, through which it may defer its ack.
type turnContext struct {
	lane    *Lane
	turn    *turn
	limited *limited      // nil without a time-out of the handler
	state   atomic.Uint32 // see below; but for plain, it is changed under Lane.mu

	returned bool  // the handler has; guarded by Lane.mu, as all below
	err      error // the deferred ack's, if it came before the handler returned
}

// limited is a context with a time-out.
type limited struct {
	context.Context
	cancel context.CancelFunc
}

// inner is the context without the call.
func (c *turnContext) inner() context.Context {
	if c.limited != nil {
		return c.limited
	}
	return c.lane.ctx
}

// Deadline implements context.Context.
func (c *turnContext) Deadline() (time.Time, bool) { return c.inner().Deadline() }

// Done implements context.Context.
func (c *turnContext) Done() <-chan struct{} { return c.inner().Done() }

// Err implements context.Context.
func (c *turnContext) Err() error { return c.inner().Err() }

// How the ack of a call comes.
const (
	direct   uint32 = iota // the handler's result is the ack
	deferred               // it comes from elsewhere
	settled                // it came
	plain                  // the handler has returned nil, and that was that
)

type turnKey struct{}

// Value implements context.Context.
func (c *turnContext) Value(key any) any {
	if key == (turnKey{}) {
		return c
	}
	return c.inner().Value(key)
}

// contexts makes the contexts of a worker's calls, many at once: each is used for one call only, so that a
// handler that keeps it reaches no other call's ack.
type contexts []turnContext

const contextsAtOnce = 64

// take returns the context of a call; so many are needed soon. A quiet shard keeps none that it does not need.
func (s *contexts) take(l *Lane, t *turn, soon int) *turnContext {
	if len(*s) == 0 {
		*s = make([]turnContext, max(1, min(soon, contextsAtOnce)))
	}
	c := &(*s)[0]
	*s = (*s)[1:]
	c.lane, c.turn = l, t
	if l.cfg.Timeout > 0 {
		ctx, cancel := context.WithTimeoutCause(l.ctx, l.cfg.Timeout, ErrHandlerTimeout)
		c.limited = &limited{ctx, cancel}
	}
	return c
}

// end frees what the context holds.
func (c *turnContext) end() {
	if c.limited != nil {
		c.limited.cancel()
	}
}

// Defer lets the ack of the call whose context ctx is come from elsewhere. It returns nil if ctx is not one of
// a handler's call, or the handler has returned.
func Defer(ctx context.Context) func(error) {
	c, ok := ctx.Value(turnKey{}).(*turnContext)
	if !ok {
		return nil
	}
	c.lane.mu.Lock()
	defer c.lane.mu.Unlock()
	if c.returned {
		return nil
	}
	switch {
	case c.state.CompareAndSwap(direct, deferred):
		c.turn.context = c
	case c.state.Load() == plain:
		return nil
	}
	return c.ack
}

// ack is the deferred result of the handler. Only the first one counts.
func (c *turnContext) ack(err error) {
	l := c.lane
	l.mu.Lock()
	if !c.state.CompareAndSwap(deferred, settled) {
		l.mu.Unlock()
		return
	}
	if !c.returned {
		c.err = err
		l.mu.Unlock()
		return
	}
	after := l.settle(c.turn, err)
	l.wake()
	l.mu.Unlock()
	c.end()
	l.carryOut(after)
}

// over notes, without the lock, that the handler has returned nil. It says whether that is the ack.
func (c *turnContext) over() bool { return c.state.CompareAndSwap(direct, plain) }

// result is the handler's, once it has returned: what it returned, or what it deferred. If that has not come,
// the turn stays out. The caller holds the lock.
func (c *turnContext) result(err error) (_ error, waits bool) {
	c.returned = true
	switch {
	case err != nil: // also of a handler that has deferred: it failed after all
		c.state.Store(settled)
	case c.state.Load() == deferred:
		return nil, true
	default:
		err = c.err
	}
	return err, false
}
