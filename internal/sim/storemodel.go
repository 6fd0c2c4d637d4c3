package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/memory"
)

// group is the group's name in the store.
const group = "sim"

// maxStale is how old an inconsistent read may be.
const maxStale = 2 * time.Second

// storeModel is the store: a memory store that holds the truth, and what its items were a moment
// ago, for reads that are not up to date.
type storeModel struct {
	w       *world
	truth   *memory.Store
	history map[lease.Key]*history
	all     []*history // sorted by key
}

type history struct {
	key      lease.Key
	versions []version // oldest first; the last one is the truth
}

type version struct {
	since time.Duration
	item  lease.Item
	found bool
}

func newStoreModel(w *world) *storeModel {
	return &storeModel{w: w, truth: memory.New(), history: map[lease.Key]*history{}}
}

// get is how the item stands in truth.
func (s *storeModel) get(key lease.Key) (lease.Item, bool) {
	h := s.history[key]
	if h == nil {
		return lease.Item{}, false
	}
	v := h.versions[len(h.versions)-1]
	return v.item, v.found
}

func (s *storeModel) lease(shard string) (lease.Item, bool) {
	return s.get(lease.LeaseKey(s.w.cfg.Stream, shard))
}

// write applies a write of a member, if its condition holds; sender is the member's id.
func (s *storeModel) write(sender string, w lease.Write) (lease.Item, error) {
	old, found := s.get(w.Item.Key)
	applied := s.w.opt.Bug.mutate(w, old, found)
	item, err := s.truth.Write(context.Background(), group, applied)
	if err != nil {
		s.w.mix(1)
		s.w.note(w.Item.Key.Shard, sender, "%v %s refused: %v", w.Op, w.Item.Key, err)
		s.w.heal.conflict(sender, w)
		return item, err
	}
	s.w.mix(2 + uint64(item.Counter))
	s.keep(w.Item.Key, item, w.Op != lease.Delete)
	if s.w.tracing() {
		s.w.note(w.Item.Key.Shard, sender, "%v applied: %s", w.Op, describe(item))
	}
	s.w.heal.written(sender, w)
	s.w.check.applied(sender, w, old, found, item)
	return item, nil
}

func (s *storeModel) keep(key lease.Key, item lease.Item, found bool) {
	h := s.history[key]
	if h == nil {
		h = &history{key: key, versions: []version{{since: -1}}}
		s.history[key] = h
		at, _ := slices.BinarySearchFunc(s.all, key, func(h *history, k lease.Key) int { return strings.Compare(h.key.String(), k.String()) })
		s.all = slices.Insert(s.all, at, h)
	}
	h.versions = append(h.versions, version{since: s.w.now, item: item, found: found})
	for len(h.versions) > 1 && h.versions[1].since < s.w.now-maxStale {
		h.versions = h.versions[1:]
	}
}

// asOf is the version that was the truth then.
func (h *history) asOf(at time.Duration) version {
	i := len(h.versions) - 1
	for i > 0 && h.versions[i].since > at {
		i--
	}
	return h.versions[i]
}

// read returns the items that belong, each as old as chance will have it, if the read is stale.
func (s *storeModel) read(stale bool, belongs func(lease.Key) bool) []lease.Item {
	var items []lease.Item
	for _, h := range s.all {
		if !belongs(h.key) {
			continue
		}
		at := s.w.now
		if stale {
			at -= s.w.faults.between(staleRead, 0, maxStale)
		}
		if v := h.asOf(at); v.found {
			items = append(items, s.w.opt.Bug.misread(v.item))
		}
	}
	return items
}

func (s *storeModel) members(consistent bool) []lease.Item {
	return s.read(!consistent && s.w.faults.hits(staleRead, 0.3), func(k lease.Key) bool { return k.Kind != lease.KindLease })
}

func (s *storeModel) leases() []lease.Item {
	return s.read(s.w.faults.hits(staleRead, 0.3), func(k lease.Key) bool { return k.Kind == lease.KindLease })
}
