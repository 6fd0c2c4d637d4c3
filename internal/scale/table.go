package scale

import (
	"cmp"
	"slices"
	"time"

	"github.com/leatstream/leat/lease"
)

// table is the lease table: one compare-and-swap after another, each with its price.
type table struct {
	items   map[lease.Key]*entry
	members shelf
	leases  shelf

	bill bill

	// What the partitions give. nil: as much as is asked for.
	writeLimit, readLimit *limit
	throttled             int // requests
}

// shelf is the entries that one Query reads, by key, as lease.Store yields them.
type shelf struct {
	entries []*entry
	bytes   int
}

type entry struct {
	item lease.Item
	size int
}

// bill is what was used, by what it was used for.
type bill struct {
	heartbeats  float64 // write units: workers' own items, and those of the fenced
	checkpoints float64 // write units: leases whose owner stayed
	moves       float64 // write units: leases that were made, taken, given or removed
	control     float64 // write units: the control item
	members     float64 // read units
	leases      float64 // read units
	gets        float64 // read units: looks at what is not there, after a write that it refused
	refused     int     // writes whose condition failed; their units are in the above
}

func (b bill) writes() float64 { return b.heartbeats + b.checkpoints + b.moves + b.control }
func (b bill) reads() float64  { return b.members + b.leases + b.gets }

// since is what was used after an earlier bill.
func (b bill) since(was bill) bill {
	return bill{
		heartbeats: b.heartbeats - was.heartbeats, checkpoints: b.checkpoints - was.checkpoints,
		moves: b.moves - was.moves, control: b.control - was.control,
		members: b.members - was.members, leases: b.leases - was.leases, gets: b.gets - was.gets, refused: b.refused - was.refused,
	}
}

// each is an n-th of all that can be divided.
func (b bill) each(n time.Duration) bill {
	f := float64(n)
	b.heartbeats, b.checkpoints, b.moves, b.control = b.heartbeats/f, b.checkpoints/f, b.moves/f, b.control/f
	b.members, b.leases, b.gets = b.members/f, b.leases/f, b.gets/f
	return b
}

// What one partition gives (developer guide, "Best practices for designing and using partition keys"). All items of a
// group have one hash key: they lie in one partition, until a load of minutes makes the service split it.
const (
	partitionWrites = 1000 // units a second
	partitionReads  = 3000
)

// limit is a bucket of units that fills up with time, to a second's worth.
type limit struct {
	rate, left float64
	at         time.Duration
}

// take takes units, if any are left; what is taken beyond is owed.
func (l *limit) take(now time.Duration, units float64) bool {
	if l == nil {
		return true
	}
	l.left = min(l.rate, l.left+l.rate*(now-l.at).Seconds())
	l.at = now
	if l.left <= 0 {
		return false
	}
	l.left -= units
	return true
}

func newTable(partitions int) *table {
	t := &table{items: map[lease.Key]*entry{}}
	if n := float64(partitions); n > 0 {
		t.writeLimit = &limit{rate: n * partitionWrites, left: n * partitionWrites}
		t.readLimit = &limit{rate: n * partitionReads, left: n * partitionReads}
	}
	return t
}

func (t *table) shelf(kind lease.Kind) *shelf {
	if kind == lease.KindLease {
		return &t.leases
	}
	return &t.members
}

// write applies a write if its condition holds; ok is false if it was throttled. was is the item before it.
func (t *table) write(now time.Duration, w lease.Write) (was lease.Item, answer lease.Written, ok bool) {
	key := w.Item.Key
	if err := w.Check(); err != nil {
		panic(err) // no member writes such
	}
	answer = lease.Written{Key: key, Outcome: lease.Landed, Found: true}
	e, before := t.items[key], 0
	if e != nil {
		was, before = e.item, e.size
	}
	applies, item, size := w.Applies(was, e != nil), lease.Item{}, 0
	if applies && w.Op != lease.Delete {
		item = w.Apply(was)
		size = itemSize(item)
	}
	units := writeUnits(before, size)
	if !t.writeLimit.take(now, units) {
		t.throttled++
		return was, answer, false
	}
	t.charge(w, was, units)
	s := t.shelf(key.Kind)
	switch {
	case !applies:
		t.bill.refused++
		if e == nil {
			t.bill.gets++ // DynamoDB does not say that there is none: store/dynamo asks
		}
		answer.Outcome, answer.Item, answer.Found = lease.Conflict, was, e != nil
		return was, answer, true
	case w.Op == lease.Delete:
		delete(t.items, key)
		s.entries = slices.DeleteFunc(s.entries, func(o *entry) bool { return o == e })
	case e == nil:
		e = &entry{item: item}
		t.items[key] = e
		s.entries = slices.Insert(s.entries, s.find(key), e)
	}
	s.bytes += size - before
	e.item, e.size = item, size
	answer.Item = item
	return was, answer, true
}

func (t *table) charge(w lease.Write, was lease.Item, units float64) {
	switch w.Item.Key.Kind {
	case lease.KindWorker:
		t.bill.heartbeats += units
	case lease.KindControl:
		t.bill.control += units
	default:
		if w.Op == lease.Update && w.Item.Lease.Owner == was.Lease.Owner {
			t.bill.checkpoints += units
		} else {
			t.bill.moves += units
		}
	}
}

// readMembers reads the workers and the control item; ok is false if it was throttled.
func (t *table) readMembers(now time.Duration, consistent bool) (items []lease.Item, ok bool) {
	units := readUnits(t.members.bytes, consistent)
	if !t.readLimit.take(now, units) {
		t.throttled++
		return nil, false
	}
	t.bill.members += units
	for _, e := range t.members.entries {
		items = append(items, e.item)
	}
	return items, true
}

// readLeases appends the page of leases behind a key to items; ok is false if it was throttled. last is the zero Key if
// there are no more.
func (t *table) readLeases(now time.Duration, after lease.Key, items []lease.Item) (page []lease.Item, last lease.Key, ok bool) {
	s := &t.leases
	from := 0
	if after != (lease.Key{}) {
		from = s.find(after)
		if from < len(s.entries) && s.entries[from].item.Key == after {
			from++
		}
	}
	bytes, to := 0, from
	for ; to < len(s.entries) && bytes < pageSize; to++ {
		bytes += s.entries[to].size
	}
	units := readUnits(bytes, false)
	if !t.readLimit.take(now, units) {
		t.throttled++
		return items, after, false
	}
	t.bill.leases += units
	items = slices.Grow(items, len(s.entries)-from)
	for _, e := range s.entries[from:to] {
		items = append(items, e.item)
	}
	if to < len(s.entries) {
		last = s.entries[to-1].item.Key
	}
	return items, last, true
}

// find is where an entry of this key stands, or would.
func (s *shelf) find(key lease.Key) int {
	at, _ := slices.BinarySearchFunc(s.entries, key, func(o *entry, k lease.Key) int { return compareKeys(o.item.Key, k) })
	return at
}

func compareKeys(a, b lease.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Worker, b.Worker))
}
