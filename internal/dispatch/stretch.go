package dispatch

import (
	"sync/atomic"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// stretch is what makes a record cheap with a handler per record: plain records that follow each other, or user records of one
// aggregated record, lent to a worker, which hands them out one by one without the lane's lock, and without calls. Whoever takes the lock
// meanwhile and wants to know brings the books up to date first: see catchUp. So nobody sees a difference.
//
// The first record that is not simply handled ends it, and becomes a turn like any: one that fails, or defers its ack. So does a closed
// gate: then the next record waits there as a turn.
//
// With order per key it is the same, while the handler is so quick that one worker is enough: see pace. The others wait meanwhile,
// so nobody has to know which keys are busy. If a record takes long after all it becomes a turn under its handler's feet, and the
// others go on with what lies behind it: see interrupt.
type stretch struct {
	batch   *batch // the first one of the queue; nil: nothing is lent
	records []record.Record
	turn    *turn
	booked  int // of records: handled, and in the books
	end     int // of records: the worker's; the others were called back
	turned  int // of records: interrupt made the last one of these a turn
	soon    int // records that will come, these included

	// at is which record the worker is at, all before it being handled, and since when: in nanoseconds after Lane.made,
	// times indexRange. 0: the first one was not begun. The worker writes at before it reads limit, which it does not pass.
	// Who calls records back writes limit before reading at. So they agree, without a lock.
	at    atomic.Int64
	limit atomic.Int64
}

const (
	indexRange = 128
	longest    = 64 // records of a stretch; below indexRange

	// longTime ends a stretch: with slow handlers each record gives its bytes back.
	longTime = time.Millisecond
)

// lend makes a turn of a stretch if there can be one. The caller holds the lock, here and below.
func (l *Lane) lend() *turn {
	if !l.singly() || l.cfg.PerKey && !l.pace.quick() {
		return nil
	}
	if l.stopping || l.calls.oldest != nil || l.stretch.batch != nil || !l.cfg.Gate.Open(time.Now()) {
		return nil
	}
	b := l.ahead()
	if b == nil {
		return nil
	}
	t := l.newTurn()
	s := &l.stretch
	s.batch, s.turn, s.booked = b, t, 0
	s.records = b.together()
	s.end, s.soon = len(s.records), l.queued
	s.at.Store(0)
	s.limit.Store(int64(s.end))
	return t
}

// together are the next records that may be handed out as a stretch: no aggregated one, but what came out of one.
func (b *batch) together() []record.Record {
	if b.inside != nil {
		return b.inside.ahead
	}
	records := b.records[b.next:min(len(b.records), b.next+longest)]
	for i := range records {
		if records[i].Aggregated {
			return records[:i]
		}
	}
	return records
}

// singly says whether the handler gets one record at a time.
func (l *Lane) singly() bool { return l.cfg.Batch.Records == 1 && l.cfg.Batch.Wait == 0 }

// lent is how many of the next records of a batch are lent.
func (s *stretch) lent(b *batch) int {
	if s.batch != b {
		return 0
	}
	return s.end - s.booked
}

// recall leaves the worker nothing but the record that it is at, and never again more than it was left once.
func (s *stretch) recall() {
	if s.batch == nil {
		return
	}
	left := -1
	for left != min(s.begun(), s.end) {
		left = min(s.begun(), s.end)
		s.limit.Store(int64(left))
	}
	s.end = left
}

// begun is how many records the worker has begun.
func (s *stretch) begun() int {
	at := s.at.Load()
	if at == 0 {
		return 0
	}
	return min(len(s.records), int(at%indexRange)+1)
}

// since is how long after Lane.made the worker began with the record that it is at, if it has begun any.
func (s *stretch) since() (after time.Duration, ok bool) {
	at := s.at.Load()
	return time.Duration(at / indexRange), s.batch != nil && at != 0
}

// catchUp books what was handled of the stretch by now.
func (l *Lane) catchUp() {
	if s := &l.stretch; s.batch != nil {
		l.book(int(s.at.Load() % indexRange))
	}
}

// book notes that the first records of the stretch are handled.
func (l *Lane) book(handled int) {
	s := &l.stretch
	n := handled - s.booked
	if n <= 0 || l.inert {
		return
	}
	b := s.batch
	l.tracker.Pass(positionOf(&s.records[handled-1]))
	l.handled += int64(n)
	l.queued -= n
	if a := b.inside; a != nil {
		s.booked = handled
		if l.goOn(b, n) {
			l.freed += l.free(a)
			l.leave(b, a.at)
		}
		return
	}
	for i := range s.records[s.booked:handled] {
		l.freed += s.records[s.booked+i].Size()
	}
	from := b.skipped + b.next
	b.next += n
	b.looked = false
	b.left -= n
	s.booked = handled
	b.memory.Settle(from, from+n)
}

// giveBack ends the stretch, and returns the bytes to give back. The record whose call was not simply handled becomes the turn's.
func (l *Lane) giveBack(t *turn, end step) (give int64) {
	if l.stretch.turn != t {
		return 0 // interrupt has done so
	}
	l.book(end.handled)
	b := l.stretch.close()
	if l.inert {
		return 0
	}
	if b.left == 0 || l.freed >= giveAtLeast {
		give, l.freed = l.freed, 0
	}
	if b.left == 0 && len(l.queue) > 0 && l.queue[0] == b { // all of it may have been dropped
		l.dropFirst()
	}
	if end.context != nil {
		l.become(t, b)
	}
	return give
}

// close ends the stretch, and returns its batch.
func (s *stretch) close() *batch {
	b := s.batch
	s.batch, s.records, s.turn = nil, nil, nil
	return b
}

// become makes the next record of b, which a worker has, its turn.
func (l *Lane) become(t *turn, b *batch) {
	c := l.enter(b)
	c.turn = t
	t.calls = append(t.calls, c)
	t.count(+1)
	t.running.Store(l.stretch.at.Load() / indexRange)
	l.frontier = c.handle + 1
}

// interrupt ends the stretch while its worker is at a record, which becomes a turn: the others are for other workers.
func (l *Lane) interrupt() {
	s := &l.stretch
	s.recall()
	if s.turned = s.end; s.turned > 0 {
		l.book(s.turned - 1)
		if a := s.batch.inside; a != nil {
			a.room = nil // it is still the worker's
		}
		t := s.turn
		l.become(t, s.close())
	}
}
