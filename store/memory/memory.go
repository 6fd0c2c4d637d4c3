// Package memory is a lease.Store inside the process: for tests, for the simulator and for programs
// whose workers all live in one process. Nothing outlives the Store.
//
//	leat.Config{Store: memory.New()}
package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/leatstream/leat/lease"
)

// Store is a lease.Store in memory. Every answer is consistent, and lists come sorted by key, so that
// a program on one goroutine sees the same answers in every run. Make one with New; workers that
// share leases share the Store.
type Store struct {
	id string

	mu     sync.Mutex
	groups map[string]*group
}

// group holds each item twice: by key for Get and Write, and in its sorted list.
type group struct {
	items   map[lease.Key]*lease.Item
	members []*lease.Item            // control, then the workers by id
	leases  map[string][]*lease.Item // by stream; each list by shard id
}

// stores numbers the Stores of a process: their ids differ and need no randomness, which the
// simulator could not replay.
var stores atomic.Int64

// New returns an empty Store.
func New() *Store {
	return &Store{
		id:     "memory-" + strconv.FormatInt(stores.Add(1), 10),
		groups: make(map[string]*group),
	}
}

// Open implements lease.Store. The store is always there; create changes nothing. The ID is unique
// among the Stores of this process.
func (s *Store) Open(ctx context.Context, create bool) (lease.Info, error) {
	return lease.Info{ID: s.id}, ctx.Err()
}

// Members implements lease.Store. The answer is always consistent; the slice is the caller's.
func (s *Store) Members(ctx context.Context, name string, consistent bool) ([]lease.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[name]
	if g == nil {
		return nil, nil
	}
	return copies(g.members), nil
}

// Leases implements lease.Store. It yields the leases as they stood when the iteration began.
func (s *Store) Leases(ctx context.Context, name, stream string) iter.Seq2[lease.Item, error] {
	return func(yield func(lease.Item, error) bool) {
		for _, item := range s.leases(name, stream) {
			if err := ctx.Err(); err != nil {
				yield(lease.Item{}, err)
				return
			}
			if !yield(item, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(lease.Item{}, err)
		}
	}
}

func (s *Store) leases(name, stream string) []lease.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[name]; g != nil {
		return copies(g.leases[stream])
	}
	return nil
}

// Get implements lease.Store.
func (s *Store) Get(ctx context.Context, name string, key lease.Key) (lease.Item, error) {
	if err := ctx.Err(); err != nil {
		return lease.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[name]; g != nil {
		if item := g.items[key]; item != nil {
			return *item, nil
		}
	}
	return lease.Item{}, lease.ErrNotFound
}

// Write implements lease.Store. Its outcome is always known.
func (s *Store) Write(ctx context.Context, name string, w lease.Write) (lease.Item, error) {
	if err := w.Check(); err != nil {
		return lease.Item{}, err
	}
	if err := ctx.Err(); err != nil {
		return lease.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var item *lease.Item
	g := s.groups[name]
	if g != nil {
		item = g.items[w.Item.Key]
	}
	var stands lease.Item
	if item != nil {
		stands = *item
	}
	if !w.Applies(stands, item != nil) {
		return lease.Item{}, &lease.ConflictError{Item: stands, Found: item != nil}
	}
	if w.Op == lease.Delete {
		g.remove(w.Item.Key)
		return lease.Item{}, nil
	}
	written := w.Apply(stands)
	if item != nil {
		*item = written
		return written, nil
	}
	if g == nil {
		g = &group{items: make(map[lease.Key]*lease.Item), leases: make(map[string][]*lease.Item)}
		s.groups[name] = g
	}
	g.insert(written)
	return written, nil
}

func (g *group) insert(item lease.Item) {
	g.items[item.Key] = &item
	list, at, _ := g.find(item.Key)
	g.setList(item.Key, slices.Insert(list, at, &item))
}

func (g *group) remove(key lease.Key) {
	delete(g.items, key)
	if list, at, found := g.find(key); found {
		g.setList(key, slices.Delete(list, at, at+1))
	}
}

// find returns the sorted list that the key belongs in, and its place there.
func (g *group) find(key lease.Key) (list []*lease.Item, at int, found bool) {
	list = g.members
	if key.Kind == lease.KindLease {
		list = g.leases[key.Stream]
	}
	at, found = slices.BinarySearchFunc(list, key, func(item *lease.Item, key lease.Key) int {
		// Inside a list at most one of these differs. The control item has no worker id: it is first.
		return cmp.Or(cmp.Compare(item.Key.Shard, key.Shard), cmp.Compare(item.Key.Worker, key.Worker))
	})
	return list, at, found
}

func (g *group) setList(key lease.Key, list []*lease.Item) {
	if key.Kind == lease.KindLease {
		g.leases[key.Stream] = list
	} else {
		g.members = list
	}
}

func copies(items []*lease.Item) []lease.Item {
	out := make([]lease.Item, len(items))
	for i, item := range items {
		out[i] = *item
	}
	return out
}
