package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// grant is one epoch of one shard: from the lease's Open to its Close, and on until its last handler
// has returned.
type grant struct {
	engine *Engine
	shard  string
	token  int64
	lane   *dispatch.Lane
	reader Reader
	cancel context.CancelFunc // of reading
	gone   chan struct{}      // closed: no handler of this epoch runs

	told lease.Position // to the member; only the loop touches it

	// Guarded by Engine.mu.
	behind time.Duration
	read   time.Time // of the last answer
	bad    int64     // records that look like aggregated ones, and are not
	stuck  bool      // it cannot be read, and people know it
	waits  bool      // for a handler of an older epoch
	ended  bool      // the epoch is over; only a handler is still running
}

// openGrant begins to read a shard and to hand it out. The order holds also across epochs: an older
// epoch's handlers that have not returned are waited for.
func (l *loop) openGrant(a lease.Open) {
	e := l.engine
	ctx, cancel := context.WithCancel(l.ctx)
	g := &grant{
		engine: e, shard: a.Shard, token: a.Token, cancel: cancel,
		told: a.Position, gone: make(chan struct{}),
	}
	share := e.cfg.Budget.Shard(func(want int64) int64 { return g.lane.DropTail(want) })
	handler := e.cfg.Handler(Shard{ID: a.Shard, Position: a.Position, Token: a.Token})
	g.lane = dispatch.NewLane(l.ctx, dispatch.LaneConfig{
		Start:   a.Position,
		Gate:    e.proof,
		Open:    handler.Open,
		Handle:  handler.Handle,
		Close:   handler.Close,
		Timeout: e.cfg.HandlerTimeout,
		Batch:   e.cfg.Batch,
		Retry:   e.cfg.Retry,
		GiveUp:  g.giveUp(),
		Range:   a.HashRange, DropStrays: e.cfg.DropStrays,
		PerKey: e.cfg.PerKey, AtOnce: e.cfg.AtOnce, MaxInFlight: e.cfg.MaxInFlight,
		Give: share.Give,
		Ended: func() {
			l.post(lease.Acked{Shard: a.Shard, Token: a.Token, Position: lease.ShardEnd()})
		},
		Notice: func(err error) {
			e.say(Event{Kind: noticeKind(err), Shard: a.Shard, Position: g.lane.Watermark(), Err: err})
		},
		Stopped: e.stopWith,
	})
	g.reader = e.cfg.Read(a.Shard, a.Position, a.Token, share, g.notice)

	var before <-chan struct{}
	e.mu.Lock()
	if older := e.grants[a.Shard]; older != nil {
		before = older.gone
	}
	g.waits = before != nil
	e.grants[a.Shard] = g
	e.mu.Unlock()

	go func() { // not a task: a handler that never returns must not keep Run from returning
		defer share.Close()
		defer g.forget(before)
		g.wait(ctx, before)
		g.lane.Run()
	}()
	l.tasks.Go(func() {
		g.wait(ctx, before)
		l.feed(ctx, g)
	})
}

// noticeKind is what a lane has to tell.
func noticeKind(err error) lease.ReportKind {
	if err == nil {
		return Moving
	}
	if _, full := errors.AsType[*dispatch.HeadError](err); full {
		return Stuck
	}
	if _, closing := errors.AsType[*dispatch.CloseError](err); closing {
		return CloseFailed
	}
	return Retrying
}

// giveUp disposes of records that are not to be tried again, and tells of each of them.
func (g *grant) giveUp() func(context.Context, *record.Record, error) error {
	e := g.engine
	if e.cfg.GiveUp == nil {
		return nil
	}
	return func(ctx context.Context, r *record.Record, cause error) error {
		if err := e.cfg.GiveUp(ctx, r, cause); err != nil {
			return err
		}
		at, _ := r.Position() // a bad sequence number does not get this far
		e.say(Event{Kind: GaveUp, Shard: g.shard, Position: at, Err: cause})
		return nil
	}
}

// wait waits until the handlers of the epochs before have returned, or this one is over.
func (g *grant) wait(ctx context.Context, before <-chan struct{}) {
	if before == nil {
		return
	}
	select {
	case <-before:
	case <-ctx.Done():
	}
	g.engine.mu.Lock()
	g.waits = false
	g.engine.mu.Unlock()
}

// forget ends the grant once its last handler has returned, and those of the epochs before it: a
// later epoch waits for this one only.
func (g *grant) forget(before <-chan struct{}) {
	if before != nil {
		<-before
	}
	e := g.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.grants[g.shard] == g && g.ended {
		delete(e.grants, g.shard)
	}
	close(g.gone)
}

