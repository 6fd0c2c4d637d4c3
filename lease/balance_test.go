package lease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// spread is the shards of each worker, most and least.
func (g *group) spread() (least, most, all int) {
	least = 1 << 30
	for _, w := range g.workers {
		if w.done {
			continue
		}
		least, most, all = min(least, len(w.open)), max(most, len(w.open)), all+len(w.open)
	}
	return least, most, all
}

func (g *group) moves() (n int) {
	for _, r := range g.reports {
		var worker, shard string
		if _, err := fmt.Sscanf(r, "%s took %s", &worker, &shard); err == nil {
			n++
		}
	}
	return n
}

// L2, L3: a worker that joins gets its share from live workers, each shard from just where its former
// owner stopped, with as few moves as balance needs; then nothing moves.
func TestJoinBalances(t *testing.T) {
	g := newGroup(t, shards(100)...)
	first := g.join("w0")
	g.pass(10 * time.Second)
	for shard := range first.open {
		g.ack(first, shard, "4711")
	}
	taken := g.moves()
	for i := 1; i < 10; i++ {
		g.join(fmt.Sprintf("w%d", i))
		g.pass(10 * time.Minute)
		least, most, all := g.spread()
		if most-least > 1 || all != 100 {
			t.Fatalf("%d workers: from %d to %d shards each, %d in all", i+1, least, most, all)
		}
		// The new worker's share is what had to move.
		if moved := g.moves() - taken; moved != 100/(i+1) {
			t.Errorf("%d moves to balance %d workers, %d are needed", moved, i+1, 100/(i+1))
		}
		taken = g.moves()
	}
	for _, w := range g.workers[1:] {
		for shard, o := range w.open {
			if o.Position != after(t, "4711") {
				t.Errorf("%s goes on after %v, want the last ack of its former owner", shard, o.Position)
			}
		}
	}
	g.pass(time.Hour)
	if g.moves() != taken {
		t.Errorf("%d moves while nobody joins or leaves", g.moves()-taken)
	}
}

// A worker that sees the others some milliseconds before its own first heartbeat is answered gets its share as soon as any.
func TestJoinBalancesWhateverComesFirst(t *testing.T) {
	g := newGroup(t, shards(4)...)
	g.join("a")
	g.join("b")
	g.pass(5 * time.Second)

	c := &worker{id: "c", member: lease.NewMember(config("c")), open: map[string]lease.Open{}, acked: map[string]lease.Position{}}
	g.workers = append(g.workers, c)
	var joined []lease.Event
	for events := []lease.Event{lease.Tick{}}; len(events) > 0; events = events[1:] {
		for _, action := range c.member.Step(g.now, events[0]) {
			answer := g.do(c, action)
			if _, write := action.(lease.WriteItem); write {
				joined = append(joined, answer)
			} else if answer != nil {
				events = append(events, answer)
			}
		}
	}
	g.now = g.now.Add(5 * time.Millisecond)
	for _, answer := range joined {
		g.step(c, answer)
	}
	g.pass(5 * time.Second)
	if len(c.open) != 1 {
		t.Errorf("c has %d shards, want 1", len(c.open))
	}
}

// A worker that joins while leases rest cannot know which: it still gets its share at once, of those that
// do not. So in a rolling restart nobody waits for a minute.
func TestNewcomerAmongRestingLeases(t *testing.T) {
	g := newGroup(t, shards(10)...)
	for i := range 5 {
		g.join(fmt.Sprintf("w%d", i))
	}
	g.pass(10 * time.Second)
	for i := range 10 {
		g.step(g.workers[i], lease.Stop{})
		g.pass(2 * time.Second)
		newcomer := g.join(fmt.Sprintf("w%d", i+5))
		g.pass(10 * time.Second)
		if least, most, _ := g.spread(); least != 2 || most != 2 {
			t.Errorf("round %d: the newcomer has %d shards, the others from %d to %d, want 2 each", i, len(newcomer.open), least, most)
		}
	}
}

