package dispatch

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// turn is what one call of the handler gets: a call, or a batch of them. What is not handled afterwards is handed
// out again as the same turn, or as parts of it.
type turn struct {
	calls []*call         // not handled, in the shard's order
	given []record.Record // the handler's copies of their records

	then  *turn // its turn comes when all of these are handled; with order per key, both are of one key
	pause time.Duration
	timer *time.Timer // ends the pause before the next try
	err   error       // of the last try
	cause error       // for which its only record is given up; nil if it is to be handled

	running atomic.Int64 // since when the handler has it, in nanoseconds after Lane.made; 0 if it has not
	context *turnContext // of the handler, if it has deferred its ack
	next    *turn        // in the line of those that are ready, or of spare ones
}

// deferred says whether the handler has returned and the ack is to come from elsewhere.
func (t *turn) deferred() bool {
	return t.context != nil && t.context.returned
}

// since is when the handler got the turn, or zero.
func (l *Lane) since(t *turn) time.Time {
	if after := t.running.Load(); after != 0 {
		return l.made.Add(time.Duration(after))
	}
	return time.Time{}
}

// count changes how often the calls of a turn were handed out.
func (t *turn) count(by int) {
	if t.cause != nil { // giving up is no attempt
		return
	}
	for _, c := range t.calls {
		c.attempt += by
	}
}

// copyOut makes what the handler gets: copies, so that a handler that changes its record changes neither the next
// try nor the bytes that are given back.
func (t *turn) copyOut() {
	t.given = t.given[:0]
	for _, c := range t.calls {
		t.given = append(t.given, *c.record)
		t.given[len(t.given)-1].Attempt = c.attempt
	}
}

// turns are those that may be handed out again, in a line, and those that are used up.
type turns struct {
	ready, last *turn
	spare       *turn
}

func (s *turns) push(t *turn) {
	if s.ready == nil {
		s.ready = t
	} else {
		s.last.next = t
	}
	s.last = t
}

func (s *turns) pop() *turn {
	t := s.ready
	if t != nil {
		s.ready, t.next = t.next, nil
	}
	return t
}

// keepAtMost is the number of records of a turn that is kept to be used again: a thousand lanes must not
// keep a thousand large batches.
const keepAtMost = 16

func (s *turns) recycle(t *turn) {
	if cap(t.calls) > keepAtMost || cap(t.given) > keepAtMost {
		return
	}
	clear(t.given)
	*t = turn{calls: t.calls[:0], given: t.given[:0], next: s.spare}
	s.spare = t
}

// newTurn returns an empty turn. The caller holds the lane's lock, here and below.
func (l *Lane) newTurn() *turn {
	t := l.turns.spare
	if t == nil {
		t = new(turn)
	} else {
		l.turns.spare, t.next = t.next, nil
	}
	t.pause = l.cfg.Retry.Pause
	return t
}

// gather makes a turn of calls that were never handed out, or returns nil. It looks no further into the queue
// than it needs, so that the rest can be dropped.
func (l *Lane) gather() *turn {
	if l.stretch.batch != nil || !l.cfg.PerKey && l.calls.oldest != nil || !l.filled() {
		return nil
	}
	t := l.newTurn()
	bytes, sorted := 0, true
	for len(t.calls) < l.cfg.Batch.Records {
		c := l.nextFor(t, bytes)
		if c == nil {
			break
		}
		// With it come those of its key that wait behind it.
		for c != nil {
			sorted = sorted && (len(t.calls) == 0 || t.calls[len(t.calls)-1].handle < c.handle)
			t.calls = append(t.calls, c)
			c.turn = t
			bytes += wireSize(c.record)
			if c = c.after; c != nil && (len(t.calls) == l.cfg.Batch.Records || !l.mayJoin(t, bytes, c.record) || !l.mayStart(c)) {
				c = nil
			}
		}
	}
	if len(t.calls) == 0 {
		l.turns.recycle(t)
		return nil
	}
	if !sorted {
		slices.SortFunc(t.calls, func(a, b *call) int { return cmp.Compare(a.handle, b.handle) })
	}
	return t
}

