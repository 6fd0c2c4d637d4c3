package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/memory"
)

// group drives members on one memory store and a scripted stream, on virtual time: every action is
// answered at once. The simulator does the same with latency and faults; these tests say in a few
// lines what each rule means.
type group struct {
	t       testing.TB
	store   *memory.Store
	now     lease.Time
	shards  []lease.Shard
	workers []*worker
	reports []string
	bad     []*lease.ItemError // leases that cannot be read
	denied  string             // the worker whose listings fail

	told   func(who, format string, args ...any) // hears of all that happens, if set
	clones bool                                  // every step is checked against a clone
}

type worker struct {
	id     string
	member *lease.Member
	open   map[string]lease.Open
	acked  map[string]lease.Position
	done   bool
	err    error
	listed int

	away   bool          // crashed or suspended: nothing reaches it
	cut    bool          // its writes get no answer, and do not happen; its reads fail at once
	lose   lease.Kind    // the answer to its next write to an item of this kind is lost; KindWorker is its heartbeat
	late   []lease.Event // if set: answers to its writes of leases, which come later
	slow   bool          // its handlers do not end
	drains []lease.Drain // unanswered, because of that
	stale  []lease.Item  // what its reads of the leases show, if set
}

var created = time.UnixMilli(1_700_000_000_000)

func newGroup(t testing.TB, shards ...lease.Shard) *group {
	return &group{t: t, store: memory.New(), shards: shards, now: 1}
}

func (g *group) tell(who, format string, args ...any) {
	if g.told != nil {
		g.told(who, format, args...)
	}
}

func config(id string) lease.MemberConfig {
	return lease.MemberConfig{
		ID: id, Stream: "orders", ARN: "arn", Created: created,
		Failover: 6 * time.Second, Heartbeat: 2 * time.Second, Watch: time.Second,
		Relist: time.Minute, Checkpoint: 5 * time.Second,
	}
}

func (g *group) join(id string, change ...func(*lease.MemberConfig)) *worker {
	cfg := config(id)
	for _, f := range change {
		f(&cfg)
	}
	w := &worker{id: id, member: lease.NewMember(cfg), open: map[string]lease.Open{}, acked: map[string]lease.Position{}}
	g.workers = append(g.workers, w)
	g.step(w, lease.Tick{})
	return w
}

// step tells a worker an event and carries out what follows from it.
func (g *group) step(w *worker, ev lease.Event) {
	g.t.Helper()
	events := []lease.Event{ev}
	for n := 0; len(events) > 0; n++ {
		if n > 1000 {
			g.t.Fatalf("%s does not come to rest", w.id)
		}
		ev, events = events[0], events[1:]
		var check func([]lease.Action)
		if g.clones {
			check = g.cloneSteps(w, ev)
		}
		actions := w.member.Step(g.now, ev)
		if check != nil {
			check(actions)
		}
		for _, action := range actions {
			if answer := g.do(w, action); answer != nil {
				events = append(events, answer)
			}
		}
	}
}

// do carries out an action; it returns the answer to it, or nil.
func (g *group) do(w *worker, action lease.Action) lease.Event {
	switch a := action.(type) {
	case lease.ReadMembers:
		items, err := g.store.Members(context.Background(), "g", a.Consistent)
		if w.cut {
			err = errors.New("cut off")
		}
		return lease.MembersRead{Items: items, Consistent: a.Consistent, Err: err}
	case lease.ReadLeases:
		if w.cut {
			return lease.LeasesRead{Err: errors.New("cut off")}
		}
		g.tell(w.id, "reads the leases")
		if w.stale != nil {
			return lease.LeasesRead{Items: w.stale}
		}
		return lease.LeasesRead{Items: g.leases(), Bad: g.bad}
	case lease.ListShards:
		g.tell(w.id, "lists the shards")
		w.listed++
		if w.id == g.denied {
			return lease.Listed{Err: errors.New("denied")}
		}
		return lease.Listed{Shards: slices.Clone(g.shards)}
	case lease.WriteItem:
		return g.write(w, a.Write)
	case lease.Open:
		g.tell(w.id, "opens %s after %v, token %d", a.Shard, a.Position, a.Token)
		for _, other := range g.workers {
			if _, open := other.open[a.Shard]; open && other.member.Deadline() > g.now {
				g.t.Errorf("S1: %s is open at %s, and %s opens it", a.Shard, other.id, w.id)
			}
		}
		w.open[a.Shard] = a
	case lease.Drain:
		g.tell(w.id, "drains %s", a.Shard)
		if w.slow {
			w.drains = append(w.drains, a)
			return nil
		}
		return w.drained(a)
	case lease.Close:
		g.tell(w.id, "closes %s: %v", a.Shard, a.Reason)
		delete(w.open, a.Shard)
		delete(w.acked, a.Shard)
	case lease.Report:
		g.reports = append(g.reports, fmt.Sprintf("%s: %s %s", w.id, a.Kind, a.Shard))
		g.tell(w.id, "reports %s", reportText(a))
	case lease.Done:
		g.tell(w.id, "is done: %v", a.Err)
		w.done, w.err = true, a.Err
	}
	return nil
}

