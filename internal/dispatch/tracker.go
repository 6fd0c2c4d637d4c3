package dispatch

import "github.com/leatstream/leat/lease"

// Tracker says how far one shard has been handled: positions enter in the order of the shard,
// acknowledgements come in any order, and the watermark is the last position up to which all are
// acknowledged. It belongs to one epoch of a lease; a new epoch gets a new Tracker, so that late acks
// of an old one change nothing. It is a plain value of its calls: no lock, no clock.
type Tracker struct {
	// slots is a ring: handle h lives in slots[h & (len-1)] while head <= h < tail. Its length is
	// a power of two, or zero.
	slots []slot
	head  Handle // the oldest position that is not below the watermark
	tail  Handle // the next one to be given out

	watermark lease.Position
	open      int  // positions that wait for their ack
	ended     bool // nothing more enters
}

// Handle names a position in its Tracker. Handles count up from 0; only one that was retracted is used again.
type Handle uint64

type slot struct {
	position lease.Position
	acked    bool
}

// minSlots is the first size of the ring: a poll at the tip of a quiet shard.
const minSlots = 16

// NewTracker returns a tracker for a shard of which everything up to start has been handled.
func NewTracker(start lease.Position) *Tracker { return &Tracker{watermark: start} }

// Add enters the next position of the shard. It must lie above all that entered before, and nothing
// may enter after End.
func (t *Tracker) Add(p lease.Position) Handle {
	if int(t.tail-t.head) == len(t.slots) {
		t.grow()
	}
	h := t.tail
	*t.at(h) = slot{position: p}
	t.tail++
	t.open++
	return h
}

// Ack says that the record at h has been handled. It returns whether the watermark moved. A repeated ack
// is inert, and so is one of a handle that was never given out.
func (t *Tracker) Ack(h Handle) (moved bool) {
	if h < t.head || h >= t.tail || t.at(h).acked {
		return false
	}
	t.at(h).acked = true
	t.open--
	if h != t.head {
		return false
	}
	for t.head < t.tail && t.at(t.head).acked {
		t.watermark = t.at(t.head).position
		*t.at(t.head) = slot{} // the ring keeps no sequence number alive
		t.head++
	}
	return true
}

// Pass enters a position, and those below it, that are acknowledged already. No other may wait for its ack.
func (t *Tracker) Pass(p lease.Position) { t.watermark = p }

// Retract takes the newest position out again, so that it may enter once more. It must be there and not be
// acknowledged, and nobody may acknowledge its handle any more.
func (t *Tracker) Retract() {
	t.tail--
	t.open--
	*t.at(t.tail) = slot{}
}

// Last is the newest position that entered and was not retracted; the watermark if there is none above it.
func (t *Tracker) Last() lease.Position {
	if t.head == t.tail {
		return t.watermark
	}
	return t.at(t.tail - 1).position
}

// End says that the shard was read to its end: no position enters any more.
func (t *Tracker) End() { t.ended = true }

// Watermark is the last position up to which every record is acknowledged: at first the tracker's start, and
// lease.ShardEnd once the shard has ended and all of it is acknowledged.
func (t *Tracker) Watermark() lease.Position {
	if t.ended && t.head == t.tail {
		return lease.ShardEnd()
	}
	return t.watermark
}

// Unacked is the number of positions that wait for their ack.
func (t *Tracker) Unacked() int { return t.open }

// InFlight is the number of positions above the watermark, acknowledged or not: what the tracker
// keeps in memory, and what a failover now would hand out again.
func (t *Tracker) InFlight() int { return int(t.tail - t.head) }

func (t *Tracker) at(h Handle) *slot { return &t.slots[h&Handle(len(t.slots)-1)] }

func (t *Tracker) grow() {
	old := *t
	t.slots = make([]slot, max(minSlots, 2*len(old.slots)))
	for h := old.head; h < old.tail; h++ {
		*t.at(h) = *old.at(h)
	}
}
