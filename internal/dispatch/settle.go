package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// noticeAfter is the number of failures after which people hear of a record, and a batch is split.
const noticeAfter = 5

// outcome is what is left to do, without the lock, when the result of a turn was noted.
type outcome struct {
	give int64 // bytes to give back
	news bool  // there is something to tell
	stop *StopError
	turn *turn // that asked for the stop
}

// finish notes what came of a call of the handler, and returns the next turn for this worker if there is one right
// away.
func (l *Lane) finish(t *turn, ctx *turnContext, err error) (next *turn) {
	var took time.Duration
	if l.cfg.PerKey {
		took = time.Since(l.made) - time.Duration(t.running.Load())
	}
	l.mu.Lock()
	err, waits := ctx.result(err)
	var after outcome
	if waits {
		l.pace.slow()
	} else {
		l.pace.note(took, len(t.calls))
		after = l.settle(t, err)
	}
	if after.stop == nil {
		next = l.take()
	}
	l.mu.Unlock()
	if !waits {
		ctx.end()
	}
	l.carryOut(after)
	if after.stop != nil {
		<-l.stop
	}
	return next
}

// carryOut does what must not be done under the lock.
func (l *Lane) carryOut(after outcome) {
	if after.give > 0 {
		l.cfg.Give(after.give)
	}
	if after.news {
		l.tell()
	}
	if after.stop != nil {
		l.halt(after.turn, after.stop)
	}
}

// settle notes the result of a turn: what is handled is handled, the rest is to come again. The caller holds the
// lock, here and below.
func (l *Lane) settle(t *turn, err error) (after outcome) {
	t.context = nil
	t.running.Store(0)
	if l.inert {
		l.putDown()
		return after
	}
	handled, indexed := len(t.calls), false
	if err != nil {
		handled, indexed, err = partly(err, len(t.calls))
	}
	for _, c := range t.calls[:handled] {
		l.ack(t, c, &after)
	}
	if t.calls = slices.Delete(t.calls, 0, handled); handled > 0 {
		t.pause = l.cfg.Retry.Pause // what fails now has not failed before
	}
	if stop, ok := errors.AsType[*StopError](err); ok {
		after.stop, after.turn = stop, t
		return after // halt puts it down
	}
	l.putDown()
	switch {
	case err != nil:
		l.failed(t, err, indexed, &after)
	default:
		if t.then != nil {
			l.turns.push(t.then)
			t.then = nil
		}
		l.turns.recycle(t)
	}
	return after
}

// partly says how many of n records an error leaves handled. Indexed says that the error names the one behind them,
// and err is what it failed with.
func partly(err error, n int) (handled int, indexed bool, _ error) {
	part, ok := errors.AsType[*BatchError](err)
	switch {
	case !ok:
		return 0, false, err
	case part.Err == nil:
		return 0, false, fmt.Errorf("a BatchError with Index %d and no Err: none of the %d records counts as handled", part.Index, n)
	case part.Index < 0 || part.Index >= n:
		return 0, false, fmt.Errorf("a BatchError with Index %d for a batch of %d records: none of them counts as handled: %w", part.Index, n, part.Err)
	}
	return part.Index, true, part.Err
}

// giveAtLeast keeps small records from taking the budget's lock one by one.
const giveAtLeast = 64 << 10

// ack counts a record as handled.
func (l *Lane) ack(t *turn, c *call, after *outcome) {
	if c.noticed {
		after.news = l.trouble.solved() || after.news
	}
	if l.tracker.Ack(c.handle) {
		after.news = l.trouble.headMoved() || after.news
	}
	l.handled++
	if t.cause != nil {
		l.givenUp++
	}
	l.queued--
	bytes, last := l.release(c)
	l.freed += bytes
	l.calls.handled(c)
	if last || l.freed >= giveAtLeast {
		after.give += l.freed
		l.freed = 0
	}
}

// failed lets what failed come again after a pause, in which the workers are free for others. What is known to
// have failed is parted from what only stood beside it: at once if the error names the record, by halves once the
// batch has failed noticeAfter times, or its tries are used up. A record whose tries are used up is given up alone.
func (l *Lane) failed(t *turn, err error, indexed bool, after *outcome) {
	t.err = err
	if t.cause != nil { // the failure is that of GiveUp
		t.err = fmt.Errorf("giving the record up: %w", err)
		l.notice(t.calls[0], t.err, after)
		l.again(t, err, true)
		return
	}
	failed := t.calls
	if indexed {
		failed = t.calls[:1]
	}
	_, poison := errors.AsType[*PoisonError](err)
	usedUp, stubborn := false, poison
	for _, c := range failed {
		c.failures++
		usedUp = usedUp || l.cfg.GiveUp != nil && (poison || l.usedUp(c))
		stubborn = stubborn || c.failures >= noticeAfter
	}
	if stubborn && !usedUp {
		for _, c := range failed {
			l.notice(c, err, after)
		}
	}
	pausing := !usedUp && !poison
	switch {
	case indexed:
		if others := l.first(t); others != nil {
			l.again(others, nil, false)
		}
		if usedUp {
			l.cut(t, 1)
		}
	case len(t.calls) > 1 && (usedUp || stubborn):
		other := l.halve(t)
		l.again(t, err, pausing)
		if other != nil {
			l.again(other, err, pausing)
		}
		return
	}
	if usedUp {
		t.cause = err
	}
	l.again(t, err, !usedUp)
}

// notice lets people hear of a record that goes on failing.
func (l *Lane) notice(c *call, err error, after *outcome) {
	if !c.noticed {
		c.noticed = true
		after.news = l.trouble.failing(err) || after.news
	}
}

// usedUp says whether a record that has failed is not to be tried again.
func (l *Lane) usedUp(c *call) bool {
	r := l.cfg.Retry
	return r.Attempts > 0 && c.failures >= r.Attempts ||
		r.MaxAge > 0 && !c.record.ArrivalTime.IsZero() && time.Since(c.record.ArrivalTime) > r.MaxAge
}

// again lets a turn come again: after a pause, or at once.
func (l *Lane) again(t *turn, err error, pausing bool) {
	if !pausing {
		l.turns.push(t)
		l.wake()
		return
	}
	wait := t.pause
	t.pause = min(2*t.pause, l.cfg.Retry.MaxPause)
	if after, ok := errors.AsType[*RetryAfterError](err); ok {
		wait = after.Pause
	}
	t.timer = time.AfterFunc(wait, func() { l.retry(t) })
}

// retry ends the pause of a turn.
func (l *Lane) retry(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.timer = nil
	if l.stopping || l.halted || l.inert {
		return
	}
	l.turns.push(t)
	l.wake()
}
