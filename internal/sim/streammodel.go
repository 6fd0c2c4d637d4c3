package sim

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/leatstream/leat/lease"
)

const (
	numKeys   = 40
	hashSpace = 1 << 32
)

// streamModel is the stream: shards with records, each numbered within its key.
type streamModel struct {
	w         *world
	rng       *rand.Rand
	shards    []*shard // by id, oldest first
	byID      map[string]*shard
	keys      [numKeys]key
	seq       int64
	total     int
	quiet     bool // produces no more
	sleepy    bool // nothing is written for a minute or two, again and again
	least     int  // open shards
	most      int
	recreated bool // the stream was deleted and made again under its name

	start      lease.Position // where the group begins: from the control item
	startKnown bool
}

type key struct {
	hash    uint64
	records []place // the one with number n is at n-1
}

// place is where a record is.
type place struct {
	shard *shard
	index int
}

func newStreamModel(w *world) *streamModel {
	s := &streamModel{w: w, rng: stream(w.opt.Seed, 3), byID: map[string]*shard{}, seq: 95} // soon a digit longer
	for k := range s.keys {
		s.keys[k].hash = s.rng.Uint64N(hashSpace)
	}
	s.sleepy = s.rng.IntN(4) == 0
	// The stream has a past: it was written and resharded before any worker came.
	w.now = -time.Minute
	var n int
	n, s.least, s.most = w.opt.shards(s.rng)
	for i := range uint64(n) {
		s.add(hashSpace*i/uint64(n), hashSpace*(i+1)/uint64(n)-1)
	}
	past := s.rng.IntN(4)
	if w.opt.script != nil {
		past = 0
	}
	for range past {
		for range s.rng.IntN(60) {
			s.put()
			w.now += between(s.rng, 0, 200*time.Millisecond)
		}
		s.reshard(s.rng)
	}
	w.now = 0
	return s
}

func (s *streamModel) add(lo, hi uint64, parents ...*shard) *shard {
	sh := &shard{id: fmt.Sprintf("shardId-%012d", len(s.shards)), lo: lo, hi: hi, parents: parents, created: s.w.now, idleSince: -1, leftAt: -1}
	bound := func(x, minus uint64) string {
		b := new(big.Int).Lsh(new(big.Int).SetUint64(x), 96)
		return b.Sub(b, new(big.Int).SetUint64(minus)).String()
	}
	sh.hashRange = lease.HashRange{Start: bound(lo, 0), End: bound(hi+1, 1)}
	for _, p := range parents {
		p.children = append(p.children, sh)
		p.closed, p.closedAt = true, s.w.now
	}
	s.shards = append(s.shards, sh)
	s.byID[sh.id] = sh
	s.w.note(sh.id, "", "created, parents %v", names(parents))
	for _, p := range parents {
		s.w.note(p.id, "", "closed with %d records, child %s", len(p.records), sh.id)
	}
	return sh
}

func names(shards []*shard) []string {
	var ids []string
	for _, sh := range shards {
		ids = append(ids, sh.id)
	}
	slices.Sort(ids)
	return ids
}

// produce writes records for ever, a few each time.
func (s *streamModel) produce() {
	if s.quiet {
		return
	}
	for range 1 + s.rng.IntN(4) {
		s.put()
	}
	pause := between(s.rng, 10*time.Millisecond, 400*time.Millisecond)
	if s.sleepy && s.rng.IntN(200) == 0 && !s.w.faults.healed {
		pause = between(s.rng, 0, 2*time.Minute)
	}
	s.w.after(pause, "produce", s.produce)
}

// put writes one record, at times an aggregated one.
func (s *streamModel) put() {
	k := s.rng.IntN(numKeys)
	s.seq += 1 + s.rng.Int64N(3)
	subs := int64(1)
	if s.rng.IntN(5) == 0 {
		subs = 1 + s.rng.Int64N(4)
	}
	for _, sh := range slices.Backward(s.shards) { // what is old is closed
		if h := s.keys[k].hash; !sh.closed && sh.lo <= h && h <= sh.hi {
			for sub := range subs {
				s.total++
				s.keys[k].records = append(s.keys[k].records, place{shard: sh, index: len(sh.records)})
				sh.records = append(sh.records, record{key: k, n: len(s.keys[k].records), seq: s.seq, sub: sub, arrival: s.w.now})
			}
			return
		}
	}
}

func (s *streamModel) any(rng *rand.Rand) *shard { return s.shards[rng.IntN(len(s.shards))] }

func (s *streamModel) open() []*shard {
	var open []*shard
	for _, sh := range s.shards {
		if !sh.closed {
			open = append(open, sh)
		}
	}
	return open
}

