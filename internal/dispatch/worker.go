package dispatch

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// The pauses between two tries of a record, and the number of tries after which people hear of it.
const (
	firstPause  = 100 * time.Millisecond
	longestTry  = 30 * time.Second
	noticeAfter = 5
)

// Run handles records until the lane is stopped or the shard has ended and all of it is handled. A
// handler that ends the goroutine (runtime.Goexit) ends it too: what follows Run must be deferred.
//
// Run is the first worker. It starts others as there is work for them, AtOnce in all; they stay.
func (l *Lane) Run() {
	defer close(l.done)
	defer l.workers.Wait() // only workers start workers
	l.mu.Lock()
	l.started = 1
	l.mu.Unlock()
	l.serve()
}

// serve is a worker. What the handler gets is the worker's copy, so that a handler that changes its record
// changes neither the next try nor the bytes that are given back.
func (l *Lane) serve() {
	var given record.Record
	for {
		c := l.next()
		if c == nil {
			return
		}
		for c != nil {
			if !l.mayStart(c) {
				return
			}
			given = *c.record
			given.Attempt = c.attempt
			c = l.finish(c, l.call(c, &given))
		}
	}
}

// next waits for a call to make; nil ends the worker.
func (l *Lane) next() *call {
	l.mu.Lock()
	for {
		l.waking = false
		if l.noMore() {
			l.mu.Unlock()
			return nil
		}
		if c := l.take(); c != nil {
			l.mu.Unlock()
			return c
		}
		if l.ended && l.calls.oldest == nil && l.unseen() == nil {
			l.over = true
			l.tracker.End()
			l.work.Broadcast()
			l.mu.Unlock()
			l.cfg.Ended()
			return nil
		}
		l.idle++
		l.work.Wait()
		l.idle--
	}
}

// noMore says whether no handler is started any more. The caller holds the lock, here and in take and wake.
func (l *Lane) noMore() bool { return l.stopping || l.halted || l.over || l.inert }

// take returns a call to make now, or nil: one that is ready, or the next record whose key is not busy. It
// looks no further than a worker needs, so that the rest of the queue can be dropped.
func (l *Lane) take() *call {
	if l.noMore() {
		return nil
	}
	c := l.calls.pop()
	for c == nil {
		b := l.unseen()
		if b == nil {
			return nil
		}
		if l.tracker.InFlight() >= l.cfg.MaxInFlight {
			l.watchHead()
			return nil
		}
		c = l.enter(b)
	}
	c.attempt++
	c.running = time.Now()
	if l.calls.ready != nil || l.tracker.InFlight() < l.cfg.MaxInFlight && l.unseen() != nil {
		l.wake()
	}
	return c
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

// mayStart waits until the worker can prove that the shard is its own. The last look at the gate is
// the last thing before the handler.
func (l *Lane) mayStart(c *call) bool {
	if l.cfg.Gate.Open() {
		return true
	}
	l.gate(c, +1)
	defer l.gate(c, -1)
	for {
		changed := l.cfg.Gate.Changed()
		select {
		case <-l.stop:
			return false
		default:
		}
		if l.cfg.Gate.Open() {
			return true
		}
		select {
		case <-changed:
		case <-l.stop:
		}
	}
}

// gate notes that a worker comes to the closed gate with this call, or leaves it.
func (l *Lane) gate(c *call, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gated += by
	c.attempt -= by
	c.running = time.Time{}
	if by < 0 {
		c.running = time.Now()
	}
}

// call calls the handler; a panic is an error. A handler can also end the goroutine, as t.FailNow does in
// a test: nobody is left to try again, so the consumer stops, rather than to hold a shard that nobody reads.
func (l *Lane) call(c *call, r *record.Record) (err error) {
	ctx := l.ctx
	if l.cfg.Timeout > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, l.cfg.Timeout, ErrHandlerTimeout)
		defer cancel()
		ctx = timed
	}
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		} else if !returned {
			l.halt(c, ErrHandlerExited)
			l.cfg.Stopped(ErrHandlerExited)
		}
	}()
	err = l.cfg.Handle(ctx, r)
	returned = true
	return err
}

// halt starts no further handler, since the consumer is to stop.
func (l *Lane) halt(c *call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.err, c.running = err, time.Time{}
	l.halted = true
	l.work.Broadcast()
}

// finish notes what came of a call, and returns the next one for this worker if there is one right away.
func (l *Lane) finish(c *call, err error) (next *call) {
	if stop, ok := errors.AsType[*StopError](err); ok {
		l.halt(c, err)
		l.cfg.Stopped(stop.Err)
		<-l.stop
		return nil
	}
	l.mu.Lock()
	var give int64
	var news bool
	if err == nil {
		give, news = l.ack(c)
	} else {
		news = l.failed(c, err)
	}
	next = l.take()
	l.mu.Unlock()
	if give > 0 {
		l.cfg.Give(give)
	}
	if news {
		l.tell()
	}
	return next
}

// giveAtLeast keeps small records from taking the budget's lock one by one.
const giveAtLeast = 64 << 10

// ack counts a record as handled, unless the lane is over. It returns the bytes to give back, and whether there
// is something to tell. The caller holds the lock, here and in failed.
func (l *Lane) ack(c *call) (give int64, news bool) {
	if l.inert {
		return 0, false
	}
	if c.attempt > noticeAfter {
		news = l.trouble.solved()
	}
	if l.tracker.Ack(c.handle) {
		news = l.trouble.headMoved() || news
	}
	l.handled++
	l.queued--
	l.freed += c.record.Size()
	b := c.batch
	l.calls.handled(c)
	if l.leave(b) || l.freed >= giveAtLeast {
		give, l.freed = l.freed, 0
	}
	return give, news
}

// failed lets a record that failed come again after a pause. Meanwhile the worker is free for others.
func (l *Lane) failed(c *call, err error) (news bool) {
	if l.inert {
		return false
	}
	c.err, c.running = err, time.Time{}
	if c.attempt == noticeAfter {
		news = l.trouble.failing(err)
	}
	wait := c.pause
	c.pause = min(2*c.pause, longestTry)
	if after, ok := errors.AsType[*RetryAfterError](err); ok {
		wait = after.Pause
	}
	c.timer = time.AfterFunc(wait, func() { l.retry(c) })
	return news
}

// retry ends the pause of a call.
func (l *Lane) retry(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noMore() {
		return
	}
	c.timer = nil
	l.calls.push(c)
	l.wake()
}
