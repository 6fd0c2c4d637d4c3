package dispatch

import (
	"runtime/debug"
	"time"
)

// Run handles records until the lane is stopped or the shard has ended and all of it is handled. A
// handler that ends the goroutine (runtime.Goexit) ends it too: what follows Run must be deferred.
//
// Run is the first worker. It starts others as there is work for them, AtOnce in all; they stay.
func (l *Lane) Run() {
	defer close(l.done)
	if !l.opened() {
		return
	}
	defer l.closed()
	defer l.workers.Wait() // only workers start workers
	l.mu.Lock()
	l.started = 1
	l.mu.Unlock()
	l.serve()
}

// serve is a worker.
func (l *Lane) serve() {
	var contexts contexts
	for {
		t := l.next()
		if t == nil {
			return
		}
		for t != nil {
			if t == l.stretch.turn {
				t = l.pass(t, &contexts)
				continue
			}
			t.copyOut()
			if !l.proven(t) {
				return
			}
			ctx := contexts.take(l, t, contextsAtOnce)
			t = l.finish(t, ctx, l.call(t, ctx))
		}
	}
}

// next waits for a turn to hand out; nil ends the worker.
func (l *Lane) next() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		l.waking = false
		if t := l.take(); t != nil {
			return t
		}
		switch {
		case l.over, l.inert, (l.stopping || l.halted) && l.out == 0:
			return nil
		case l.ended && !l.stopping && l.calls.oldest == nil && l.ahead() == nil:
			l.over = true
			l.work.Broadcast()
			return nil
		}
		l.idle++
		l.work.Wait()
		l.idle--
	}
}

// take returns a turn to hand out now, or nil. The caller holds the lock, here and in more and wake.
func (l *Lane) take() *turn {
	if l.halted || l.over || l.inert {
		return nil
	}
	t := l.turns.pop()
	if t == nil {
		if l.alone() {
			l.watch()
			return nil
		}
		if t = l.lend(); t == nil {
			t = l.gather()
		}
	}
	if t == nil {
		return nil
	}
	l.out++
	if t != l.stretch.turn {
		t.count(+1)
		l.frontier = max(l.frontier, t.calls[len(t.calls)-1].handle+1)
	}
	if l.more() {
		l.share()
	}
	return t
}

// more says whether there may be a turn for another worker.
func (l *Lane) more() bool {
	return l.turns.ready != nil || l.calls.ready != nil ||
		l.cfg.PerKey && l.tracker.InFlight() < l.cfg.MaxInFlight && l.ahead() != nil
}

// wake gets another worker to look for work. One at a time is on its way, and wakes the next one in its turn:
// with handlers that return at once, few workers do it all and do not fight for the lock.
func (l *Lane) wake() {
	switch {
	case l.waking:
	case l.idle > 0:
		l.waking = true
		l.work.Signal()
	case l.started > 0 && l.started < l.cfg.AtOnce:
		l.waking = true
		l.started++
		l.workers.Go(l.serve)
	}
}

// proven waits until the worker can prove that the shard is its own. The last look at the gate is
// the last thing before the handler.
func (l *Lane) proven(t *turn) bool {
	now := time.Now()
	if l.cfg.Gate.Open(now) {
		t.running.Store(max(1, int64(now.Sub(l.made))))
		return true
	}
	l.suspend(t)
	ok := l.gate()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gated--
	if !ok {
		l.putDown()
		return false
	}
	t.count(+1)
	t.running.Store(max(1, int64(time.Since(l.made))))
	return true
}

// suspend notes that a worker comes to the closed gate with this turn.
func (l *Lane) suspend(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gated++
	t.count(-1)
}

// gate waits until the gate is open; false is the lane's stop.
func (l *Lane) gate() bool {
	for {
		changed := l.cfg.Gate.Changed()
		select {
		case <-l.stop:
			return false
		default:
		}
		if l.cfg.Gate.Open(time.Now()) {
			return true
		}
		select {
		case <-changed:
		case <-l.stop:
		}
	}
}

// putDown notes that a turn is not handed out any more. The caller holds the lock.
func (l *Lane) putDown() {
	l.out--
	if l.out == 0 && (l.stopping || l.halted) {
		l.work.Broadcast()
	}
}

// call calls the handler; a panic is an error. A handler can also end the goroutine, as t.FailNow does in
// a test: nobody is left to try again, so the consumer stops, rather than to hold a shard that nobody reads.
func (l *Lane) call(t *turn, ctx *turnContext) (err error) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		} else if !returned {
			ctx.end()
			l.halt(t, ErrHandlerExited)
		}
	}()
	if t.cause != nil {
		err = l.cfg.GiveUp(ctx, &t.given[0], t.cause)
	} else {
		err = l.cfg.Handle(ctx, t.given)
	}
	returned = true
	return err
}

// halt starts no further handler, since the consumer is to stop.
func (l *Lane) halt(t *turn, err error) {
	l.mu.Lock()
	t.err = err
	t.running.Store(0)
	l.halted = true
	l.stretch.recall()
	l.putDown()
	l.work.Broadcast()
	l.mu.Unlock()
	if stop, ok := err.(*StopError); ok {
		err = stop.Err
	}
	l.cfg.Stopped(err)
}