func (w *worker) drained(a lease.Drain) lease.Event {
	return lease.Drained{Shard: a.Shard, Token: a.Token, Position: w.acked[a.Shard]}
}

func (g *group) write(w *worker, wr lease.Write) lease.Event {
	key := wr.Item.Key
	if w.cut {
		g.tell(w.id, "%s -- not answered", writeText(wr, lease.Item{}))
		return lease.Written{Key: key, Outcome: lease.Unknown, Err: errors.New("cut off")}
	}
	old, _ := g.store.Get(context.Background(), "g", key)
	text := writeText(wr, old)
	item, err := g.store.Write(context.Background(), "g", wr)
	var conflict *lease.ConflictError
	if errors.As(err, &conflict) {
		g.tell(w.id, "%s -- refused, %s", text, conflictText(wr, conflict))
		return lease.Written{Key: key, Outcome: lease.Conflict, Item: conflict.Item, Found: conflict.Found}
	}
	if err != nil {
		g.t.Fatal(err)
	}
	if w.lose == key.Kind && (key.Kind != lease.KindWorker || key.Worker == w.id) {
		w.lose = 0
		g.tell(w.id, "%s -- the answer is lost", text)
		return lease.Written{Key: key, Outcome: lease.Unknown, Err: errors.New("lost")}
	}
	g.tell(w.id, "%s", text)
	written := lease.Written{Key: key, Outcome: lease.Landed, Item: item, Found: true}
	if w.late != nil && key.Kind == lease.KindLease {
		w.late = append(w.late, written)
		return nil
	}
	return written
}

func (g *group) leases() []lease.Item {
	items := []lease.Item{}
	for item, err := range g.store.Leases(context.Background(), "g", "orders") {
		if err != nil {
			g.t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

func (g *group) item(key lease.Key) lease.Item {
	g.t.Helper()
	item, err := g.store.Get(context.Background(), "g", key)
	if err != nil {
		g.t.Fatal(err)
	}
	return item
}

func (g *group) lease(shard string) lease.Lease {
	g.t.Helper()
	return g.item(lease.LeaseKey("orders", shard)).Lease
}

func (g *group) counter(shard string) int64 {
	g.t.Helper()
	return g.item(lease.LeaseKey("orders", shard)).Counter
}

// tool writes as a tool of operators does, and wants success.
func (g *group) tool(w lease.Write, err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	old, _ := g.store.Get(context.Background(), "g", w.Item.Key)
	g.tell("tool", "%s", writeText(w, old))
	if _, err := g.store.Write(context.Background(), "g", w); err != nil {
		g.t.Fatal(err)
	}
}

// hold puts a hold on a shard's lease, or removes it, and tells the workers.
func (g *group) hold(shard string, h lease.Hold) {
	g.t.Helper()
	g.tool(lease.PutHold(g.item(lease.LeaseKey("orders", shard)), h), nil)
	g.tool(lease.Announce(g.item(lease.ControlKey())), nil)
}

// touch writes a lease by hand, under its owner's feet.
func (g *group) touch(shard string, change func(*lease.Lease)) {
	g.t.Helper()
	item := g.item(lease.LeaseKey("orders", shard))
	next := item
	next.Counter++
	change(&next.Lease)
	g.tool(lease.Write{Op: lease.Update, Item: next, Counter: item.Counter, Owner: item.Lease.Owner}, nil)
}

// pass lets time go by for all workers but the stopped ones.
func (g *group) pass(d time.Duration, stopped ...*worker) {
	g.t.Helper()
	absent := func(w *worker) bool { return w.done || w.away || slices.Contains(stopped, w) }
	for end := g.now.Add(d); ; {
		next := end
		for _, w := range g.workers {
			if !absent(w) {
				next = min(next, w.member.Wake())
			}
		}
		if next == g.now && next != end {
			next++
		}
		g.now = max(g.now, next)
		for _, w := range g.workers {
			if !absent(w) && w.member.Wake() <= g.now {
				g.step(w, lease.Tick{})
			}
		}
		if g.now >= end {
			return
		}
	}
}

func (g *group) ack(w *worker, shard, sequence string) {
	g.t.Helper()
	w.acked[shard] = after(g.t, sequence)
	g.step(w, lease.Acked{Shard: shard, Token: w.open[shard].Token, Position: w.acked[shard]})
}

func after(t testing.TB, sequence string) lease.Position {
	t.Helper()
	p, err := lease.AfterSequence(sequence, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shards(n int) []lease.Shard {
	var list []lease.Shard
	for i := range n {
		list = append(list, lease.Shard{ID: fmt.Sprintf("shard-%d", i)})
	}
	return list
}

func (g *group) reported(want string) bool { return slices.Contains(g.reports, want) }
