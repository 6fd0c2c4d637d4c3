package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// A new group reads within a second, and workers that start together share the shards evenly.
func TestNewGroupSharesShards(t *testing.T) {
	g := newGroup(t, shards(7)...)
	a, b, c := g.join("a"), g.join("b"), g.join("c")
	g.pass(time.Second)
	for _, w := range []*worker{a, b, c} {
		if n := len(w.open); n < 2 || n > 3 {
			t.Errorf("%s has %d shards, want 2 or 3", w.id, n)
		}
	}
	if got := len(a.open) + len(b.open) + len(c.open); got != 7 {
		t.Errorf("%d shards are open, want 7", got)
	}
}

// The lowest-ranked worker makes the first leases; if it cannot, the others do so a minute later.
func TestFirstLeasesWithoutTheLowest(t *testing.T) {
	g := newGroup(t, shards(8)...)
	g.denied = "a"
	for _, id := range []string{"a", "b", "c", "d"} {
		g.join(id)
	}
	g.pass(59 * time.Second)
	if n := len(g.leases()); n != 0 {
		t.Errorf("%d leases were made, and the lowest-ranked worker cannot list", n)
	}
	g.pass(5 * time.Second)
	if least, most, all := g.spread(); least != 2 || most != 2 || all != 8 {
		t.Errorf("from %d to %d shards each, %d in all; want 2 each", least, most, all)
	}
}

// A crashed worker's shards all move, within the failover time and what watching costs; a live
// worker's do not.
func TestCrashMovesLeasesAfterFailoverTime(t *testing.T) {
	g := newGroup(t, shards(4)...)
	a, b := g.join("a"), g.join("b")
	g.pass(5 * time.Second)
	g.pass(5*time.Second, a)
	if len(b.open) != 2 {
		t.Fatalf("b has %d shards before the failover time is over, want 2", len(b.open))
	}
	g.pass(3*time.Second+200*time.Millisecond, a)
	if len(b.open) != 4 {
		t.Fatalf("b has %d shards after the failover time, want all 4", len(b.open))
	}
	// The crashed worker was only paused: it learns that it was fenced, and hands nothing out meanwhile.
	if a.member.Deadline() > g.now {
		t.Error("the paused worker believes in its leases")
	}
	g.pass(time.Second)
	if !a.done || !errors.Is(a.err, lease.ErrFenced) || len(a.open) != 0 {
		t.Errorf("paused worker: done %v, error %v, %d shards open; want fenced", a.done, a.err, len(a.open))
	}
}

// A worker that was silent, but not fenced, goes on where it was.
func TestSuspendedWorkerGoesOn(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(3 * time.Second)
	token := a.open["shard-0"].Token
	g.pass(time.Minute, a)
	if a.member.Deadline() > g.now {
		t.Fatal("believes in its lease after a minute of silence")
	}
	g.pass(time.Second)
	if a.member.Deadline() <= g.now || a.open["shard-0"].Token != token {
		t.Error("did not go on in the same epoch")
	}
}

// A store that nobody can reach fences nobody when it comes back.
func TestStoreOutageFencesNobody(t *testing.T) {
	g := newGroup(t, shards(4)...)
	a, b := g.join("a"), g.join("b")
	g.pass(5 * time.Second)
	a.cut, b.cut = true, true
	g.pass(30 * time.Second)
	a.cut, b.cut = false, false
	g.pass(10 * time.Second)
	if a.done || b.done || len(a.open) != 2 || len(b.open) != 2 {
		t.Errorf("after the outage a has %d, b %d shards (fenced: %v, %v); want 2 and 2", len(a.open), len(b.open), a.done, b.done)
	}
}

// While the store refuses every call at once it is asked at a pace, also when an audit is due.
func TestRefusingStoreIsAskedAtAPace(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(50 * time.Second)
	a.cut = true
	g.pass(10 * time.Minute) // else step would not come to rest
	a.cut = false
	g.pass(5 * time.Second)
	if a.done || len(a.open) != 1 {
		t.Errorf("done %v, open %v", a.done, a.open)
	}
}

// A clean stop releases with the last checkpoint; the others take over within two watches.
func TestCleanStopReleases(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a, b := g.join("a"), g.join("b")
	g.pass(5 * time.Second)
	for shard := range a.open {
		g.ack(a, shard, "77")
		defer func() {
			if got := b.open[shard].Position; got != after(t, "77") {
				t.Errorf("b goes on after %v, want 77", got)
			}
		}()
	}
	g.step(a, lease.Stop{})
	if !a.done || a.err != nil {
		t.Fatalf("a: done %v, %v", a.done, a.err)
	}
	g.pass(2 * time.Second)
	if len(b.open) != 2 {
		t.Errorf("b has %d shards, want 2", len(b.open))
	}
}

