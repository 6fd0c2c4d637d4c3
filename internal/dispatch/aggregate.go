package dispatch

import (
	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
)

// aggregate is an aggregated record that is being taken apart: some user records at a time, when a worker looks at
// them. Its bytes are held until all of its user records are handled, or dropped.
type aggregate struct {
	raw   *record.Record // nil once all of it is handled
	at    int            // where it lies in its batch
	from  kpl.Aggregate
	ahead []record.Record // the next user records, at which nobody has looked: at least one, as long as there is one
	room  []record.Record // where these lie; no longer than 0
	open  int             // user records that were looked at, and are not handled
}

// takenApart is how many user records come out at a time.
const takenApart = 32

// open looks at the next record of b, and begins to take it apart if it is aggregated. It returns false if nothing is
// left of it that was not handed out before. The caller holds the lock, here and below.
func (l *Lane) open(b *batch) bool {
	b.looked = true
	r := &b.records[b.next]
	if !r.Aggregated {
		return true
	}
	a := l.apart
	if l.apart = nil; a == nil {
		a = new(aggregate)
	}
	*a = aggregate{raw: r, at: b.next, from: l.unlooked(r), room: a.room}
	l.queued += a.from.Left() - 1
	if l.takeApart(a); len(a.ahead) == 0 {
		l.queued++ // the record counts again, and is dropped
		return false
	}
	b.inside = a
	return true
}

// unlooked is what of an aggregated record lies above the newest user record that was looked at: it comes a second time
// when the lane began, or was rewound, inside of it.
func (l *Lane) unlooked(r *record.Record) kpl.Aggregate {
	a := kpl.Reopen(r.Data)
	if sequence, sub, ok := l.tracker.Last().Sequence(); ok {
		if own, _, _ := positionOf(r).Sequence(); own == sequence {
			a.SkipThrough(sub)
		}
	}
	return a
}

// takeApart takes the next user records out, and leaves out strays if they are to be dropped.
func (l *Lane) takeApart(a *aggregate) {
	if a.room == nil {
		a.room = make([]record.Record, 0, takenApart)
	}
	a.ahead = a.room
	for len(a.ahead) < takenApart && a.from.Left() > 0 {
		a.ahead = append(a.ahead, *a.raw)
		r := &a.ahead[len(a.ahead)-1]
		if a.from.Next(r); l.hashes.Holds(r) {
			continue
		}
		if l.strays++; l.cfg.DropStrays {
			l.queued--
			a.ahead = a.ahead[:len(a.ahead)-1]
		}
	}
}

// goOn leaves behind the next n user records of the aggregated record that is being taken apart. It says whether these were the last ones.
func (l *Lane) goOn(b *batch, n int) (last bool) {
	a := b.inside
	if a.ahead = a.ahead[n:]; len(a.ahead) == 0 {
		l.takeApart(a)
	}
	if len(a.ahead) > 0 {
		return false
	}
	l.unseen -= l.batchSize(a.raw)
	b.pass()
	return true
}

// release gives the bytes of a call's record back, which is not to be looked at any more. Those of a user record go with the
// last one of its aggregated record.
func (l *Lane) release(c *call) (bytes int64, last bool) {
	a := c.of
	if a == nil {
		return c.record.Size(), l.leave(c.batch, c.at)
	}
	a.open--
	if a.open > 0 || len(a.ahead) > 0 {
		return 0, false
	}
	return l.free(a), l.leave(c.batch, a.at)
}

// free lets go of an aggregated record, and returns its bytes.
func (l *Lane) free(a *aggregate) (bytes int64) {
	bytes = a.raw.Size()
	a.raw = nil
	l.apart = a
	return bytes
}

// breakOff forgets what no worker has of an aggregated record: it is read again.
func (l *Lane) breakOff(b *batch) (freed int64) {
	a, kept := b.inside, l.stretch.lent(b)
	again := l.unlooked(a.raw)
	if kept > 0 {
		again.SkipThrough(a.ahead[kept-1].SubSequenceNumber)
	}
	for user := *a.raw; again.Left() > a.from.Left(); {
		if again.Next(&user); !l.hashes.Holds(&user) {
			l.strays-- // it is counted again
		}
	}
	l.queued -= a.from.Left() + len(a.ahead) - kept
	a.from, a.ahead = kpl.Aggregate{}, a.ahead[:kept]
	if kept > 0 {
		return 0
	}
	b.pass()
	if a.open == 0 {
		freed = l.free(a)
		l.leave(b, a.at)
	}
	return freed
}
