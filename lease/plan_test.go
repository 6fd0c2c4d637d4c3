package lease_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leatstream/leat/lease"
)

// slowAffinity is the rendezvous hash as the standard library has it.
func slowAffinity(shard, worker string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(shard + "\x00" + worker))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

func isFull(c lease.Candidate) bool { return c.MaxShards > 0 && c.Held >= c.MaxShards }

// slowShare is Share as its documentation says it.
func slowShare(free []string, candidates []lease.Candidate) map[string]string {
	plan := map[string]string{}
	load := slices.Clone(candidates)
	for _, shard := range slices.Sorted(slices.Values(free)) {
		plan[shard] = ""
		open := slices.DeleteFunc(slices.Clone(load), isFull)
		if len(open) == 0 {
			continue
		}
		to := slices.MinFunc(open, func(a, b lease.Candidate) int {
			return cmp.Or(cmp.Compare(a.Held, b.Held), cmp.Compare(slowAffinity(shard, b.ID), slowAffinity(shard, a.ID)))
		}).ID
		plan[shard] = to
		load[slices.IndexFunc(load, func(c lease.Candidate) bool { return c.ID == to })].Held++
	}
	return plan
}

// slowBalance is Balance as its documentation says it; of several owners with most leases, or receivers with least, the
// first by id.
func slowBalance(owned map[string][]string, candidates []lease.Candidate) []lease.Move {
	load := slices.SortedFunc(slices.Values(candidates), func(a, b lease.Candidate) int { return strings.Compare(a.ID, b.ID) })
	left := map[string][]string{}
	for id, shards := range owned {
		left[id] = slices.Clone(shards)
	}
	var moves []lease.Move
	for {
		givers := slices.DeleteFunc(slices.Clone(load), func(c lease.Candidate) bool { return len(left[c.ID]) == 0 })
		takers := slices.DeleteFunc(slices.Clone(load), isFull)
		if len(givers) == 0 || len(takers) == 0 {
			return moves
		}
		from := slices.MaxFunc(givers, func(a, b lease.Candidate) int { return cmp.Compare(a.Held, b.Held) })
		to := slices.MinFunc(takers, func(a, b lease.Candidate) int { return cmp.Compare(a.Held, b.Held) })
		if from.Held-to.Held < 2 {
			return moves
		}
		shard := slices.MaxFunc(left[from.ID], func(a, b string) int {
			return cmp.Compare(slowAffinity(a, to.ID), slowAffinity(b, to.ID))
		})
		moves = append(moves, lease.Move{Shard: shard, From: from.ID, To: to.ID})
		left[from.ID] = slices.DeleteFunc(left[from.ID], func(s string) bool { return s == shard })
		for i := range load {
			switch load[i].ID {
			case from.ID:
				load[i].Held--
			case to.ID:
				load[i].Held++
			}
		}
	}
}

// view is what a plan is made from.
type view struct {
	free       []string
	owned      map[string][]string // that may move
	candidates []lease.Candidate
}

// anyView draws a group: workers with ids of several lengths, leases that may move and others, bounds or none.
func anyView(bounds bool) *rapid.Generator[view] {
	return rapid.Custom(func(t *rapid.T) view {
		v := view{owned: map[string][]string{}}
		shards := 0
		shard := func() string {
			shards++
			return fmt.Sprintf("shardId-%0*d", 3+shards%3, shards)
		}
		for i := range rapid.IntRange(0, 9).Draw(t, "workers") {
			c := lease.Candidate{ID: fmt.Sprintf("%d%s", i, strings.Repeat("w", (10-i)*i%7))}
			if bounds {
				c.MaxShards = rapid.SampledFrom([]int{0, 0, 1, 3, 8}).Draw(t, "bound")
				c.Held = rapid.IntRange(0, 3).Draw(t, "resting")
			}
			for range rapid.IntRange(0, 12).Draw(t, "movable") {
				v.owned[c.ID] = append(v.owned[c.ID], shard())
				c.Held++
			}
			v.candidates = append(v.candidates, c)
		}
		for range rapid.IntRange(0, 40).Draw(t, "free") {
			v.free = append(v.free, shard())
		}
		v.free = rapid.Permutation(v.free).Draw(t, "free order")
		v.candidates = rapid.Permutation(v.candidates).Draw(t, "order")
		return v
	})
}

