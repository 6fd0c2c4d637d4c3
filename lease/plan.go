package lease

import (
	"hash/fnv"
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

// Share gives every free lease to a worker: to one of those that have least, and among these to the
// one whose hash with the lease is highest, so that workers with the same view make the same plan and each lease
// is tried by one of them only. The answer has a worker id, or "" if all are full, for each lease.
// It depends on nothing but its input, in any order.
func Share(free []string, candidates []Candidate) map[string]string {
	plan := make(map[string]string, len(free))
	load := slices.SortedFunc(slices.Values(candidates), func(a, b Candidate) int { return strings.Compare(a.ID, b.ID) })
	for _, shard := range slices.Sorted(slices.Values(free)) {
		best, least, highest := -1, math.MaxInt, uint64(0)
		for i, c := range load {
			if c.Held > least || c.MaxShards > 0 && c.Held >= c.MaxShards {
				continue
			}
			if h := affinity(shard, c.ID); c.Held < least || h > highest {
				best, least, highest = i, c.Held, h
			}
		}
		if best < 0 {
			plan[shard] = ""
			continue
		}
		load[best].Held++
		plan[shard] = load[best].ID
	}
	return plan
}

// Move is a lease that goes from one live worker to another, for balance.
type Move struct{ Shard, From, To string }

// Balance returns the fewest moves after which no worker has two leases more than another, first things
// first. owned are the leases of each candidate that may move now; Candidate.Held counts all. As with
// Share, equal views make equal plans: the lease that moves is the one whose hash with the receiver is
// highest.
func Balance(owned map[string][]string, candidates []Candidate) []Move {
	load := slices.SortedFunc(slices.Values(candidates), func(a, b Candidate) int { return strings.Compare(a.ID, b.ID) })
	left := make(map[string][]string, len(owned))
	for id, shards := range owned {
		left[id] = slices.Sorted(slices.Values(shards))
	}
	var moves []Move
	for {
		from, to := -1, -1
		for i, c := range load {
			if len(left[c.ID]) > 0 && (from < 0 || c.Held > load[from].Held) {
				from = i
			}
			if (c.MaxShards == 0 || c.Held < c.MaxShards) && (to < 0 || c.Held < load[to].Held) {
				to = i
			}
		}
		if from < 0 || to < 0 || load[from].Held-load[to].Held < 2 {
			return moves
		}
		mine := left[load[from].ID]
		best := 0
		for i := range mine {
			if affinity(mine[i], load[to].ID) > affinity(mine[best], load[to].ID) {
				best = i
			}
		}
		moves = append(moves, Move{Shard: mine[best], From: load[from].ID, To: load[to].ID})
		left[load[from].ID] = slices.Delete(mine, best, best+1)
		load[from].Held--
		load[to].Held++
	}
}

// affinity is the rendezvous hash of a lease and a worker.
func affinity(shard, worker string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(shard))
	h.Write([]byte{0})
	h.Write([]byte(worker))
	// FNV mixes its last bytes poorly into the high bits, on which the comparison rests.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