// A checkpoint is written at most once an interval, and not without progress.
func TestCheckpointInterval(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(time.Second)
	before := g.counter("shard-0")
	for i := range 20 {
		g.ack(a, "shard-0", fmt.Sprint(100+i))
		g.pass(time.Second)
	}
	if n := g.counter("shard-0") - before; n < 3 || n > 4 {
		t.Errorf("%d writes in 20 s of progress, want 3 or 4", n)
	}
	g.pass(5 * time.Second)
	before = g.counter("shard-0")
	g.pass(10 * time.Minute)
	if n := g.counter("shard-0") - before; n != 0 {
		t.Errorf("%d writes in 10 minutes without progress, want none", n)
	}
}

// H4, F15: a merged child waits for both parents, and a child's lease is there before its parent is
// marked finished.
func TestMergeChildWaitsForBothParents(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(time.Second)
	child := lease.Shard{ID: "shard-2", Parents: []string{"shard-0", "shard-1"}}
	g.shards = append(g.shards, child)
	end := func(shard string, children ...lease.Shard) {
		token := a.open[shard].Token
		g.step(a, lease.Ended{Shard: shard, Token: token, Children: children})
		g.step(a, lease.Acked{Shard: shard, Token: token, Position: lease.ShardEnd()})
		g.pass(time.Second)
	}
	end("shard-0", child)
	if !g.lease("shard-0").Checkpoint.IsShardEnd() || g.lease("shard-2").Owner != "" {
		t.Fatalf("parent %+v, child %+v", g.lease("shard-0"), g.lease("shard-2"))
	}
	g.pass(2 * time.Minute)
	if _, open := a.open["shard-2"]; open {
		t.Fatal("the child is read while one parent is not finished")
	}
	end("shard-1") // not told its children: the listing knows them
	if open, ok := a.open["shard-2"]; !ok || open.Position != lease.TrimHorizon() {
		t.Fatalf("child is not read from its horizon after both parents: %+v", a.open)
	}
	// When the child has begun, its parents' leases go.
	g.ack(a, "shard-2", "5")
	g.pass(5 * time.Minute)
	if n := len(g.leases()); n != 1 {
		t.Errorf("%d leases are left, want the child's only", n)
	}
	if a.open["shard-2"].Token == 0 {
		t.Error("the child's epoch ended")
	}
}

// H1, F16: a child starts at its horizon, also in a group that began at a point in time.
func TestChildOfTimestampGroupStartsAtHorizon(t *testing.T) {
	g := newGroup(t, shards(1)...)
	start := lease.AtTimestamp(created)
	a := g.join("a", func(c *lease.MemberConfig) { c.Start = start })
	g.pass(time.Second)
	if got := a.open["shard-0"].Position; got != start {
		t.Fatalf("root starts at %v, want %v", got, start)
	}
	token := a.open["shard-0"].Token
	child := lease.Shard{ID: "shard-1", Parents: []string{"shard-0"}}
	g.shards = append(g.shards, child)
	g.step(a, lease.Ended{Shard: "shard-0", Token: token, Children: []lease.Shard{child}})
	g.step(a, lease.Drained{Shard: "shard-0", Token: token, Position: lease.ShardEnd()})
	g.pass(time.Second)
	if got := a.open["shard-1"]; got.Token == 0 || got.Position != lease.TrimHorizon() {
		t.Fatalf("child: %+v, want it open at TRIM_HORIZON", got)
	}
}

// H12: LATEST is a point in time, the same one at every restart of an idle shard.
func TestStartIsKeptForIdleShards(t *testing.T) {
	g := newGroup(t, shards(1)...)
	at := func(ms int64) func(*lease.MemberConfig) {
		return func(c *lease.MemberConfig) { c.Start = lease.AtTimestamp(time.UnixMilli(ms)) }
	}
	first := g.join("a", at(1000))
	g.pass(10 * time.Second)
	g.step(first, lease.Stop{})
	second := g.join("b", at(2000))
	g.pass(10 * time.Second)
	if got, want := second.open["shard-0"].Position, lease.AtTimestamp(time.UnixMilli(1000)); got != want {
		t.Errorf("restarted at %v, want %v: %q", got, want, g.reports)
	}
}