// nextFor returns the next call that a turn of so many bytes may have, or nil: one that was parked and is ready, or
// the next record whose key is not busy, or busy with this turn only.
func (l *Lane) nextFor(t *turn, bytes int) *call {
	for c := l.calls.ready; c != nil; c = l.calls.ready {
		if !l.mayJoin(t, bytes, c.record) {
			return nil
		}
		if l.calls.pop(); l.mayStart(c) {
			return c
		}
	}
	for !l.stopping {
		b := l.ahead()
		if b == nil || !l.mayJoin(t, bytes, b.first()) {
			return nil
		}
		if l.cfg.PerKey && l.tracker.InFlight() >= l.cfg.MaxInFlight {
			l.watchHead()
			return nil
		}
		if c := l.enter(b); !c.parked() || c.before.turn == t {
			return c
		}
	}
	return nil
}

// mayJoin says whether a record fits into a turn of so many bytes.
func (l *Lane) mayJoin(t *turn, bytes int, r *record.Record) bool {
	return len(t.calls) == 0 || l.cfg.Batch.Bytes == 0 || bytes+wireSize(r) <= l.cfg.Batch.Bytes
}

// mayStart says whether a call may be handed out: while the lane drains, only one that lies below what
// was handed out before.
func (l *Lane) mayStart(c *call) bool { return !l.stopping || c.handle < l.frontier }

// short says whether a batch waits for more records than were read ahead.
func (l *Lane) short() bool {
	return l.cfg.Batch.Wait > 0 && l.queued-l.tracker.Unacked() < l.cfg.Batch.Records &&
		(l.cfg.Batch.Bytes == 0 || l.unseen < int64(l.cfg.Batch.Bytes))
}

// filled says whether the next batch waits for nothing. If it waits, a timer ends that.
func (l *Lane) filled() bool {
	if l.ended || l.stopping || l.calls.ready != nil || !l.short() {
		return true
	}
	b := l.ahead()
	if b == nil {
		return true
	}
	wait := time.Until(b.read.Add(l.cfg.Batch.Wait))
	if wait > 0 && l.filling == nil {
		l.filling = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.filling = nil
			l.wake()
		})
	}
	return wait <= 0
}

// halve splits a turn of more than one call, and returns the other half. If that comes after the first one it is nil:
// then it is t.then.
func (l *Lane) halve(t *turn) (other *turn) {
	keys := map[uint64]int{}
	if l.cfg.PerKey {
		for _, c := range t.calls {
			if _, ok := keys[c.key]; !ok {
				keys[c.key] = len(keys)
			}
		}
	}
	if len(keys) < 2 {
		l.cut(t, (len(t.calls)+1)/2)
		t.then.pause = t.pause
		return nil
	}
	other = l.part(t, func(c *call) bool { return 2*keys[c.key] >= len(keys) })
	other.pause = t.pause
	return other
}

// first leaves only the first call in a turn, and those of its key behind it. It returns the calls of other keys.
func (l *Lane) first(t *turn) (others *turn) {
	if l.cfg.PerKey {
		key := t.calls[0].key
		others = l.part(t, func(c *call) bool { return c.key != key })
	}
	return others
}

// cut leaves the first n calls in a turn; the others come after them.
func (l *Lane) cut(t *turn, n int) {
	if n == len(t.calls) {
		return
	}
	rest := l.newTurn()
	rest.then, t.then = t.then, rest
	rest.err = t.err
	l.move(t, rest, t.calls[n:])
	t.calls = t.calls[:n]
}

// part moves the calls that are meant into another turn, which has nothing to do with the rest. It returns nil if
// there are none.
func (l *Lane) part(t *turn, meant func(*call) bool) *turn {
	var moved []*call
	t.calls = slices.DeleteFunc(t.calls, func(c *call) bool {
		if meant(c) {
			moved = append(moved, c)
			return true
		}
		return false
	})
	if moved == nil {
		return nil
	}
	other := l.newTurn()
	l.move(t, other, moved)
	return other
}

func (l *Lane) move(from, to *turn, calls []*call) {
	to.calls = append(to.calls, calls...)
	for _, c := range calls {
		c.turn = to
	}
}