// feed reads the shard into its lane until the epoch is over.
func (l *loop) feed(ctx context.Context, g *grant) {
	e := l.engine
	for {
		again, rewind, err := g.lane.Room(ctx)
		if err != nil {
			return
		}
		if rewind {
			g.reader.Rewind(again)
		}
		b, err := g.reader.Next(ctx)
		switch {
		case ctx.Err() != nil:
			g.lane.Push(b.Records, b.Memory, false) // which only gives their bytes back: the lane was stopped before
			return
		case err != nil || b.Trimmed != nil:
			// Is it the stream that is missing, or not the same?
			if gone := e.cfg.Verify(ctx); gone != nil {
				e.stopWith(gone)
				return
			}
		}
		switch {
		case errors.Is(err, fetch.ErrMissing): // never the end of a shard
			l.post(lease.Missing{Shard: g.shard, Token: g.token})
			continue
		case err != nil:
			g.notice(fetch.Notice{Shard: g.shard, Err: err})
			continue
		}
		g.notice(fetch.Notice{Shard: g.shard})
		if b.Trimmed != nil && !e.trimmed(g, b.Trimmed) {
			return
		}
		e.mu.Lock()
		g.behind, g.read = b.Behind, time.Now()
		g.bad += b.Malformed
		e.mu.Unlock()
		g.lane.Push(b.Records, b.Memory, b.End)
		if b.End {
			l.post(lease.Ended{Shard: g.shard, Token: g.token, Children: b.Children})
		}
	}
}

// TrimmedError says which records passed their retention before the group read them.
type TrimmedError struct {
	Shard       string
	After, Next lease.Position
}

// Error implements error.
func (t *TrimmedError) Error() string {
	return fmt.Sprintf("shard %s: records between %v and %v passed the stream's retention unread", t.Shard, t.After, t.Next)
}

// trimmed tells that records are gone. It returns whether to go on.
func (e *Engine) trimmed(g *grant, t *fetch.Trimmed) bool {
	err := &TrimmedError{Shard: g.shard, After: t.After, Next: t.First}
	e.say(Event{Kind: Trimmed, Shard: g.shard, Position: t.After, Err: err})
	if e.cfg.HaltOnTrimmed {
		e.stopWith(err)
		return false
	}
	return true
}

// notice tells of reading that does not get on, and of its end.
func (g *grant) notice(n fetch.Notice) {
	e := g.engine
	e.mu.Lock()
	was := g.stuck
	g.stuck = n.Err != nil
	e.mu.Unlock()
	switch {
	case n.Err != nil && !was:
		e.say(Event{Kind: Stuck, Shard: g.shard, Position: g.lane.Watermark(), Err: n.Err})
	case n.Err == nil && was:
		e.say(Event{Kind: Moving, Shard: g.shard, Position: g.lane.Watermark()})
	}
}

// drain starts no further handler and waits for the running ones; if they take too long their contexts are
// cancelled, and a little later their acks no longer count. The member is always answered.
func (l *loop) drain(g *grant) {
	g.lane.Drain()
	g.cancel()
	after := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-g.lane.Done():
			return true
		case <-l.over:
			return true
		case <-timer.C:
			return false
		}
	}
	if !after(l.engine.cfg.DrainTimeout) {
		g.lane.Cancel(dispatch.ErrDraining)
		if !after(inertAfter) {
			g.lane.Abandon()
		}
	}
	l.post(lease.Drained{Shard: g.shard, Token: g.token, Position: g.lane.Watermark()})
}

// close ends the epoch. If the lease was lost, running handlers are cancelled; in any case their acks
// are inert from now on.
func (g *grant) close(reason lease.CloseReason) {
	cause := error(dispatch.ErrDraining)
	if reason == lease.CloseLost {
		cause = dispatch.ErrLeaseLost
	}
	g.lane.Cancel(cause) // first: Abandon stops the workers, too
	g.lane.Abandon()
	g.cancel()
	g.lane.Free()

	e := g.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	g.ended = true
	select {
	case <-g.gone:
		if e.grants[g.shard] == g {
			delete(e.grants, g.shard)
		}
	default: // forget will
	}
}

// closeGrants ends what a member left open.
func (e *Engine) closeGrants() {
	for _, g := range e.open() {
		g.close(lease.CloseLost)
	}
}

// grant returns the open epoch, or nil.
func (e *Engine) grant(shard string, token int64) *grant {
	e.mu.Lock()
	defer e.mu.Unlock()
	if g := e.grants[shard]; g != nil && g.token == token && !g.ended {
		return g
	}
	return nil
}

// open returns the open epochs, in any order.
func (e *Engine) open() []*grant {
	e.mu.Lock()
	defer e.mu.Unlock()
	var open []*grant
	for _, g := range e.grants {
		if !g.ended {
			open = append(open, g)
		}
	}
	return open
}