// Every free lease goes to a worker of those that have least and are not full, or to nobody if all are full; the plan
// is the same whatever the order of its input, which it leaves as it is.
func TestShareProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyView(true).Draw(t, "view")
		free, candidates := slices.Clone(v.free), slices.Clone(v.candidates)
		plan := lease.Share(free, candidates)
		if !slices.Equal(free, v.free) || !slices.Equal(candidates, v.candidates) {
			t.Fatal("Share changed its input")
		}
		if want := slowShare(v.free, v.candidates); !maps.Equal(plan, want) {
			t.Fatalf("plan %v, want %v", plan, want)
		}
		other := lease.Share(rapid.Permutation(free).Draw(t, "free again"), rapid.Permutation(candidates).Draw(t, "candidates again"))
		if !maps.Equal(plan, other) {
			t.Fatalf("plan %v in one order, %v in another", plan, other)
		}

		if got, want := slices.Sorted(maps.Keys(plan)), slices.Sorted(slices.Values(free)); !slices.Equal(got, want) {
			t.Fatalf("planned %v, free are %v", got, want)
		}
		got := map[string]int{}
		for _, to := range plan {
			got[to]++
		}
		after := func(c lease.Candidate) lease.Candidate { c.Held += got[c.ID]; return c }
		for _, c := range candidates {
			switch c := after(c); {
			case got[c.ID] > 0 && c.MaxShards > 0 && c.Held > c.MaxShards:
				t.Fatalf("%s gets more than its bound: %+v", c.ID, c)
			case got[""] > 0 && !isFull(c):
				t.Fatalf("%d leases go to nobody, and %s is not full", got[""], c.ID)
			}
			for _, o := range candidates {
				if o := after(o); got[c.ID] > 0 && !isFull(o) && after(c).Held > o.Held+1 {
					t.Fatalf("%s was given a lease and has %d, %s has %d", c.ID, after(c).Held, o.ID, o.Held)
				}
			}
		}
	})
}

// A plan of moves takes only what may move, from workers that have two leases more than who gets them, and none
// twice. When it was carried out there is nothing left to do.
func TestBalanceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyView(rapid.Bool().Draw(t, "bounds")).Draw(t, "view")
		moves := lease.Balance(v.owned, slices.Clone(v.candidates))
		if want := slowBalance(v.owned, v.candidates); !slices.Equal(moves, want) {
			t.Fatalf("moves %v, want %v", moves, want)
		}
		shuffled := map[string][]string{}
		for id, shards := range v.owned {
			shuffled[id] = rapid.Permutation(shards).Draw(t, "shards")
		}
		if other := lease.Balance(shuffled, rapid.Permutation(v.candidates).Draw(t, "candidates")); !slices.Equal(moves, other) {
			t.Fatalf("moves %v in one order, %v in another", moves, other)
		}

		at := map[string]*lease.Candidate{}
		owned := map[string][]string{}
		for _, c := range v.candidates {
			at[c.ID] = &c
			owned[c.ID] = slices.Clone(v.owned[c.ID])
		}
		for _, m := range moves {
			i := slices.Index(owned[m.From], m.Shard)
			if i < 0 {
				t.Fatalf("%v: it is not %s's to give", m, m.From)
			}
			if isFull(*at[m.To]) || at[m.From].Held-at[m.To].Held < 2 {
				t.Fatalf("%v: from %+v to %+v", m, *at[m.From], *at[m.To])
			}
			owned[m.From] = slices.Delete(owned[m.From], i, i+1) // and it moves no further
			at[m.From].Held--
			at[m.To].Held++
		}
		var after []lease.Candidate
		for _, c := range at {
			after = append(after, *c)
		}
		if again := lease.Balance(owned, after); len(again) > 0 {
			t.Fatalf("after the moves there are others: %v", again)
		}
	})
}

// Where everything may move and nobody has a bound, a join or a leave moves as few leases as can be, and in the end
// every worker has floor or ceil of the leases to the workers.
func TestBalanceMovesNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyView(false).Draw(t, "view")
		if len(v.candidates) == 0 {
			t.Skip("nobody")
		}
		total := 0
		held := map[string]int{}
		for _, c := range v.candidates {
			held[c.ID] = c.Held
			total += c.Held
		}
		floor, over := total/len(v.candidates), total%len(v.candidates)
		most := slices.SortedFunc(maps.Values(held), func(a, b int) int { return b - a })
		need := 0
		for i, n := range most { // those that have most keep one more than the others
			quota := floor
			if i < over {
				quota++
			}
			need += max(0, n-quota)
		}
		moves := lease.Balance(v.owned, v.candidates)
		if len(moves) != need {
			t.Fatalf("%d moves, %d would do: %v", len(moves), need, held)
		}
		for _, m := range moves {
			held[m.From]--
			held[m.To]++
		}
		for id, n := range held {
			if n != floor && n != floor+min(over, 1) {
				t.Fatalf("%s has %d leases, want %d or one more: %v", id, n, floor, held)
			}
		}
	})
}

// Members that see the same make one plan, and each takes its own part of it: nobody tries what another one takes, and
// what somebody holds stays where it is, unless a move is due.
func TestMembersAgreeOnThePlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "shards")
		g := newGroup(t, shards(n)...)
		refused := 0
		g.told = func(who, format string, args ...any) {
			if line := fmt.Sprintf(format, args...); strings.Contains(line, "lease") && strings.Contains(line, "refused") {
				refused++
			}
		}
		workers := rapid.IntRange(1, 5).Draw(rt, "workers")
		for i := range workers {
			g.join(fmt.Sprintf("w%d", i))
		}
		g.pass(2 * time.Second)
		least, most, all := g.spread()
		if all != n || most-least > 1 {
			rt.Fatalf("from %d to %d shards each, %d in all of %d", least, most, all, n)
		}
		if refused > 0 || g.moves() != n {
			rt.Fatalf("%d writes were refused, and %d leases taken, of %d", refused, g.moves(), n)
		}
	})
}
