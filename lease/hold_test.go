package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// A read that is older than what was seen neither puts a removed hold back nor lifts a new one.
func TestHoldAndStaleReads(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	before := g.leases()
	g.hold("shard-0", lease.Hold{ID: "t1", Reason: "anna", For: time.Hour})
	held := g.leases() // as the owner has it, on hold
	g.pass(2 * time.Second)
	if len(a.open) != 0 || g.lease("shard-0").Hold.ID != "t1" {
		t.Fatalf("open %v, lease %+v; want it released, with its hold", a.open, g.lease("shard-0"))
	}
	a.stale = before
	g.pass(5 * time.Minute)
	if len(a.open) != 0 {
		t.Fatal("a stale read without the hold lifted it")
	}
	a.stale = nil
	g.hold("shard-0", lease.Hold{})
	g.pass(2 * time.Second)
	if len(a.open) != 1 {
		t.Fatal("the hold was removed, and the shard is not read")
	}
	a.stale = held
	g.pass(5 * time.Minute)
	if len(a.open) != 1 {
		t.Fatal("a stale read put the hold back")
	}
}

// A tool that crashes before it has told the workers is heard of within a minute; its hold ends all the same, and
// each worker that restarts meanwhile does not begin the count again.
func TestHoldOfCrashedTool(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	g.tool(lease.PutHold(g.item(lease.LeaseKey("orders", "shard-0")), lease.Hold{ID: "t1", For: 10 * time.Minute}), nil)
	g.pass(time.Minute)
	if len(a.open) != 1 {
		t.Fatalf("open %v, want that the hold was seen", a.open)
	}
	for i := range 30 {
		b := g.join("b" + string(rune('A'+i)))
		g.pass(15 * time.Second)
		g.step(b, lease.Stop{})
		g.pass(5 * time.Second)
	}
	g.pass(time.Minute)
	if len(a.open) != 2 || g.lease("shard-0").Hold.ID != "" {
		t.Errorf("open %v, lease %+v; want that the hold is over", a.open, g.lease("shard-0"))
	}
}

// The answer to the owner's write, which is from before the hold, comes after the read that showed the hold.
func TestHoldAndLateAnswer(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	a.late = []lease.Event{}
	g.ack(a, "shard-0", "50")
	g.pass(3 * time.Second) // the checkpoint is written
	g.hold("shard-0", lease.Hold{ID: "t1", For: time.Hour})
	g.pass(5 * time.Second)
	late := a.late
	a.late = nil
	for _, ev := range late {
		g.step(a, ev)
	}
	if len(late) != 1 || len(a.open) != 0 || g.lease("shard-0").Owner != "" {
		t.Errorf("%d late answers, open %v, lease %+v; want it released at once", len(late), a.open, g.lease("shard-0"))
	}
}

// A lease that was deleted and made again has no hold. Who still remembers one learns it when it is to end.
func TestHoldOfLeaseMadeAgain(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	g.hold("shard-0", lease.Hold{ID: "t1", For: time.Minute})
	g.pass(10 * time.Second)
	item := g.item(lease.LeaseKey("orders", "shard-0"))
	g.tool(lease.Write{Op: lease.Delete, Item: lease.Item{Key: item.Key}, Counter: item.Counter}, nil)
	again := item
	again.Counter = 0
	g.tool(lease.Write{Op: lease.Create, Item: again}, nil)
	for range item.Counter {
		g.touch("shard-0", func(*lease.Lease) {})
	}
	g.pass(2 * time.Minute)
	if len(a.open) != 1 {
		t.Errorf("open %v, want the shard", a.open)
	}
}

// A lease on hold that goes away while its owner drains ends the epoch, whichever write finds it out.
func TestHeldLeaseIsDeleted(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	a.slow = true
	g.hold("shard-0", lease.Hold{ID: "t1", For: 10 * time.Second})
	g.pass(5 * time.Second)
	item := g.item(lease.LeaseKey("orders", "shard-0"))
	g.tool(lease.Write{Op: lease.Delete, Item: lease.Item{Key: item.Key}, Counter: item.Counter, Owner: "a"}, nil)
	g.pass(10 * time.Second) // the hold runs out, and its removal finds no lease
	if len(a.open) != 0 {
		t.Error("a shard without a lease is read")
	}
}

// What a worker takes in hand beside a lease on hold: it keeps its bound while it drains, and asks nobody for it.
func TestHoldAndMaxShards(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(3)...)
	a := g.join("a", func(c *lease.MemberConfig) { c.MaxShards = 2 })
	g.pass(5 * time.Second)
	a.slow = true
	var held string
	for shard := range a.open {
		held = shard
	}
	g.hold(held, lease.Hold{ID: "t1", For: time.Hour})
	g.pass(10 * time.Second)
	if len(a.open) != 2 {
		t.Fatalf("%d shards are open while one of them drains, want no third one", len(a.open))
	}
	drains := a.drains
	a.slow = false
	for _, d := range drains {
		g.step(a, a.drained(d))
	}
	g.pass(10 * time.Second)
	if _, open := a.open[held]; open || len(a.open) != 2 {
		t.Errorf("open %v, want the two that are not on hold", a.open)
	}
}

