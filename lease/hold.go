package lease

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Hold is what operators put on a lease so that no worker has it for a while: its owner drains and releases
// it, with its last checkpoint, and nobody takes it. Then a tool may change the free lease (Seek).
//
// A hold stands beside the lease's counter, so that it never disturbs the owner's writes: only the
// operation SetHold writes it, and Create and Update leave it as it stands. It has a counter of its own, Version,
// on which SetHold is a compare-and-swap, and by which a stale read is told from a newer one.
//
// No wall clock counts: every worker counts For on its own lease clock, from the answer that first showed it
// this Version. The first worker whose count is over removes the hold, for all: so a tool that crashed holds no
// shard for ever. A tool that needs longer puts a new hold in the place of its old one in time. It counts
// For itself from before its first send, and so ends before any worker does.
type Hold struct {
	Version int64         // grows by one with every change, also when the hold is removed; 0: there was none ever
	ID      string        // of who put it there, never used before; "" is no hold. At most 64 bytes
	Reason  string        // who and why, for people. At most 256 bytes
	For     time.Duration // whole milliseconds, at most MaxHold
}

// MaxHold is the longest time that one hold lasts.
const MaxHold = 24 * time.Hour

// check returns why h cannot stand on a lease, or nil.
func (h Hold) check() error {
	switch {
	case h.ID == "" && (h.Reason != "" || h.For != 0):
		return errors.New("hold without an id")
	case h.ID == "":
		return nil
	case len(h.ID) > 64 || len(h.Reason) > 256 || !utf8.ValidString(h.ID) || !utf8.ValidString(h.Reason):
		return fmt.Errorf("hold %q: its id is longer than 64 bytes, its reason longer than 256, or one is no UTF-8", clip(h.ID))
	case h.For <= 0 || h.For > MaxHold || h.For%time.Millisecond != 0:
		return fmt.Errorf("hold %q: %v is not a time of up to %v, in whole milliseconds", h.ID, h.For, MaxHold)
	}
	return nil
}

// HoldError says why nobody reads a shard. It is the Err of an OnHold report.
type HoldError struct{ Hold Hold }

// Error implements error.
func (e *HoldError) Error() string {
	return fmt.Sprintf("%s (for up to %v)", e.Hold.Reason, e.Hold.For)
}

// onHold says whether operators keep everybody off the lease. A finished lease is nobody's in any case.
func (m *Member) onHold(v *viewed) bool {
	return v.item.Lease.Hold.ID != "" && v.ended == 0 && m.now < v.holdEnd
}

// sawHold takes a hold into the view that is not the one which was there, or none.
func (m *Member) sawHold(v *viewed, hold Hold) {
	v.item.Lease.Hold = hold
	v.holdEnd = m.now.Add(hold.For)
	m.stale = true
	m.heldDue = m.now
	m.holdDue = max(m.now, 1)
}

// tellHold reports that a lease came to be on hold, or no longer is.
func (m *Member) tellHold(v *viewed) {
	on := m.onHold(v)
	if on == v.toldHold {
		return
	}
	v.toldHold = on
	r := Report{Kind: HoldEnded, Shard: v.item.Key.Shard, Worker: v.item.Lease.Owner, Position: v.item.Lease.Checkpoint}
	if on {
		r.Kind, r.Err = OnHold, &HoldError{v.item.Lease.Hold}
	}
	m.do(r)
}

// endHolds removes the holds that have run out, so that nobody who comes later counts them anew.
func (m *Member) endHolds() {
	switch {
	case m.holdDue == 0 || m.suspended():
		return
	case m.now < m.holdDue:
		m.wakeAt(m.holdDue)
		return
	}
	m.holdDue = 0
	m.stale = true
	for _, v := range m.viewInOrder() {
		m.tellHold(v)
		switch {
		case v.item.Lease.Hold.ID == "" || v.ended != 0:
		case m.now < v.holdEnd:
			if m.holdDue == 0 || v.holdEnd < m.holdDue {
				m.holdDue = v.holdEnd
			}
		default:
			m.start(forHold, PutHold(v.item, Hold{})) // if another write is outstanding, its outcome makes holdDue now
		}
	}
	if m.holdDue != 0 {
		m.wakeAt(m.holdDue)
	}
}
