package lease

import (
	"cmp"
	"slices"
	"time"
)

// write is a compare-and-swap that is on its way, or waits to be sent again because its outcome is
// unknown.
type write struct {
	purpose  purpose
	w        Write
	first    Time // of the first send: what a heartbeat proves runs from here
	inFlight bool
	retryAt  Time
	pause    time.Duration
}

// purpose says what to do with the outcome.
type purpose uint8

const (
	forHeartbeat purpose = iota + 1
	forLeaving
	forFence
	forControl
	forTake
	forCheckpoint
	forRelease
	forFinish
	forLease   // a new lease, of a root or a child
	forTidying // the end of an item
	forHold    // the end of an operator's hold

	purposes // how many there are, and one
)

// Pauses before a write of unknown outcome is sent again. Heartbeats keep the shortest one: time runs.
const (
	minWritePause = 200 * time.Millisecond
	maxWritePause = 5 * time.Second
)

// start sends a write, unless one is outstanding for the item, or it is none that may ever be sent; it says whether it did.
func (m *Member) start(p purpose, w Write) bool {
	if m.writes[w.Item.Key] != nil {
		return false
	}
	if invariant, detail := m.sound(p, w); invariant != "" {
		m.halt(w.Item, invariant, "%s", detail)
		return false
	}
	m.writes[w.Item.Key] = &write{purpose: p, w: w, first: m.now, retryAt: m.now, pause: minWritePause}
	m.outstanding[p]++
	m.sendAt = m.now
	return true
}

// update is the write that moves an item on, by one.
func update(old, item Item) Write {
	item.Key = old.Key
	item.Counter = old.Counter + 1
	return Write{Op: Update, Item: item, Counter: old.Counter, Owner: old.Lease.Owner}
}

func remove(old Item) Write {
	return Write{Op: Delete, Item: Item{Key: old.Key}, Counter: old.Counter, Owner: old.Lease.Owner}
}

// sendAgain makes every write that waits for its next try due: the store was away, and has just answered. A checkpoint that
// waited longer would let what is handled meanwhile be repeated, if this worker died now.
func (m *Member) sendAgain() {
	for _, w := range m.writes {
		w.retryAt = m.now
	}
	m.sendAt = m.now
}

// sendWrites sends what is due.
func (m *Member) sendWrites() {
	if m.now < m.sendAt {
		m.wakeAt(m.sendAt)
		return
	}
	m.sendAt = never
	var due []*write
	for _, w := range m.writes {
		switch {
		case w.inFlight:
		case m.now < w.retryAt:
			m.sendAt = min(m.sendAt, w.retryAt)
		default:
			due = append(due, w)
		}
	}
	slices.SortFunc(due, func(a, b *write) int { return compareKeys(a.w.Item.Key, b.w.Item.Key) })
	for _, w := range due {
		w.inFlight = true
		m.do(WriteItem{Write: w.w})
	}
	m.wakeAt(m.sendAt)
}

// onWritten resolves a write. A conflict may show that an earlier try landed. Not so with the control
// item: another worker's equal write may have come before what this one announces.
func (m *Member) onWritten(e Written) {
	w := m.writes[e.Key]
	if w == nil || !w.inFlight {
		return
	}
	w.inFlight = false
	if e.Outcome == Conflict && w.purpose != forControl && w.w.Landed(e.Item, e.Found) {
		e.Outcome = Landed
	}
	if e.Outcome == Unknown {
		w.retryAt = m.now.Add(w.pause)
		m.sendAt = min(m.sendAt, w.retryAt)
		if w.purpose != forHeartbeat {
			w.pause = min(2*w.pause, maxWritePause)
		}
		return
	}
	delete(m.writes, e.Key)
	m.outstanding[w.purpose]--
	switch e.Key.Kind {
	case KindWorker:
		if e.Key == m.me.Key {
			m.onHeartbeat(w, e)
		} else {
			m.onPeerWritten(w, e)
		}
	case KindControl:
		m.onControlWritten(w, e)
	case KindLease:
		m.onLeaseWritten(w, e)
	}
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stream, b.Stream),
		cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Worker, b.Worker))
}