// F13, H24: a stream recreated under its old name is a named error, and nothing is touched.
func TestRecreatedStream(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(time.Second)
	g.step(a, lease.Stop{})
	b := g.join("b", func(c *lease.MemberConfig) { c.Created = created.Add(time.Hour) })
	g.pass(5 * time.Second)
	if !b.done || !errors.Is(b.err, lease.ErrRecreated) || len(b.open) != 0 {
		t.Errorf("done %v, error %v, open %v", b.done, b.err, b.open)
	}
}

// "No such shard" is never the end of a shard: only a listing without it is, and then it is said.
func TestMissingShard(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(time.Second)
	g.step(a, lease.Missing{Shard: "shard-0", Token: a.open["shard-0"].Token})
	g.pass(2 * time.Minute)
	if g.lease("shard-0").Checkpoint.IsShardEnd() || g.reported("a: shard trimmed shard-0") {
		t.Fatal("a listed shard was finished")
	}
	g.shards = g.shards[1:]
	g.step(a, lease.Missing{Shard: "shard-0", Token: a.open["shard-0"].Token})
	g.pass(2 * time.Minute)
	if !g.reported("a: shard trimmed shard-0") || !g.reported("a: finished shard-0") {
		t.Errorf("reports %q", strings.Join(g.reports, "\n"))
	}
}

// A lease changed by hand under its owner's name: the epoch ends, and a new one begins from the item.
func TestForeignCounterEndsEpoch(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(time.Second)
	g.ack(a, "shard-0", "50")
	item, err := g.store.Get(context.Background(), "g", lease.LeaseKey("orders", "shard-0"))
	if err != nil {
		t.Fatal(err)
	}
	changed := item
	changed.Counter++
	changed.Lease.Checkpoint = after(t, "7")
	if _, err := g.store.Write(context.Background(), "g", lease.Write{
		Op: lease.Update, Item: changed, Counter: item.Counter, Owner: item.Lease.Owner,
	}); err != nil {
		t.Fatal(err)
	}
	old := a.open["shard-0"].Token
	g.pass(10 * time.Second)
	if o := a.open["shard-0"]; o.Token <= old || o.Position != after(t, "7") {
		t.Errorf("open %+v, want a new epoch after 7", o)
	}
}

// A worker never has more shards than it wants.
func TestMaxShards(t *testing.T) {
	g := newGroup(t, shards(5)...)
	two := func(c *lease.MemberConfig) { c.MaxShards = 2 }
	a, b := g.join("a", two), g.join("b", two)
	g.pass(10 * time.Second)
	if len(a.open) != 2 || len(b.open) != 2 {
		t.Errorf("a has %d, b %d shards; want 2 each", len(a.open), len(b.open))
	}
}

// All leases deleted by hand: the group begins again where it first began, with the shards that were open then.
func TestAllLeasesDeleted(t *testing.T) {
	g := newGroup(t, shards(2)...)
	start := lease.AtTimestamp(created)
	a := g.join("a", func(c *lease.MemberConfig) { c.Start = start })
	g.pass(5 * time.Second)
	for _, it := range g.leases() {
		if _, err := g.store.Write(t.Context(), "g", lease.Write{
			Op: lease.Delete, Item: lease.Item{Key: it.Key}, Counter: it.Counter, Owner: it.Lease.Owner,
		}); err != nil {
			t.Fatal(err)
		}
		g.ack(a, it.Key.Shard, "9")
	}
	g.pass(10 * time.Second)
	if len(a.open) != 0 {
		t.Fatal("a shard without a lease is read")
	}
	g.shards = append(g.shards[1:], lease.Shard{ID: "shard-2"}) // as a listing at the start shows now
	g.pass(5 * time.Minute)
	if len(g.leases()) != 2 || len(a.open) != 2 || a.open["shard-2"].Position != start {
		t.Errorf("leases %v, open %v; want shard-1 and shard-2 from the start", g.leases(), a.open)
	}
}

