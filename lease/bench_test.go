package lease

import (
	"fmt"
	"testing"
	"time"
)

// crowd is a group of 10,000 leases and 200 workers, and the first of these.
type crowd struct {
	m       *Member
	now     Time
	ids     []string
	members []Item
	leases  []Item
}

// newCrowd makes a member that knows its group; owner tells whose each lease is.
func newCrowd(b *testing.B, owner func(lease int, ids []string) string) *crowd {
	c := &crowd{}
	for i := range 200 {
		c.ids = append(c.ids, fmt.Sprintf("billing-7d4b9c8f6d-%05x/1@%08x", i*104729, i*15485863))
	}
	created := time.UnixMilli(1_700_000_000_000)
	c.members = []Item{{Key: ControlKey(), Counter: 9, Control: Control{
		Version: ControlVersion, Streams: []StreamRecord{{Name: "orders", ARN: "arn", Created: created, Ready: true}},
	}}}
	for _, id := range c.ids {
		c.members = append(c.members, Item{Key: WorkerKey(id), Worker: Worker{State: Alive, Streams: []string{"orders"}}})
	}
	position, err := AfterSequence("49640000000000000000000000000000000000000000000000000002", 0)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		c.leases = append(c.leases, Item{Key: LeaseKey("orders", fmt.Sprintf("shardId-%012d", i)), Counter: 3, Lease: Lease{
			Owner: owner(i, c.ids), Checkpoint: position, Root: true,
			HashRange: HashRange{Start: "170141183460469231731687303715884105728", End: "340282366920938463463374607431768211455"},
		}})
	}
	c.m = NewMember(MemberConfig{
		ID: c.ids[0], Stream: "orders", ARN: "arn", Created: created,
		Failover: 6 * time.Second, Heartbeat: 2 * time.Second, Watch: time.Second, Relist: time.Minute, Checkpoint: 5 * time.Second,
	})
	c.step(1, Tick{})
	c.step(0, Written{Key: WorkerKey(c.ids[0]), Outcome: Landed, Item: c.members[1], Found: true})
	c.read()
	c.step(2*time.Second, Tick{})
	c.read()
	return c
}

func (c *crowd) step(d time.Duration, ev Event) []Action {
	c.now = c.now.Add(d)
	return c.m.Step(c.now, ev)
}

// read answers reads, and what the member takes.
func (c *crowd) read() {
	events := []Event{MembersRead{Items: c.members, Consistent: true}, LeasesRead{Items: c.leases}}
	for len(events) > 0 {
		for _, a := range c.step(0, events[0]) {
			if w, ok := a.(WriteItem); ok {
				events = append(events, Written{Key: w.Write.Item.Key, Outcome: Landed, Item: w.Write.Item, Found: true})
			}
		}
		events = events[1:]
	}
}

func evenly(lease int, ids []string) string { return ids[lease%len(ids)] }
func free(int, []string) string             { return "" }

// BenchmarkPlan is a member's look at all leases and workers, and what follows for it.
func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		name  string
		owner func(lease int, ids []string) string
	}{
		{"free", free},
		{"rest", evenly},
		{"crash", func(i int, ids []string) string {
			if i%len(ids) == 7 {
				return ""
			}
			return evenly(i, ids)
		}},
		{"join", func(i int, ids []string) string { return evenly(i, ids[:len(ids)-1]) }},
		{"all join one", func(_ int, ids []string) string { return ids[1] }},
	} {
		b.Run(c.name, func(b *testing.B) {
			group := newCrowd(b, c.owner)
			if c.name == "free" { // as it was before the member took its own
				group.m.held, group.m.heldOrder = map[string]*holding{}, nil
				for _, v := range group.m.view {
					v.item.Lease.Owner = ""
				}
			}
			group.m.changedAt = 0 // so that balance is due
			b.ReportAllocs()
			for b.Loop() {
				group.m.stale, group.m.planned = true, 0
				group.m.take()
			}
			if group.m.stale {
				b.Fatal("no plan was made")
			}
		})
	}
}

// BenchmarkStep is what one event costs a member of a large group at rest.
func BenchmarkStep(b *testing.B) {
	group := newCrowd(b, evenly)
	if len(group.m.held) != len(group.leases)/len(group.ids) {
		b.Fatalf("the member holds %d leases", len(group.m.held))
	}
	for _, ev := range []Event{Tick{}, MembersRead{Items: group.members}, LeasesRead{Items: group.leases}} {
		b.Run(fmt.Sprintf("%T", ev), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				group.m.membersAsked, group.m.leasesAsked = true, true
				group.m.Step(group.now, ev)
			}
		})
	}
}
