package lease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// remove deletes a lease by hand.
func (g *group) remove(shard string) {
	g.t.Helper()
	item := g.item(lease.LeaseKey("orders", shard))
	g.tool(lease.Write{Op: lease.Delete, Item: lease.Item{Key: item.Key}, Counter: item.Counter, Owner: item.Lease.Owner}, nil)
}

// A lease deleted by hand under an idle owner: the owner finds out before the lease is made again, so that no two
// workers read the shard. It is made again where the group began, and waits for no parent: those were done.
func TestLeaseDeletedUnderIdleOwner(t *testing.T) {
	start := lease.AtTimestamp(created)
	begin := func(c *lease.MemberConfig) { c.Start = start }
	child := lease.Shard{ID: "shard-1", Parents: []string{"shard-p"}}
	g := newGroup(t, lease.Shard{ID: "shard-0", Parents: []string{"shard-p"}}, child)
	a, b := g.join("a", begin), g.join("b", begin)
	g.pass(5 * time.Second)
	g.shards = append(g.shards, lease.Shard{ID: "shard-p", Closed: true}) // within retention, but before the group's start
	g.remove("shard-1")
	g.pass(3 * time.Minute)
	if n := len(a.open) + len(b.open); n != 2 {
		t.Fatalf("%d shards are open, want 2; leases %v", n, g.leases())
	}
	for _, w := range g.workers {
		if o, open := w.open["shard-1"]; open && o.Position != start {
			t.Errorf("shard-1 is read again from %v, want %v", o.Position, start)
		}
	}
	if !g.reported("a: lost shard-1") && !g.reported("b: lost shard-1") {
		t.Errorf("its owner never found out: %q", g.reports)
	}
}

// F30: a shard whose child passed its retention before it had a lease. The grandchild waits until the shard is
// finished, though nothing shows that it descends from it, and the loss of the child is told.
func TestGenerationPassesItsRetentionUnread(t *testing.T) {
	low := lease.HashRange{Start: "0", End: "9"}
	high := lease.HashRange{Start: "10", End: "19"}
	g := newGroup(t, lease.Shard{ID: "shard-0", HashRange: low}, lease.Shard{ID: "shard-9", HashRange: high})
	a := g.join("a")
	g.pass(5 * time.Second)
	g.ack(a, "shard-0", "7")
	a.slow = true // a handler of shard-0 does not end
	g.shards = []lease.Shard{{ID: "shard-2", Parents: []string{"shard-1"}, HashRange: low}, g.shards[1]}
	g.step(a, lease.Missing{Shard: "shard-0", Token: a.open["shard-0"].Token})
	g.pass(5 * time.Minute)
	if _, open := a.open["shard-2"]; open || g.reported("a: resharded shard-2") {
		t.Fatal("the grandchild is read while a handler of shard-0 runs")
	}
	for _, d := range a.drains {
		g.step(a, lease.Drained{Shard: d.Shard, Token: d.Token, Position: after(t, "7")})
	}
	g.pass(5 * time.Minute)
	if !g.reported("a: shard trimmed shard-0") || !g.reported("a: shard trimmed shard-1") || a.open["shard-2"].Token == 0 {
		t.Errorf("open %v, reports %q", a.open, g.reports)
	}
}

// A merge child whose one parent passed its retention before it had a lease: when the child is read, the loss is told.
// The other parent's lease stays until then, though it is finished and unlisted: it shows that nothing was lost of it.
func TestParentPassesItsRetentionUnread(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	child := lease.Shard{ID: "shard-2", Parents: []string{"shard-0", "shard-1"}}
	token := a.open["shard-0"].Token
	g.step(a, lease.Ended{Shard: "shard-0", Token: token, Children: []lease.Shard{child}})
	g.step(a, lease.Acked{Shard: "shard-0", Token: token, Position: lease.ShardEnd()})
	g.shards = []lease.Shard{child}
	g.pass(5 * time.Minute)
	if a.open["shard-2"].Token == 0 || !g.reported("a: shard trimmed shard-1") || g.reported("a: shard trimmed shard-0") {
		t.Errorf("open %v, reports %q", a.open, g.reports)
	}
	if n := len(g.leases()); n != 2 {
		t.Errorf("%d leases, want 2: the child has not begun", n)
	}
	g.ack(a, "shard-2", "5")
	g.pass(5 * time.Minute)
	if n := len(g.leases()); n != 1 {
		t.Errorf("%d leases, want the child's only", n)
	}
}

// A finished lease that was deleted by hand and made again is not finished: nobody tidies it up.
func TestFinishedLeaseMadeAgain(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	child := lease.Shard{ID: "shard-2", Parents: []string{"shard-0"}}
	g.shards = append(g.shards, child)
	token := a.open["shard-0"].Token
	g.step(a, lease.Ended{Shard: "shard-0", Token: token, Children: []lease.Shard{child}})
	g.step(a, lease.Acked{Shard: "shard-0", Token: token, Position: lease.ShardEnd()})
	g.pass(5 * time.Second)
	g.ack(a, "shard-2", "5")
	g.pass(10 * time.Second)
	g.remove("shard-0")
	g.tool(lease.Write{Op: lease.Create, Item: lease.Item{Key: lease.LeaseKey("orders", "shard-0"), Lease: lease.Lease{Root: true}}}, nil)
	g.pass(5 * time.Minute)
	if a.open["shard-0"].Token == 0 {
		t.Errorf("shard-0 is not read again: %v", g.leases())
	}
}

