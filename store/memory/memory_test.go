package memory_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/lease/leasetest"
	"github.com/leatstream/leat/store/memory"
)

func TestStore(t *testing.T) {
	t.Parallel()
	leasetest.TestStore(t, func(t *testing.T) lease.Store { return memory.New() })
}

// The simulator replays a run by its seed: lists must come in the same order each time.
func TestListsAreSorted(t *testing.T) {
	t.Parallel()
	s, ctx := memory.New(), t.Context()
	for _, n := range []int{7, 3, 9, 1, 5, 8, 2} {
		for _, item := range []lease.Item{
			{Key: lease.LeaseKey("orders", strconv.Itoa(n))},
			{Key: lease.WorkerKey(strconv.Itoa(n)), Worker: lease.Worker{State: lease.Alive}},
		} {
			if _, err := s.Write(ctx, "g", lease.Write{Op: lease.Create, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range []string{"3", "9"} {
		for _, key := range []lease.Key{lease.LeaseKey("orders", n), lease.WorkerKey(n)} {
			if _, err := s.Write(ctx, "g", lease.Write{Op: lease.Delete, Item: lease.Item{Key: key}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var shards, workers string
	for item := range s.Leases(ctx, "g", "orders") {
		shards += item.Key.Shard
	}
	members, err := s.Members(ctx, "g", false)
	for _, item := range members {
		workers += item.Key.Worker
	}
	if want := "12578"; err != nil || shards != want || workers != want {
		t.Errorf("leases %s, members %s (%v), want %s of both", shards, workers, err, want)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	s := memory.New()
	first, _ := s.Open(t.Context(), true)
	again, _ := s.Open(t.Context(), false)
	other, _ := memory.New().Open(t.Context(), true)
	if first != again || first == other {
		t.Errorf("one store has the IDs %q and %q, another one %q", first.ID, again.ID, other.ID)
	}
}

func BenchmarkWrite(b *testing.B) {
	s, ctx := memory.New(), context.Background()
	item := lease.Item{Key: lease.LeaseKey("orders", "shardId-000000000000"), Lease: lease.Lease{Owner: "anna"}}
	if _, err := s.Write(ctx, "g", lease.Write{Op: lease.Create, Item: item}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		item.Counter++
		if _, err := s.Write(ctx, "g", lease.Write{Op: lease.Update, Item: item, Counter: item.Counter - 1, Owner: "anna"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s, ctx := memory.New(), context.Background()
	item := lease.Item{Key: lease.LeaseKey("orders", "shardId-000000000000")}
	if _, err := s.Write(ctx, "g", lease.Write{Op: lease.Create, Item: item}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(ctx, "g", item.Key); err != nil {
			b.Fatal(err)
		}
	}
}
