package lease

import (
	"container/heap"
	"math"
	"slices"
	"strings"
)

// Candidate is a worker that leases may be given to.
type Candidate struct {
	ID        string
	Held      int // leases that it has now
	MaxShards int // 0 is no bound
}

func (c Candidate) full() bool { return c.MaxShards > 0 && c.Held >= c.MaxShards }

// Share gives every free lease to a worker: to one of those that have least, and among these to the
// one whose hash with the lease is highest, so that workers with the same view make the same plan and each lease
// is tried by one of them only. The answer has a worker id, or "" if all are full, for each lease.
// It depends on nothing but its input, in any order.
func Share(free []string, candidates []Candidate) map[string]string {
	plan := make(map[string]string, len(free))
	load := byID(candidates)
	prefix := commonPrefix(load)
	var level []int // those of load that have least
	for _, shard := range slices.Sorted(slices.Values(free)) {
		if len(level) == 0 {
			level = haveLeast(load, level)
		}
		if len(level) == 0 {
			plan[shard] = ""
			continue
		}
		own := hashOf(shard).add(prefix)
		best := highest(len(level), func(i int) (hash, string) { return own, load[level[i]].ID[len(prefix):] })
		to := &load[level[best]]
		to.Held++
		plan[shard] = to.ID
		level = slices.Delete(level, best, best+1)
	}
	return plan
}

// haveLeast appends the workers that have least, of those that are not full.
func haveLeast(load []Candidate, level []int) []int {
	least := math.MaxInt
	for i := range load {
		if !load[i].full() {
			least = min(least, load[i].Held)
		}
	}
	for i := range load {
		if !load[i].full() && load[i].Held == least {
			level = append(level, i)
		}
	}
	return level
}

// Move is a lease that goes from one live worker to another, for balance.
type Move struct{ Shard, From, To string }

// Balance returns the fewest moves after which no worker has two leases more than another, first things
// first. owned are the leases of each candidate that may move now; Candidate.Held counts all. As with
// Share, equal views make equal plans: the lease that moves is the one whose hash with the receiver is
// highest.
func Balance(owned map[string][]string, candidates []Candidate) []Move {
	load := byID(candidates)
	left := make([]int, len(load)) // how many each worker may still give
	for i, c := range load {
		left[i] = len(owned[c.ID])
	}
	given := map[string]bool{}
	rankings := map[[2]int]*ranking{} // by who gives and who gets
	var moves []Move
	for {
		from, to := -1, -1
		for i := range load {
			c := &load[i]
			if left[i] > 0 && (from < 0 || c.Held > load[from].Held) {
				from = i
			}
			if !c.full() && (to < 0 || c.Held < load[to].Held) {
				to = i
			}
		}
		if from < 0 || to < 0 || load[from].Held-load[to].Held < 2 {
			return moves
		}
		r := rankings[[2]int{from, to}]
		if r == nil {
			r = rank(owned[load[from].ID], load[to].ID)
			rankings[[2]int{from, to}] = r
		}
		shard := r.next(given)
		given[shard] = true
		moves = append(moves, Move{Shard: shard, From: load[from].ID, To: load[to].ID})
		left[from]--
		load[from].Held--
		load[to].Held++
	}
}

// ranking is the leases that one worker may give, the one whose hash with another worker is highest first: a heap, for
// of thousands few are asked for.
type ranking []ranked

type ranked struct {
	shard string
	hash  uint64
}

func rank(shards []string, worker string) *ranking {
	r := make(ranking, len(shards))
	for i, shard := range shards {
		r[i] = ranked{shard, hashOf(shard).add(worker).mixed()}
	}
	heap.Init(&r)
	return &r
}

// next takes the first lease out that was not given to somebody else meanwhile.
func (r *ranking) next(given map[string]bool) string {
	for {
		if first := heap.Pop(r).(ranked); !given[first.shard] {
			return first.shard
		}
	}
}

func (r ranking) Len() int { return len(r) }

func (r ranking) Less(i, j int) bool {
	return r[i].hash > r[j].hash || r[i].hash == r[j].hash && r[i].shard < r[j].shard
}

func (r ranking) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *ranking) Push(x any)   { *r = append(*r, x.(ranked)) }

func (r *ranking) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	*r = (*r)[:last]
	return x
}

// byID returns the candidates sorted.
func byID(candidates []Candidate) []Candidate {
	return slices.SortedFunc(slices.Values(candidates), func(a, b Candidate) int { return strings.Compare(a.ID, b.ID) })
}

// commonPrefix is what all ids begin with. Workers of one deployment have names that differ at their ends.
func commonPrefix(sorted []Candidate) string {
	if len(sorted) == 0 {
		return ""
	}
	first, last := sorted[0].ID, sorted[len(sorted)-1].ID
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	return first[:n]
}

// hash is the rendezvous hash of a lease and a worker before the worker is taken into it: FNV-1a of the shard and a
// zero. It is kept, since a plan compares one lease with many workers.
type hash uint64

const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

func hashOf(shard string) hash { return hash(fnvOffset).add(shard) * fnvPrime }

func (h hash) add(text string) hash {
	for i := range len(text) {
		h = (h ^ hash(text[i])) * fnvPrime
	}
	return h
}

// mixed is what is compared: FNV mixes its last bytes poorly into the high bits.
func (h hash) mixed() uint64 {
	x := uint64(h)
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// highest returns for which of n pairs of a lease and a worker the hash is highest; the first one, if there are several.
// It takes four at a time: each of FNV's multiplications waits for the one before it, so four hashes take hardly longer
// than one.
func highest(n int, pair func(int) (hash, string)) (best int) {
	most := uint64(0)
	for i := 0; i < n; i += 4 {
		a, ta := pair(i)
		b, tb := pair(min(i+1, n-1))
		c, tc := pair(min(i+2, n-1))
		d, td := pair(min(i+3, n-1))
		common := min(len(ta), len(tb), len(tc), len(td))
		a4, b4, c4, d4 := ta[:common], tb[:common], tc[:common], td[:common]
		for j := range common {
			a, b = (a^hash(a4[j]))*fnvPrime, (b^hash(b4[j]))*fnvPrime
			c, d = (c^hash(c4[j]))*fnvPrime, (d^hash(d4[j]))*fnvPrime
		}
		for j, h := range [4]hash{a.add(ta[common:]), b.add(tb[common:]), c.add(tc[common:]), d.add(td[common:])} {
			if x := h.mixed(); x > most {
				best, most = i+j, x
			}
		}
	}
	return best
}
