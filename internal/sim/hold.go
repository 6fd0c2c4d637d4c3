package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leatstream/leat/lease"
)

// maxHold is the longest hold of these tools: what a crashed one leaves is seen within a minute, and must be over
// when all is quiet.
const maxHold = 20 * time.Second

// tool is an operator's: it holds a lease, waits until it is free, maybe moves its checkpoint, and lets it go. It may
// crash before any step.
type tool struct {
	w     *world
	rng   *rand.Rand
	shard *shard
	hold  lease.Hold
	began time.Duration
	seeks bool
}

func (w *world) operate(rng *rand.Rand) {
	sh := w.stream.shards[rng.IntN(len(w.stream.shards))]
	item, found := w.store.lease(sh.id)
	if !found || sh.endedAt > 0 {
		return
	}
	w.faults.count[held]++
	t := &tool{w: w, rng: rng, shard: sh, began: w.now, seeks: rng.IntN(3) > 0}
	t.hold = lease.Hold{
		ID: fmt.Sprintf("tool-%d", w.faults.count[held]), Reason: "a try",
		For: between(rng, time.Second, maxHold).Truncate(time.Millisecond),
	}
	t.write(lease.PutHold(item, t.hold), func(bool) { t.announce(t.wait) })
}

// next runs the tool's next step a moment later, unless it crashes. No tool outlives the faults.
func (t *tool) next(low, high time.Duration, step func()) {
	if t.rng.IntN(20) == 0 {
		t.w.note(t.shard.id, operator, "crashes")
		return
	}
	t.w.after(between(t.rng, low, high), "tool", func() {
		if !t.w.faults.healed {
			step()
		}
	})
}

// write does one write, slowly at times; then is told whether it landed.
func (t *tool) write(wr lease.Write, then func(landed bool)) {
	slow := 20 * time.Millisecond
	if t.rng.IntN(5) == 0 {
		slow = 5 * time.Second
	}
	t.next(0, slow, func() {
		_, err := t.w.store.write(operator, wr)
		then(err == nil)
	})
}

func (t *tool) announce(then func()) {
	control, found := t.w.store.get(lease.ControlKey())
	if !found {
		return
	}
	t.write(lease.Announce(control), func(landed bool) {
		if landed {
			then()
		} else {
			t.announce(then)
		}
	})
}

// wait looks whether the lease is free, as long as the hold lasts.
func (t *tool) wait() {
	item, found := t.w.store.lease(t.shard.id)
	switch {
	case !found || item.Lease.Hold.ID != t.hold.ID || t.w.now > t.began+t.hold.For:
		return
	case item.Lease.Owner != "":
		t.next(100*time.Millisecond, time.Second, t.wait)
		return
	case t.seeks:
		t.seeks = false
		if seek, err := lease.Seek(item, t.hold.ID, t.place()); err == nil {
			t.write(seek, func(bool) { t.next(0, 3*time.Second, t.wait) })
			return
		}
	}
	t.write(lease.PutHold(item, lease.Hold{}), func(bool) {
		t.shard.untold = t.w.now
		t.announce(func() { t.shard.untold = 0 })
	})
}

// place is somewhere in the shard, mostly near its checkpoint; at times where the group began.
func (t *tool) place() lease.Position {
	sh := t.shard
	if len(sh.records) == 0 || t.rng.IntN(8) == 0 {
		return t.w.stream.start
	}
	i := min(max(sh.checkpoint+t.rng.IntN(120)-80, 0), len(sh.records)-1)
	if sh.records[i].skipped {
		return t.w.stream.start
	}
	return sh.records[i].position()
}

// held looks at a hold that was put or removed: only tools put one, and workers remove it when it has run out.
func (c *checks) held(sender string, sh *shard, old, item lease.Item) {
	w, was, is := c.w, old.Lease.Hold, item.Lease.Hold
	if is.ID != "" {
		sh.heldAt = w.now
	}
	item.Lease.Hold = was
	switch {
	case !item.Equal(old):
		w.violate("hold", sh.id, sender, "a hold changes more than itself: %s to %s", describe(old), describe(item))
	case sender == operator:
	case is.ID != "":
		w.violate("hold", sh.id, sender, "a worker puts a hold on a lease")
	case w.remembersOldHolds(sh):
	case w.now < sh.heldAt+was.For*98/100:
		w.violate("hold", sh.id, sender, "hold %s is removed after %v, though it lasts %v", was.ID, w.now-sh.heldAt, was.For)
	}
}

// sought accounts for an operator's seek: it alone may move a checkpoint back. What it passes over counts as handled.
func (c *checks) sought(sh *shard, counter int64, was, is lease.Lease) {
	w := c.w
	if was.Owner != "" {
		w.violate("S4 fencing", sh.id, operator, "the checkpoint of a lease that %s owns is moved", was.Owner)
	}
	upTo := sh.index(is.Checkpoint)
	for i := sh.checkpoint; i < upTo; i++ {
		r := &sh.records[i]
		if !r.settled() {
			w.res.Skipped++
		}
		r.acked, r.finished, r.life = true, true, w.life
	}
	sh.checkpoint, sh.sought, sh.cleanToken = upTo, counter, -1
	sh.everRoot, sh.everBegun = sh.everRoot || is.Root, sh.everBegun || is.Checkpoint.Begun()
}

// remembersOldHolds says whether a worker may know a hold of a newer version than the one that stands: the lease was
// deleted or restored, which takes the version back, and the worker has not read the leases since.
func (w *world) remembersOldHolds(sh *shard) bool {
	return sh.byHand.era > 0 && w.now < sh.byHand.at+2*w.cfg.Relist
}

// onHold says whether a lease may be without an owner, since an operator wants it so. A tool that crashed before it
// announced its hold, or the end of it, is found out within a minute.
func (w *world) onHold(sh *shard) bool {
	item, found := w.store.lease(sh.id)
	if sh.untold > 0 && w.now < sh.untold+w.cfg.Relist+2*time.Second {
		return true
	}
	return found && item.Lease.Hold.ID != "" && w.now < max(sh.heldAt, w.opt.Span)+w.cfg.Relist+item.Lease.Hold.For+2*time.Second
}
