package explore

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/leatstream/leat/lease"
)

// seed is one for all hashes of a run of the program.
var seed = maphash.MakeSeed()

// tables keep each thing that many states share, and what a member's step led to. They may be
// emptied at any time: what is in use lives on, and things are told apart by their hashes.
type tables struct {
	members map[uint64]*member
	steps   map[stepKey]*stepped
	stores  map[uint64]*store
	writes  map[uint64]*write
	items   map[[2]uint64]*item // by what stood, and what was written
}

func newTables() tables {
	return tables{map[uint64]*member{}, map[stepKey]*stepped{}, map[uint64]*store{}, map[uint64]*write{}, map[[2]uint64]*item{}}
}

// member is a lease.Member that is never stepped: its clones are.
type member struct {
	m              *lease.Member
	id             uint64 // of its state and the time of its last step
	wake, deadline lease.Time
}

// item is an item of the store.
type item struct {
	lease.Item
	id uint64
}

// store is how the store stands. Nobody changes one.
type store struct {
	items           []*item // sorted by key
	id              uint64
	members, leases uint64 // hashes of what a read of them shows
}

// write is a write and its sender.
type write struct {
	lease.Write
	sender string
	id     uint64
}

func newItem(it lease.Item) *item {
	return &item{it, maphash.String(seed, fmt.Sprintf("%+v", it))}
}

// written is the item that a write leads to.
func (t *tables) written(w *write, stands *item, it lease.Item) *item {
	key := [2]uint64{w.id}
	if stands != nil {
		key[1] = stands.id
	}
	n := t.items[key]
	if n == nil {
		n = newItem(it)
		t.items[key] = n
	}
	return n
}

func (t *tables) write(sender string, w lease.Write) *write {
	id := maphash.String(seed, fmt.Sprintf("%s %+v", sender, w))
	n := t.writes[id]
	if n == nil {
		n = &write{w, sender, id}
		t.writes[id] = n
	}
	return n
}

func (s *store) get(key lease.Key) *item {
	for _, it := range s.items {
		if it.Key == key {
			return it
		}
	}
	return nil
}

// with returns the store with an item in its place, or without it if it is nil.
func (t *tables) with(s *store, key lease.Key, it *item) *store {
	next := &store{items: slices.DeleteFunc(slices.Clone(s.items), func(o *item) bool { return o.Key == key })}
	if it != nil {
		next.items = append(next.items, it)
		slices.SortFunc(next.items, func(a, b *item) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	}
	var members, leases hasher
	for _, it := range next.items {
		if it.Key.Kind == lease.KindLease {
			leases.add(it.id)
		} else {
			members.add(it.id)
		}
	}
	next.members, next.leases = members.sum(), leases.sum()
	var all hasher
	all.add(next.members, next.leases)
	next.id = all.sum()
	if known := t.stores[next.id]; known != nil {
		return known
	}
	t.stores[next.id] = next
	return next
}

// show is what a read shows.
func (s *store) show(leases bool, b Bug) []lease.Item {
	var items []lease.Item
	for _, it := range s.items {
		if (it.Key.Kind == lease.KindLease) == leases {
			items = append(items, b.misread(it.Item))
		}
	}
	return items
}

type eventKind uint8

const (
	tickEvent eventKind = iota
	stopEvent
	membersEvent
	leasesEvent
	listedEvent
	writtenEvent
	ackedEvent
	endedEvent
	drainedEvent
	missingEvent
)

// event is what a member is told: eventKey tells one from another, the rest makes it up.
type event struct {
	eventKey
	store *store
	item  *item
	w     *write
}

type eventKey struct {
	kind eventKind
	what uint64 // the hash of a read's answer, or of a write; a shard
	item uint64 // the hash of the item that a write's answer shows; a token
	n    int    // an outcome, a number of records, a flag
}

type stepKey struct {
	m   *member
	now lease.Time
	eventKey
}

// stepped is what a step led to.
type stepped struct {
	next *member
	acts []lease.Action // reports left out
	ws   []*write       // for each of them that is a write
}

// step steps a member, or remembers what that led to.
func (t *tables) step(id string, m *member, now lease.Time, ev event, build func(event) lease.Event) *stepped {
	key := stepKey{m, now, ev.eventKey}
	if s := t.steps[key]; s != nil {
		return s
	}
	s := &stepped{}
	next := m.m.Clone()
	for _, a := range next.Step(now, build(ev)) {
		if _, report := a.(lease.Report); report {
			continue
		}
		s.acts = append(s.acts, a)
		var w *write
		if wi, ok := a.(lease.WriteItem); ok {
			w = t.write(id, wi.Write)
		}
		s.ws = append(s.ws, w)
	}
	s.next = t.member(next, now)
	t.steps[key] = s
	return s
}

func (t *tables) member(m *lease.Member, now lease.Time) *member {
	b := m.AppendState(binary.LittleEndian.AppendUint64(nil, uint64(now)))
	id := maphash.Bytes(seed, b)
	n := t.members[id]
	if n == nil {
		n = &member{m, id, m.Wake(), m.Deadline()}
		t.members[id] = n
	}
	return n
}

// hasher hashes numbers.
type hasher struct{ b []byte }

func (h *hasher) add(values ...uint64) {
	for _, v := range values {
		h.b = binary.LittleEndian.AppendUint64(h.b, v)
	}
}

func (h *hasher) sum() uint64 { return maphash.Bytes(seed, h.b) }