func TestSeek(t *testing.T) {
	t.Parallel()
	begun := lease.Lease{Checkpoint: after(t, "50"), OwnerSwitches: 3, Parents: []string{"s0"}, Hold: lease.Hold{Version: 4, ID: "t1", For: time.Minute}}
	past := lease.AtTimestamp(created)
	cases := []struct {
		change func(*lease.Lease)
		to     lease.Position
		want   string // part of the error; "" is none
	}{
		{nil, after(t, "7"), ""},
		{nil, after(t, "70"), ""},
		{nil, past, ""},
		{nil, lease.TrimHorizon(), ""},
		{nil, lease.Latest(), "want a sequence number"},
		{nil, lease.ShardEnd(), "want a sequence number"},
		{func(l *lease.Lease) { l.Hold.ID = "t2" }, past, `its hold is "t2"`},
		{func(l *lease.Lease) { l.Hold = lease.Hold{Version: 5} }, past, "put a hold on it first"},
		{func(l *lease.Lease) { l.Owner = "anna" }, past, "anna has it"},
		{func(l *lease.Lease) { l.Checkpoint = lease.ShardEnd() }, past, "finished"},
		{func(l *lease.Lease) { l.Checkpoint = lease.TrimHorizon() }, past, "wait for its parents"},
		{func(l *lease.Lease) { l.Checkpoint, l.Root = lease.TrimHorizon(), true }, past, ""},
	}
	for _, c := range cases {
		item := lease.Item{Key: lease.LeaseKey("orders", "s1"), Counter: 8, Lease: begun}
		if c.change != nil {
			c.change(&item.Lease)
		}
		w, err := lease.Seek(item, "t1", c.to)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("seek of %+v to %v: %v, want %q", item.Lease, c.to, err, c.want)
			}
			continue
		}
		got := w.Apply(item)
		want := item
		want.Counter, want.Lease.Checkpoint, want.Lease.OwnerSwitches = 9, c.to, 0
		want.Lease.Root = item.Lease.Root || !c.to.Begun()
		if err != nil || w.Check() != nil || !w.Applies(item, true) || !got.Equal(want) {
			t.Errorf("seek of %+v to %v: %v, gives\n\t%+v, want\n\t%+v", item.Lease, c.to, err, got, want)
		}
	}
}

// A child that is moved back to its horizon when its parents' leases are gone, but their records are still
// listed, is read from there, and its parents are not made again.
func TestSeekOfChildLeavesParentsPast(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(time.Second)
	child := lease.Shard{ID: "shard-1", Parents: []string{"shard-0"}}
	g.shards = append(g.shards, child)
	token := a.open["shard-0"].Token
	g.step(a, lease.Ended{Shard: "shard-0", Token: token, Children: []lease.Shard{child}})
	g.step(a, lease.Acked{Shard: "shard-0", Token: token, Position: lease.ShardEnd()})
	g.pass(time.Second)
	g.ack(a, "shard-1", "5")
	g.pass(5 * time.Minute)
	if n := len(g.leases()); n != 1 {
		t.Fatalf("%d leases, want the child's only", n)
	}
	g.hold("shard-1", lease.Hold{ID: "t1", For: time.Hour})
	g.pass(2 * time.Second)
	g.tool(lease.Seek(g.item(lease.LeaseKey("orders", "shard-1")), "t1", lease.TrimHorizon()))
	g.hold("shard-1", lease.Hold{})
	g.pass(5 * time.Minute)
	if o, open := a.open["shard-1"]; !open || o.Position != lease.TrimHorizon() || len(g.leases()) != 1 {
		t.Errorf("open %v, leases %v; want the child from its horizon, and nothing else", a.open, g.leases())
	}
}

// No worker is alive that would free the lease of one that is gone; a tool does it, and is refused while the owner may be at work.
func TestFree(t *testing.T) {
	t.Parallel()
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	key := lease.LeaseKey("orders", "shard-0")
	members := func() []lease.Item {
		items, err := g.store.Members(t.Context(), "g", true)
		if err != nil {
			t.Fatal(err)
		}
		return items
	}
	if w, err := lease.Free(g.item(key), members()); err == nil {
		t.Errorf("its owner lives, and the lease is freed: %+v", w)
	}
	if w, err := lease.Free(g.item(lease.WorkerKey("a")), members()); err == nil {
		t.Errorf("a worker is freed: %+v", w)
	}
	fence := g.item(lease.WorkerKey("a"))
	was := fence.Counter
	fence.Worker.State = lease.Fenced
	fence.Counter++
	g.tool(lease.Write{Op: lease.Update, Item: fence, Counter: was}, nil)
	g.tool(lease.Free(g.item(key), members()))
	if owner := g.lease("shard-0").Owner; owner != "" {
		t.Errorf("still %q's", owner)
	}
	g.pass(time.Minute)
	if !a.done {
		t.Error("the owner goes on")
	}
}
