package dispatch

import (
	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
)

// aggregate is an aggregated record that is being taken apart: one user record at a time, when a worker looks at
// it. Its bytes are held until all of its user records are handled, or dropped.
type aggregate struct {
	raw  *record.Record // nil once all of it is handled
	at   int            // where it lies in its batch
	from kpl.Aggregate
	head record.Record // the next user record
	more bool          // there is one
	open int           // user records that were looked at, and are not handled
}

// open looks at the next record of b, and begins to take it apart if it is aggregated. It returns false if nothing is
// left of it that was not handed out before. The caller holds the lock, here and below.
//
// A record comes a second time when the lane began, or was rewound, inside of it. So what is not above the newest user
// record that was looked at is left out.
func (l *Lane) open(b *batch) bool {
	b.looked = true
	r := &b.records[b.next]
	if !r.Aggregated {
		return true
	}
	a := &aggregate{raw: r, at: b.next, from: kpl.Reopen(r.Data), head: *r}
	if sequence, sub, ok := l.tracker.Last().Sequence(); ok {
		if own, _, _ := positionOf(r).Sequence(); own == sequence {
			a.from.SkipThrough(sub)
		}
	}
	l.queued += a.from.Left() - 1
	if l.advance(a); !a.more {
		l.queued++ // the record counts again, and is dropped
		return false
	}
	b.inside = a
	return true
}

// advance goes to the next user record, and leaves out strays if they are to be dropped.
func (l *Lane) advance(a *aggregate) {
	for a.more = a.from.Next(&a.head); a.more; a.more = a.from.Next(&a.head) {
		if l.hashes.Holds(&a.head) {
			return
		}
		l.strays++
		if !l.cfg.DropStrays {
			return
		}
		l.queued--
	}
}

// release gives the bytes of a call's record back, which is not to be looked at any more. Those of a user record go with the
// last one of its aggregated record.
func (l *Lane) release(c *call) (bytes int64, last bool) {
	a := c.of
	if a == nil {
		return c.record.Size(), l.leave(c.batch, c.at)
	}
	a.open--
	if a.open > 0 || a.more {
		return 0, false
	}
	return a.free(), l.leave(c.batch, a.at)
}

// free lets go of an aggregated record's bytes.
func (a *aggregate) free() (bytes int64) {
	bytes = a.raw.Size()
	a.raw = nil
	return bytes
}

// breakOff forgets what nobody has looked at of an aggregated record: it is read again.
func (l *Lane) breakOff(b *batch) (freed int64) {
	a := b.inside
	l.queued -= a.from.Left() + 1
	a.more = false
	b.pass()
	if a.open == 0 {
		freed = a.free()
		l.leave(b, a.at)
	}
	return freed
}