// A lease that was deleted and made again counts from zero: whoever remembers the old one, with the same counter and
// owner but another checkpoint, must not take it back to that. (Simulator, seed 9930.)
func TestLeaseMadeAgainIsAnother(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	g.ack(a, "shard-0", "10")
	g.pass(10 * time.Second)
	g.join("b")
	g.pass(90 * time.Second) // b has seen it
	was := g.item(lease.LeaseKey("orders", "shard-0"))
	g.remove("shard-0")
	again := was
	again.Counter, again.Lease.Owner, again.Lease.Checkpoint = 0, "", lease.TrimHorizon()
	g.tool(lease.Write{Op: lease.Create, Item: again}, nil)
	for i := 20; g.counter("shard-0") < was.Counter; i++ { // a takes it, and writes checkpoints
		g.step(a, lease.Tick{})
		g.pass(time.Second)
		if a.open["shard-0"].Token != 0 && g.lease("shard-0").Owner == "a" {
			g.ack(a, "shard-0", fmt.Sprint(i))
		}
		if i > 300 {
			t.Fatalf("the lease is at %d, was at %d", g.counter("shard-0"), was.Counter)
		}
	}
	before := g.lease("shard-0")
	if before.Owner != "a" || before.Checkpoint == was.Lease.Checkpoint {
		t.Fatalf("not the case that is meant: %+v", before)
	}
	g.pass(20*time.Second, a) // it is silent
	if now := g.lease("shard-0"); now.Owner != "b" || now.Checkpoint != before.Checkpoint {
		t.Errorf("b took %v from a at %v: %+v", now.Checkpoint, before.Checkpoint, now)
	}
}

// makeAgain makes a deleted lease again, as an operator, for somebody or nobody, and tells the workers.
func (g *group) makeAgain(shard, owner string) {
	g.t.Helper()
	item := lease.Item{Key: lease.LeaseKey("orders", shard), Lease: lease.Lease{Root: true}}
	g.tool(lease.Write{Op: lease.Create, Item: item}, nil)
	if owner != "" {
		g.touch(shard, func(l *lease.Lease) { l.Owner = owner })
	}
	g.tool(lease.Announce(g.item(lease.ControlKey())), nil)
}

// An audit believes what two audits in a row have found: one that has found the lease missing does not count any more once
// it was there again. Else an owner could lose its lease without having had a minute to find out. (Simulator, seed 100064.)
func TestSuspicionEndsWhenLeaseIsThere(t *testing.T) {
	g := newGroup(t, shards(2)...)
	g.join("b")
	g.join("c")
	g.pass(5 * time.Second)
	g.remove("shard-0")
	g.pass(2 * time.Minute) // b has missed it in one audit
	a := g.join("a")        // the audits are its own from now on
	g.pass(5 * time.Second)
	g.makeAgain("shard-0", "")
	g.pass(40 * time.Second)
	if n := len(g.leases()); n != 2 {
		t.Fatalf("not the case that is meant: %d leases, want 2", n)
	}
	g.remove("shard-0")
	g.step(a, lease.Stop{}) // and b's again
	g.pass(15 * time.Second)
	if n := len(g.leases()); n != 1 {
		t.Errorf("%d leases 15 s after one was deleted: it was made again too soon", n)
	}
	g.pass(3 * time.Minute)
	if n := len(g.leases()); n != 2 {
		t.Errorf("%d leases in the end, want 2", n)
	}
}

// A lease that was deleted, made again, and taken by another worker may have come to the very counter that its old owner
// knows: he sees by the name that it is not his. (Simulator, seed 100109.)
func TestLeaseMadeAgainForAnother(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a, b := g.join("a"), g.join("b")
	g.pass(5 * time.Second)
	shard := "shard-0"
	if g.lease(shard).Owner != "a" {
		shard = "shard-1"
	}
	g.ack(a, shard, "10")
	g.pass(40 * time.Second) // nobody has read the leases for half a minute
	was := g.counter(shard)
	a.cut, b.cut = true, true // for so long that both are suspended, and nobody fences the other
	g.pass(7 * time.Second)
	g.remove(shard)
	g.makeAgain(shard, "b")
	b.cut = false
	g.pass(3 * time.Second)
	a.cut = false
	g.pass(3 * time.Second)
	if g.counter(shard) != was || g.lease(shard).Owner != "b" {
		t.Fatalf("not the case that is meant: counter %d was %d, %+v", g.counter(shard), was, g.lease(shard))
	}
	g.pass(2 * time.Minute)
	if _, open := a.open[shard]; open || !g.reported("a: lost "+shard) {
		t.Errorf("a still reads what is b's: %+v", g.lease(shard))
	}
}

// All leases are deleted by hand when the last audit had already missed one of them: the others are not made again before two audits
// have missed them, too. Until then their owners may not know.
func TestAllLeasesDeletedAfterOneWasMissed(t *testing.T) {
	g := newGroup(t, shards(4)...)
	g.join("a")
	b := g.join("b")
	g.pass(58 * time.Second)
	g.remove("shard-0")
	g.pass(60 * time.Second)
	for shard := range b.open {
		g.ack(b, shard, "9") // so b sees its leases now, and takes a read that lacks them for a stale one
	}
	g.pass(3500 * time.Millisecond) // a's audit misses shard-0
	for _, it := range g.leases() {
		g.remove(it.Key.Shard)
	}
	g.pass(80 * time.Second) // a's next audit misses all
	if n := len(g.leases()); n != 0 {
		t.Errorf("%d leases were made again after one audit", n)
	}
	g.pass(3 * time.Minute)
	if n := len(g.leases()); n != 4 {
		t.Errorf("%d leases in the end, want 4", n)
	}
}