// reshard splits a shard, or merges two neighbours.
func (s *streamModel) reshard(rng *rand.Rand) bool {
	open := s.open()
	if len(open) <= s.least || len(open) < s.most && rng.IntN(2) == 0 {
		return s.split(open[rng.IntN(len(open))], rng)
	}
	slices.SortFunc(open, func(a, b *shard) int { return cmp.Compare(a.lo, b.lo) })
	i := rng.IntN(len(open) - 1)
	s.add(open[i].lo, open[i+1].hi, open[i], open[i+1])
	return true
}

func (s *streamModel) split(sh *shard, rng *rand.Rand) bool {
	if sh.hi-sh.lo < 16 {
		return false
	}
	mid := sh.lo + 1 + rng.Uint64N(sh.hi-sh.lo-1)
	s.add(sh.lo, mid-1, sh)
	s.add(mid, sh.hi, sh)
	return true
}

// reshardNewest takes the newest shard, which is maybe still unread, and splits it or merges it with
// a neighbour.
func (s *streamModel) reshardNewest(rng *rand.Rand) {
	open := s.open()
	if s.w.faults.healed {
		return
	}
	newest := open[len(open)-1]
	if len(open) >= s.most || len(open) > s.least && rng.IntN(3) == 0 {
		for _, other := range open {
			if other.hi+1 == newest.lo {
				s.add(other.lo, newest.hi, other, newest)
				return
			}
		}
	}
	if len(open) < s.most {
		s.split(newest, rng)
	}
}

// trim makes a shard that is past its retention go from the listing. Shards go in the order in which
// they were closed, since retention is the same for all.
func (s *streamModel) trim(sh *shard) {
	sh.old = true
	if s.w.stopped {
		return
	}
	for _, sh := range s.closed() {
		t, fromTime := s.start.Timestamp()
		if before := fromTime && milli(sh.closedAt) < t.UnixMilli(); !sh.old && !before {
			return
		}
		if !sh.trimmed {
			sh.trimmed = true
			s.expireBelow(sh, len(sh.records))
			s.w.note(sh.id, "", "past its retention")
		}
	}
}

// closed is the closed shards in the order in which they were closed.
func (s *streamModel) closed() []*shard {
	closed := slices.DeleteFunc(slices.Clone(s.shards), func(sh *shard) bool { return !sh.closed })
	slices.SortStableFunc(closed, func(a, b *shard) int { return cmp.Compare(a.closedAt, b.closedAt) })
	return closed
}

func milli(at time.Duration) int64 { return epoch.Add(at).UnixMilli() }

// pastTime is a time for the group to start at: at times the very millisecond of a reshard.
func (s *streamModel) pastTime() lease.Position {
	at := -between(s.rng, 0, time.Minute)
	if last := s.shards[len(s.shards)-1]; s.rng.IntN(2) == 0 {
		at = last.created
	}
	return lease.AtTimestamp(epoch.Add(at))
}

// begin is told where the group begins.
func (s *streamModel) begin(at lease.Position) {
	s.start, s.startKnown = at, true
	t, ok := at.Timestamp()
	if !ok {
		return
	}
	for _, sh := range s.shards {
		for i := range sh.records {
			r := &sh.records[i]
			if milli(r.arrival) < t.UnixMilli() {
				r.skipped, r.acked, r.finished = true, true, true
			}
		}
	}
}

// list is ListShards, as of some time ago. With all unset it has the shards that were open at a position
// (Kinesis API reference, ShardFilter: both ends of a shard's life count as open).
//
// As the engine does it, a time at which no shard was open means the oldest that is left.
func (s *streamModel) list(all bool, at lease.Position, asOf time.Duration) []lease.Shard {
	if s.recreated { // other shards of the same names
		return []lease.Shard{s.shards[0].shown(false), s.shards[1%len(s.shards)].shown(false)}
	}
	listed := s.filter(all, at, asOf)
	if _, ok := at.Timestamp(); ok && len(listed) == 0 {
		listed = s.filter(all, lease.TrimHorizon(), asOf)
	}
	return listed
}

func (s *streamModel) filter(all bool, at lease.Position, asOf time.Duration) []lease.Shard {
	var listed []lease.Shard
	for _, sh := range s.shards {
		if sh.created > asOf || sh.trimmed {
			continue
		}
		closed := sh.closed && sh.closedAt <= asOf
		if t, ok := at.Timestamp(); !all && ok {
			if milli(sh.created) > t.UnixMilli() || closed && milli(sh.closedAt) < t.UnixMilli() {
				continue
			}
		} else if !all && slices.ContainsFunc(sh.parents, func(p *shard) bool { return !p.trimmed }) {
			continue
		}
		listed = append(listed, sh.shown(closed))
	}
	return listed
}