// F15: a lease that is not there proves nothing. A child whose parent's lease was deleted by hand waits, until the
// audit has made that lease again and the parent was handled to its end.
func TestAbsentParentBlocks(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(time.Second)
	g.shards = append(g.shards, lease.Shard{ID: "shard-1", Parents: []string{"shard-0"}})
	g.step(a, lease.Ended{Shard: "shard-0", Token: a.open["shard-0"].Token, Children: g.shards[1:]})
	g.pass(time.Second)
	parent := g.item(lease.LeaseKey("orders", "shard-0"))
	g.tool(lease.Write{Op: lease.Delete, Item: lease.Item{Key: parent.Key}, Counter: parent.Counter, Owner: parent.Lease.Owner}, nil)
	for range 10 * 60 {
		g.pass(time.Second)
		if child := a.open["shard-1"]; child.Token != 0 {
			t.Fatalf("the child is read while its parent is not finished: %+v", child)
		}
	}
	again, ok := a.open["shard-0"]
	if !ok {
		t.Fatal("the parent is not read again")
	}
	g.step(a, lease.Ended{Shard: "shard-0", Token: again.Token, Children: g.shards[1:]})
	g.step(a, lease.Acked{Shard: "shard-0", Token: again.Token, Position: lease.ShardEnd()})
	g.pass(time.Minute)
	if child := a.open["shard-1"]; child.Token == 0 || child.Position != lease.TrimHorizon() {
		t.Errorf("child %+v, want it open at TRIM_HORIZON", child)
	}
}

// A lease that cannot be read is told of, once, is not made again over what is there, and holds up no other.
func TestUnreadableLeaseHoldsUpNoOther(t *testing.T) {
	g := newGroup(t, shards(3)...)
	key := lease.LeaseKey("orders", "shard-9")
	g.bad = []*lease.ItemError{{Key: key.String(), Err: errors.New("corrupt")}}
	g.shards = append(g.shards, lease.Shard{ID: "shard-9"})
	a := g.join("a")
	g.pass(10 * time.Minute)
	told := 0
	for _, r := range g.reports {
		if r == "a: unreadable "+key.String() {
			told++
		}
	}
	if _, err := g.store.Get(context.Background(), "g", key); len(a.open) != 3 || told != 1 || !errors.Is(err, lease.ErrNotFound) {
		t.Errorf("%d shards are read, want 3; told %d times; the unreadable lease: %v", len(a.open), told, err)
	}
}

// A lease that cannot be read is left alone, and its shard with it, until somebody deletes it: then it is made again, as any that
// was deleted, by whoever had seen it bad, too. One that is bad again is told again.
func TestUnreadableLeaseIsDeleted(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	key := lease.LeaseKey("orders", "shard-1").String()
	bad := []*lease.ItemError{{Key: key, Err: errors.New("corrupt")}}
	g.remove("shard-1")
	g.bad = bad
	g.pass(10 * time.Minute)
	if _, open := a.open["shard-1"]; open || !g.reported("a: unreadable "+key) {
		t.Fatalf("open %v, reports %q", a.open, g.reports)
	}
	g.bad = nil
	g.pass(90 * time.Second)
	if _, open := a.open["shard-1"]; open {
		t.Fatal("made again by the first audit that missed it")
	}
	g.pass(3 * time.Minute)
	if _, open := a.open["shard-1"]; !open {
		t.Fatalf("never made again; reports %q", g.reports)
	}
	g.reports, g.bad = nil, bad
	g.pass(2 * time.Minute)
	if !g.reported("a: unreadable " + key) {
		t.Errorf("not told again; reports %q", g.reports)
	}
}

// After an outage a checkpoint is written as soon as a heartbeat is, though its own next try was to come seconds later.
func TestCheckpointAfterOutage(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(10 * time.Second)
	a.cut = true
	g.ack(a, "shard-0", "50")
	g.pass(3500 * time.Millisecond) // tries after 0, 0.2, 0.6, 1.4, 3.0, and then 6.2 s
	a.cut = false
	g.pass(500 * time.Millisecond)
	if at := g.lease("shard-0").Checkpoint; at != after(t, "50") {
		t.Errorf("the checkpoint is %v half a second after the store is back", at)
	}
}

