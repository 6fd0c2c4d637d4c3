package lease_test

import (
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// Somebody changes a checkpoint by hand, without the counter: the shard stops, and no other one. Nobody takes it while its owner
// lives. A hold frees it, and it goes on from what the lease says then.
func TestCheckpointChangedWithoutCounter(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	g.ack(a, "shard-0", "50")
	g.ack(a, "shard-1", "50")
	g.pass(6 * time.Second)

	changed := g.leases()
	for i := range changed {
		if changed[i].Key.Shard == "shard-0" {
			changed[i].Lease.Checkpoint = after(t, "40")
		}
	}
	a.stale = changed
	g.pass(2 * time.Minute)
	_, stopped := a.open["shard-0"]
	_, runs := a.open["shard-1"]
	if stopped || !runs || a.done || !g.reported("a: invariant broken shard-0") {
		t.Fatalf("open %v, done %v, reports %q; want that shard-0 stands still, and only that", a.open, a.done, g.reports)
	}
	a.stale = nil
	b := g.join("b")
	g.pass(2 * time.Minute)
	if _, took := b.open["shard-0"]; took || g.lease("shard-0").Owner != "a" {
		t.Fatalf("b has %v, the lease is %q's; want that nobody takes what may be wrong", b.open, g.lease("shard-0").Owner)
	}
	g.hold("shard-0", lease.Hold{ID: "t1", For: time.Minute})
	g.pass(10 * time.Second)
	if owner := g.lease("shard-0").Owner; owner != "" {
		t.Fatalf("on hold, and still %q's", owner)
	}
	g.hold("shard-0", lease.Hold{})
	g.pass(10 * time.Second)
	if len(a.open)+len(b.open) != 2 {
		t.Errorf("open %v and %v; want that it goes on", a.open, b.open)
	}
}

// A restart of the worker that stopped the shard frees it too.
func TestStoppedShardGoesOnAfterRestart(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	g.ack(a, "shard-0", "50")
	g.pass(6 * time.Second)
	changed := g.leases()
	changed[0].Lease.Checkpoint = after(t, "40")
	a.stale = changed
	g.pass(2 * time.Minute)
	if len(a.open) != 0 {
		t.Fatal("it still reads the shard")
	}
	g.step(a, lease.Stop{})
	b := g.join("b")
	g.pass(5 * time.Second)
	if !a.done || len(b.open) != 1 {
		t.Errorf("a done: %v, b has %v; want that b takes it", a.done, b.open)
	}
}
