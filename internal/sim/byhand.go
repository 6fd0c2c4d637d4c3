package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/leatstream/leat/lease"
)

// What people do to the table by hand. It breaks promises, since nobody may write behind an owner's back; the
// checks know what was done, and demand the rest: the owner finds out in time, nothing is lost, and what
// is handed out again comes in order.

// operator is the sender of a write by hand.
const operator = "operator"

// byHand is what was done to a lease.
type byHand struct {
	era     int           // how often
	at      time.Duration // the last time
	grace   time.Duration // within this, whoever owned it then finds out
	deleted bool
	missing bool // and not yet made again

	// It was made again, by a write that began before. So another worker may have it before its old owner, who may be at the very
	// same counter, has had the time to look.
	madeLate bool
}

// take is a change of owner that the store has applied.
type take struct {
	owner     string
	token     int64
	era, life int
	hold      string // that stood on the lease
}

// begins is the take that an epoch began with.
func (w *world) begins(sh *shard, owner string, token int64) take {
	for i := len(sh.takes) - 1; i >= 0; i-- {
		if t := sh.takes[i]; t.owner == owner && t.token == token {
			return t
		}
	}
	return take{era: sh.byHand.era, life: w.life}
}

// changed notes that a lease was changed by hand: what the checks knew of its epochs counts no more.
func (sh *shard) changed(at, grace time.Duration, deleted bool) {
	sh.byHand = byHand{era: sh.byHand.era + 1, at: at, grace: grace, deleted: deleted, missing: deleted}
	sh.opened, sh.lastToken, sh.sought, sh.cleanToken, sh.leftAt, sh.touched = nil, 0, 0, -1, -1, false
}

// touch is what an operator does who sets a lease's item to what it is.
func (w *world) touch(sh *shard) {
	item, found := w.store.lease(sh.id)
	if !found || item.Lease.Checkpoint.IsShardEnd() {
		return
	}
	w.faults.count[foreignWrite]++
	sh.touched = true
	was := item.Counter
	item.Counter++
	w.store.write(operator, lease.Write{Op: lease.Update, Item: item, Counter: was, Owner: item.Lease.Owner})
}

// deleteLeases removes some leases, or all of them. Their owners find out when they write or look.
func (w *world) deleteLeases(rng *rand.Rand, all bool) bool {
	if !w.stream.ready() {
		return false
	}
	if all {
		w.life++
	}
	struck := false
	for _, sh := range w.stream.shards {
		_, found := w.store.lease(sh.id)
		if !all && (!found || rng.IntN(len(w.stream.shards)) > 1) {
			continue
		}
		struck = true
		w.deleteLease(sh, all)
	}
	return struck
}

// deleteLease removes one, or one of all.
func (w *world) deleteLease(sh *shard, all bool) {
	w.deleted = true
	w.store.keep(lease.LeaseKey(w.cfg.Stream, sh.id), lease.Item{}, false)
	w.store.drop(sh.id)
	w.note(sh.id, "", "its lease is deleted by hand")
	w.forget(sh, all)
	w.forgetParents(sh)
}

// forgetParents goes on with the finished parents whose leases were tidied up before: only their children's said that they
// were finished. When none of these is left, an audit makes the parent's again, and all of it comes once more, in order.
func (w *world) forgetParents(sh *shard) {
	for _, p := range sh.parents {
		_, found := w.store.lease(p.id)
		if found || p.byHand.missing || slices.ContainsFunc(p.children, func(c *shard) bool { return !c.byHand.missing }) {
			continue
		}
		w.forget(p, false)
		w.forgetParents(p)
	}
}

// forget resets what the checks know of a lease that is gone, and may be made again.
func (w *world) forget(sh *shard, all bool) {
	ended := sh.endedAt
	sh.progress = progress{}
	if !all {
		sh.endedAt = ended // its children go on
	}
	sh.changed(w.now, w.cfg.Relist*3/2, true)
	w.check.told(sh, sh.horizon)
}

// drop forgets the planted attributes of a lease that is gone.
func (s *storeModel) drop(shard string) {
	if h := s.history[lease.LeaseKey(s.w.cfg.Stream, shard)]; h != nil {
		h.stored = nil
	}
}

// snapshot is a copy of the table, and of what the checks knew then.
type snapshot struct {
	at     time.Duration
	items  map[lease.Key]lease.Item
	shards []progress // by the index of the shard
}

// Copies are made as often, and kept as long.
const (
	copyEvery = 20 * time.Second
	copies    = 6
)

func (w *world) copyTable() {
	if w.stream.ready() && !w.faults.healed {
		c := snapshot{at: w.now, items: map[lease.Key]lease.Item{}}
		for key := range w.store.history {
			if item, found := w.store.get(key); found {
				c.items[key] = item
			}
		}
		for _, sh := range w.stream.shards {
			c.shards = append(c.shards, sh.progress)
		}
		if len(w.copies) == copies {
			w.copies = w.copies[1:]
		}
		w.copies = append(w.copies, c)
	}
	w.after(copyEvery, "copy", w.copyTable)
}

// restore puts an older copy of the table in its place (F12). It is another table: whoever runs is refused from then
// on, until somebody starts him anew.
func (w *world) restore(rng *rand.Rand) bool {
	if len(w.copies) < 2 {
		return false
	}
	c := w.copies[rng.IntN(len(w.copies)-1)] // the newest one may be as the table is
	w.note("", "", "the table is restored as of %v", c.at)
	w.store.id++
	w.life++
	w.restores++
	clear(w.store.current)
	for _, list := range [][]*history{w.store.members, w.store.leases} {
		for _, h := range list {
			item, found := c.items[h.key]
			h.versions, h.stored = []version{{since: w.now, item: item, found: found}}, nil
		}
	}
	for i, sh := range w.stream.shards {
		existed := sh.everCreated || sh.byHand.missing
		sh.progress = progress{}
		if i < len(c.shards) {
			sh.progress = c.shards[i]
		}
		known := sh.checkpoint
		if sh.endedAt > 0 {
			known = len(sh.records)
		}
		for i := range known {
			sh.records[i].life = w.life
		}
		sh.changed(w.now, w.cfg.Failover+w.cfg.Failover/100, false)
		sh.byHand.missing = existed && !sh.everCreated
	}
	w.copies = nil
	for _, h := range w.hosts {
		w.after(between(rng, 0, 20*time.Second), "restart", func() {
			if p := h.process; p != nil && p.storeID != w.store.id {
				h.end()
			}
			h.boot()
		})
	}
	return true
}