// The last ack can come before the reader has told the end and its children. They count all the same, though no listing
// shows them yet.
func TestLastAckBeforeTheEnd(t *testing.T) {
	g := newGroup(t, shards(1)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	child := lease.Shard{ID: "shard-1", Parents: []string{"shard-0"}}
	token := a.open["shard-0"].Token
	g.step(a, lease.Acked{Shard: "shard-0", Token: token, Position: lease.ShardEnd()})
	g.step(a, lease.Ended{Shard: "shard-0", Token: token, Children: []lease.Shard{child}})
	g.pass(5 * time.Second)
	if at := g.lease("shard-0").Checkpoint; !at.IsShardEnd() || len(a.open) != 1 {
		t.Errorf("the checkpoint is %v, open %v; want the shard finished, and its child read", at, a.open)
	}
}

// A shard was handled to its end, and it and its children pass their retention before anybody has learned who these are: it
// is finished all the same, once the listing can be trusted. (Simulator, seed 402012.)
func TestChildrenNeverKnown(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a := g.join("a")
	g.pass(5 * time.Second)
	g.shards = []lease.Shard{{ID: "shard-1"}, {ID: "shard-9", Parents: []string{"shard-5"}}}
	token := a.open["shard-0"].Token
	g.step(a, lease.Acked{Shard: "shard-0", Token: token, Position: lease.ShardEnd()})
	g.pass(20 * time.Second)
	if at := g.lease("shard-0").Checkpoint; at.IsShardEnd() {
		t.Fatal("finished on a listing from before the shard was a minute old")
	}
	g.pass(5 * time.Minute)
	for _, item := range g.leases() {
		if item.Key.Shard == "shard-0" && !item.Lease.Checkpoint.IsShardEnd() {
			t.Errorf("still open: %+v", item.Lease)
		}
	}
}

// An outage of the store that lasts for longer than a quick worker's failover time gets it fenced by nobody, also not by one that
// has a long failover time and could go on through all of it.
func TestOutageAndFailoverTimesDiffer(t *testing.T) {
	for outage := 7 * time.Second; outage < 15*time.Second; outage += 50 * time.Millisecond {
		g := newGroup(t, shards(2)...)
		slow := g.join("slow", func(c *lease.MemberConfig) { c.Failover, c.Heartbeat = 30*time.Second, 10*time.Second })
		quick := g.join("quick")
		g.pass(60900 * time.Millisecond) // both have seen the other's last heartbeat
		slow.cut, quick.cut = true, true
		g.pass(outage)
		slow.cut, quick.cut = false, false
		g.pass(time.Minute)
		if g.reported("slow: peer fenced ") || g.reported("quick: fenced ") {
			t.Errorf("outage of %v: %q", outage, g.reports)
		}
	}
}

// A stream that shows no shards is one that is being made: the group does not take it for one without any.
func TestStreamWithoutShardsYet(t *testing.T) {
	g := newGroup(t)
	a := g.join("a")
	g.pass(10 * time.Second)
	g.shards = shards(2)
	g.pass(20 * time.Second)
	if len(a.open) != 2 {
		t.Errorf("%d shards are open 20 s after the stream has shown them", len(a.open))
	}
}

// Workers whose failover times differ, in a deploy that changes it for instance: each is judged by its own, so that none is
// fenced while it may still start handlers, or between two of its heartbeats.
func TestFailoverTimesDiffer(t *testing.T) {
	g := newGroup(t, shards(4)...)
	slow := g.join("slow", func(c *lease.MemberConfig) { c.Failover, c.Heartbeat = 30*time.Second, 10*time.Second })
	quick := g.join("quick")
	g.pass(5 * time.Minute)
	if g.reported("quick: fenced slow") || len(slow.open) != 2 || len(quick.open) != 2 {
		t.Fatalf("%d and %d shards are open; reports %q", len(slow.open), len(quick.open), g.reports)
	}
	slow.away = true // others begin when its own time is over: the group looks at that
	g.pass(35 * time.Second)
	if len(quick.open) != 4 {
		t.Errorf("%d shards are open after the failover time of the one that died", len(quick.open))
	}
	slow = g.join("again", func(c *lease.MemberConfig) { c.Failover, c.Heartbeat = 30*time.Second, 10*time.Second })
	g.pass(2 * time.Minute)
	quick.away = true
	g.pass(8 * time.Second)
	if len(slow.open) != 4 {
		t.Errorf("%d shards are open after the failover time of the one that died", len(slow.open))
	}
}

// A worker that runs for long does not keep those that came and went meanwhile, also if it is not the one that removes their
// items.
func TestPeersAreForgotten(t *testing.T) {
	g := newGroup(t, shards(2)...)
	a, z := g.join("a"), g.join("z")
	g.pass(time.Minute)
	size := func(w *worker) int { return len(w.member.AppendState(nil)) }
	before := [2]int{size(a), size(z)}
	for i := range 100 {
		w := g.join(fmt.Sprint("m", i))
		g.pass(5 * time.Second)
		g.step(w, lease.Stop{})
		g.pass(5 * time.Second)
		if !w.done {
			t.Fatal("it has not left")
		}
	}
	g.pass(15 * time.Minute)
	for i, w := range []*worker{a, z} {
		if now := size(w); now > before[i]+500 {
			t.Errorf("the state of %s takes %d bytes, and took %d", w.id, now, before[i])
		}
	}
}
