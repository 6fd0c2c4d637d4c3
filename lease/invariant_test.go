package lease

import (
	"errors"
	"testing"
	"time"
)

// soundMember holds shard x, at counter 3 and sequence number 50, and sees y, which b has.
func soundMember(t *testing.T) *Member {
	t.Helper()
	m := NewMember(MemberConfig{ID: "a", Stream: "orders", Failover: 6 * time.Second, Watch: time.Second, Relist: time.Minute})
	m.phase, m.deadline = active, Time(time.Hour)
	m.peers["b"] = &peer{item: Item{Key: WorkerKey("b"), Worker: Worker{State: Alive, Streams: []string{"orders"}}}}
	x := Item{Key: LeaseKey("orders", "x"), Counter: 3, Lease: Lease{Owner: "a", Checkpoint: sequence(t, "50")}}
	y := Item{Key: LeaseKey("orders", "y"), Counter: 3, Lease: Lease{Owner: "b", Checkpoint: sequence(t, "50")}}
	m.know(x)
	m.know(y)
	m.held["x"] = &holding{item: x, token: 3, acked: x.Lease.Checkpoint, opened: true}
	return m
}

func sequence(t *testing.T, digits string) Position {
	t.Helper()
	p, err := AfterSequence(digits, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever bug wants it: no write leaves that takes a checkpoint back, skips the counter, or takes a lease from a live
// worker. Its shard stops; it says which invariant that was.
func TestNoUnsoundWriteIsSent(t *testing.T) {
	t.Parallel()
	to := func(digits string) func(*testing.T, *Write) {
		return func(t *testing.T, w *Write) { w.Item.Lease.Checkpoint = sequence(t, digits) }
	}
	for name, test := range map[string]struct {
		shard   string
		purpose purpose
		change  func(*testing.T, *Write)
		want    string
	}{
		"forward":               {"x", forCheckpoint, to("51"), ""},
		"to its end":            {"x", forFinish, func(_ *testing.T, w *Write) { w.Item.Lease.Checkpoint = ShardEnd() }, ""},
		"released as it stands": {"x", forRelease, func(_ *testing.T, w *Write) { w.Item.Lease.Owner = "" }, ""},
		"back":                  {"x", forCheckpoint, to("49"), "S2 monotone"},
		"back to the start":     {"x", forRelease, func(_ *testing.T, w *Write) { w.Item.Lease.Checkpoint = TrimHorizon() }, "S2 monotone"},
		"by who has it not":     {"y", forRelease, to("51"), "S2 monotone"},
		"counter skipped":       {"x", forCheckpoint, func(_ *testing.T, w *Write) { w.Item.Counter++ }, "S5 counter"},
		"another's counter":     {"x", forCheckpoint, func(_ *testing.T, w *Write) { w.Counter, w.Item.Counter = 8, 9 }, "S5 counter"},
		"another's lease":       {"x", forCheckpoint, func(_ *testing.T, w *Write) { w.Owner = "b" }, "S5 counter"},
		"from a live worker":    {"y", forTake, func(_ *testing.T, w *Write) { w.Item.Lease.Owner = "a" }, "S5 counter"},
		"a second time":         {"x", forTake, func(_ *testing.T, w *Write) {}, "S1 owner"},
	} {
		t.Run(name, func(t *testing.T) {
			m := soundMember(t)
			w := update(m.view[test.shard].item, m.view[test.shard].item)
			test.change(t, &w)
			sent := m.start(test.purpose, w)
			if sent != (test.want == "") || sent != (m.writes[w.Item.Key] != nil) {
				t.Fatalf("sent: %v, reports %v", sent, m.out)
			}
			if test.want != "" {
				wantHalted(t, m, m.out, test.shard, test.want)
			}
		})
	}
}

// wantHalted wants that the shard was given up, and why.
func wantHalted(t *testing.T, m *Member, actions []Action, shard, invariant string) {
	t.Helper()
	var broken *InvariantError
	closed := shard != "x" // which is held
	for _, a := range actions {
		switch a := a.(type) {
		case Close:
			closed = a.Shard == shard && a.Reason == CloseLost
		case Report:
			if a.Kind == InvariantBroken && a.Shard == shard && !errors.As(a.Err, &broken) {
				t.Errorf("reported with %v", a.Err)
			}
		}
	}
	if broken == nil || broken.Invariant != invariant || !closed || m.held[shard] != nil {
		t.Errorf("broken %v, closed %v, held %v; want %s", broken, closed, m.held[shard], invariant)
	}
}

// A store whose answer to a write is not what was written.
func TestStoreThatWritesAnotherThing(t *testing.T) {
	t.Parallel()
	m := soundMember(t)
	w := update(m.held["x"].item, m.held["x"].item)
	w.Item.Lease.Checkpoint = sequence(t, "60")
	m.start(forCheckpoint, w)
	m.writes[w.Item.Key].inFlight = true
	answer := w.Item
	answer.Lease.Checkpoint = sequence(t, "61")
	m.onWritten(Written{Key: w.Item.Key, Outcome: Landed, Item: answer, Found: true})
	wantHalted(t, m, m.out, "x", "S5 counter")
}