// A lease that was moved for balance rests for a minute, whoever joins.
func TestMovedLeaseRests(t *testing.T) {
	g := newGroup(t, shards(4)...)
	g.join("w0")
	g.pass(10 * time.Second)
	tokens := map[string]lease.Time{}
	owner := map[string]string{}
	for i := range 600 {
		if i == 5 || i == 15 || i == 25 {
			g.join(fmt.Sprintf("w%d", i))
		}
		for _, it := range g.leases() {
			shard := it.Key.Shard
			if was := owner[shard]; was != "" && was != it.Lease.Owner {
				if last, moved := tokens[shard]; moved && g.now.Sub(last) < time.Minute-2*time.Second {
					t.Errorf("%s moved again after %v", shard, g.now.Sub(last))
				}
				tokens[shard] = g.now
			}
			owner[shard] = it.Lease.Owner
		}
		g.pass(500 * time.Millisecond)
	}
	if least, most, all := g.spread(); least != 1 || most != 1 || all != 4 {
		t.Errorf("from %d to %d shards each, %d in all; want 1 each", least, most, all)
	}
}

// The receiver of a hand-over that crashes before it claims is no loss: its lease is taken after the failover
// time.
func TestReceiverCrashes(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(10 * time.Second)
	b := g.join("b")
	for len(a.open) == 2 { // until the lease is on its way
		g.pass(100 * time.Millisecond)
	}
	g.pass(time.Minute, b)
	if len(a.open) != 2 {
		t.Errorf("a has %d shards, want both back", len(a.open))
	}
}

// A lease that is handed over to a worker which has just begun to leave, and takes its time, does not
// wait for it. The race is written into the store by hand.
func TestReceiverLeaves(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(10 * time.Second)
	b := g.join("b")
	g.pass(10 * time.Second)
	b.slow = true
	g.step(b, lease.Stop{})
	var handed string
	for shard := range a.open {
		handed = shard
	}
	for _, key := range []lease.Key{lease.LeaseKey("orders", handed), lease.ControlKey()} {
		item, err := g.store.Get(t.Context(), "g", key)
		if err != nil {
			t.Fatal(err)
		}
		next := item
		next.Counter++
		if key.Kind == lease.KindLease {
			next.Lease.Owner = "b"
		}
		if _, err := g.store.Write(t.Context(), "g", lease.Write{Op: lease.Update, Item: next, Counter: item.Counter, Owner: item.Lease.Owner}); err != nil {
			t.Fatal(err)
		}
	}
	g.pass(5 * time.Second)
	if b.done {
		t.Fatal("b has left, with a handler running")
	}
	if got := g.lease(handed).Owner; got != "a" {
		t.Errorf("the lease is %q's, want a's", got)
	}
}

// A worker is not asked for more than its bound.
func TestBalanceRespectsMaxShards(t *testing.T) {
	g := newGroup(t, shards(9)...)
	g.join("a")
	g.pass(10 * time.Second)
	b := g.join("b", func(c *lease.MemberConfig) { c.MaxShards = 2 })
	c := g.join("c")
	g.pass(10 * time.Minute)
	if len(b.open) != 2 || len(c.open) < 3 {
		t.Errorf("b has %d shards, c %d; want 2, and 3 or 4", len(b.open), len(c.open))
	}
}

func TestBalancePlan(t *testing.T) {
	worker := func(id string, shards ...string) (lease.Candidate, []string) {
		return lease.Candidate{ID: id, Held: len(shards)}, shards
	}
	owned := map[string][]string{}
	var candidates []lease.Candidate
	for id, n := range map[string]int{"a": 7, "b": 2, "c": 0} {
		var shards []string
		for i := range n {
			shards = append(shards, fmt.Sprintf("%s-%d", id, i))
		}
		c, list := worker(id, shards...)
		candidates, owned[id] = append(candidates, c), list
	}
	moves := lease.Balance(owned, candidates)
	if len(moves) != 4 {
		t.Fatalf("%d moves: %v; 4 make 3 each", len(moves), moves)
	}
	for _, m := range moves {
		if m.From != "a" {
			t.Errorf("%v: a has too many", m)
		}
	}
	// Resting leases stay: only one of a's may move.
	owned["a"] = owned["a"][:1]
	if moves := lease.Balance(owned, candidates); len(moves) != 1 || moves[0].Shard != owned["a"][0] {
		t.Errorf("moves %v, want the one that may", moves)
	}
}
