package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
)

// maxStale is how old an inconsistent read may be.
const maxStale = 2 * time.Second

// storeModel is the store: one compare-and-swap after another, and what its items were a moment ago, for
// reads that are not up to date.
type storeModel struct {
	w       *world
	history map[lease.Key]*history
	members []*history              // workers and control, sorted by key
	leases  []*history              // of all streams, sorted by key
	current map[string][]lease.Item // what a read of the members, or of the leases of a stream, shows; gone with the next write
	id      int                     // another one after the store was made again: processes that opened the old one fail
}

type history struct {
	key      lease.Key
	text     string    // of the key
	versions []version // oldest first; the last one is the truth
	stored   lease.Attributes
}

type version struct {
	since time.Duration
	item  lease.Item
	found bool
}

func newStoreModel(w *world) *storeModel {
	return &storeModel{w: w, history: map[lease.Key]*history{}, current: map[string][]lease.Item{}}
}

// get is how the item stands in truth.
func (s *storeModel) get(key lease.Key) (lease.Item, bool) {
	h := s.history[key]
	if h == nil {
		return lease.Item{}, false
	}
	v := &h.versions[len(h.versions)-1]
	return v.item, v.found
}

func (s *storeModel) lease(shard string) (lease.Item, bool) {
	return s.get(lease.LeaseKey(s.w.cfg.Stream, shard))
}

// write applies a write of a member, if its condition holds; sender is the member's id.
func (s *storeModel) write(sender string, w lease.Write) (lease.Item, error) {
	key := w.Item.Key
	old, found := s.get(key)
	applied := s.w.opt.Bug.mutate(s.w, w, old, found)
	if err := applied.Check(); err != nil {
		s.w.violate("S5 counter", key.Shard, sender, "%v", err)
		return lease.Item{}, err
	}
	if !applied.Applies(old, found) {
		s.w.mix(1)
		s.w.note(key.Shard, sender, "%v %s refused", w.Op, key)
		s.w.heal.conflict(sender, w)
		return lease.Item{}, &lease.ConflictError{Item: old, Found: found}
	}
	var item lease.Item
	if w.Op != lease.Delete {
		item = applied.Apply(old)
	}
	s.w.mix(2 + uint64(item.Counter))
	if s.w.opt.Bug.loses(w) {
		return item, nil
	}
	s.keep(key, item, w.Op != lease.Delete)
	s.storeAttributes(sender, w.Op, item, key)
	if s.w.tracing() {
		beat := key.Kind == lease.KindWorker && found && item.Worker.State == old.Worker.State && slices.Equal(item.Worker.Wants, old.Worker.Wants)
		checkpoint := item.Lease.Owner == sender && old.Lease.Owner == sender
		s.w.keepLine(line{
			at: s.w.now, shard: key.Shard, worker: sender, detail: beat, routine: checkpoint,
			text: fmt.Sprintf("%v applied: %s", w.Op, describe(item)),
		})
	}
	s.w.heal.written(sender, w)
	s.w.check.applied(sender, w, old, found, item)
	return s.w.opt.Bug.misread(s.w, item), nil
}

// keep makes this the truth about an item.
func (s *storeModel) keep(key lease.Key, item lease.Item, found bool) {
	delete(s.current, key.Stream)
	h := s.history[key]
	if h == nil {
		h = &history{key: key, text: key.String(), versions: []version{{since: -1}}}
		s.history[key] = h
		list := &s.members
		if key.Kind == lease.KindLease {
			list = &s.leases
		}
		*list = slices.DeleteFunc(*list, s.forgotten)
		at, _ := slices.BinarySearchFunc(*list, h.text, func(h *history, text string) int { return strings.Compare(h.text, text) })
		*list = slices.Insert(*list, at, h)
	}
	old := 0
	for old+1 < len(h.versions) && h.versions[old+1].since < s.w.now-maxStale {
		old++
	}
	h.versions = append(slices.Delete(h.versions, 0, old), version{since: s.w.now, item: item, found: found})
}

// forgotten says whether an item was deleted so long ago that no read and no copy of the table has it any more, and
// forgets it: in a long run there are many.
func (s *storeModel) forgotten(h *history) bool {
	last := &h.versions[len(h.versions)-1]
	if last.found || last.since > s.w.now-copies*copyEvery-maxStale {
		return false
	}
	delete(s.history, h.key)
	return true
}

// asOf is the version that was the truth then.
func (h *history) asOf(at time.Duration) *version {
	i := len(h.versions) - 1
	for i > 0 && h.versions[i].since > at {
		i--
	}
	return &h.versions[i]
}

// read returns items, each as old as chance will have it, if the read is stale.
func (s *storeModel) read(stale bool, list []*history, stream string) []lease.Item {
	if items, known := s.current[stream]; known && !stale {
		return items
	}
	items := make([]lease.Item, 0, len(list))
	for _, h := range list {
		if h.key.Stream != stream {
			continue
		}
		at := s.w.now
		if stale {
			at -= s.w.faults.between(staleRead, 0, maxStale)
		}
		if v := h.asOf(at); v.found {
			items = append(items, v.item)
		}
	}
	if bug := s.w.opt.Bug; bug != NoBug {
		for i := range items {
			items[i] = bug.hides(bug.misread(s.w, items[i]))
		}
	} else if !stale {
		s.current[stream] = items
	}
	return items
}

func (s *storeModel) readMembers(consistent bool) []lease.Item {
	return s.read(!consistent && s.w.faults.hits(staleRead, 0.3), s.members, "")
}

func (s *storeModel) readLeases() []lease.Item {
	return s.read(s.w.faults.hits(staleRead, 0.3), s.leases, s.w.cfg.Stream)
}
