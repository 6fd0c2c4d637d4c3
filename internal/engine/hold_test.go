package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/memory"
)

// A hold drains the shard while its handler runs, Stats says why, the checkpoint holds what the handler did; and
// when the hold is removed the shard is read on from where a tool has moved it.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		shard := "shardId-000000000000"
		key := lease.LeaseKey("orders", shard)
		store := memory.New()
		var mu sync.Mutex
		var kinds []lease.ReportKind
		var starts []lease.Position
		e := New(Config{
			Group: "billing", Worker: "anna", Stream: fetch.StreamInfo{Stream: fetch.Stream{Name: "orders"}, Created: began},
			Store: store,
			List: func(context.Context, *lease.Position) ([]lease.Shard, error) {
				return []lease.Shard{{ID: shard, HashRange: lease.HashRange{Start: "0", End: "340282366920938463463374607431768211455"}}}, nil
			},
			Read: func(_ string, start lease.Position, _ int64, _ fetch.Credit, _ func(fetch.Notice)) Reader {
				mu.Lock()
				defer mu.Unlock()
				starts = append(starts, start)
				if len(starts) > 1 {
					return &script{}
				}
				return &script{answers: []answer{{batch: fetch.Batch{Records: []record.Record{{Shard: shard, SequenceNumber: "7"}}}}}}
			},
			Verify: func(context.Context) error { return nil },
			Handler: func(Shard) Handler {
				return Handler{Handle: func(context.Context, []record.Record) error { time.Sleep(10 * time.Second); return nil }}
			},
			Budget:             dispatch.NewBudget(1 << 20),
			CheckpointInterval: time.Second, FailoverTime: 6 * time.Second, DrainTimeout: 20 * time.Second,
			Event: func(ev Event) { mu.Lock(); kinds = append(kinds, ev.Kind); mu.Unlock() },
			Clock: func() lease.Time { return lease.Time(time.Hour).Add(time.Since(began)) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()

		stands := func(key lease.Key) lease.Item {
			item, err := store.Get(ctx, "billing", key)
			if err != nil {
				t.Fatal(err)
			}
			return item
		}
		write := func(w lease.Write, err error) {
			if _, failed := store.Write(ctx, "billing", w); err != nil || failed != nil {
				t.Fatal(err, failed)
			}
		}
		time.Sleep(5 * time.Second) // the handler runs
		write(lease.PutHold(stands(key), lease.Hold{ID: "t1", Reason: "berta: replay", For: time.Minute}), nil)
		write(lease.Announce(stands(lease.ControlKey())), nil)
		time.Sleep(3 * time.Second)
		if s := e.Stats(); len(s.Shards) != 1 || !strings.HasPrefix(s.Shards[0].Why, "giving the shard back, on hold: berta: replay (for up to 1m0s); handler running for") {
			t.Errorf("%+v; want that it says why it gives the shard back", s.Shards)
		}
		time.Sleep(10 * time.Second)
		seven, _ := lease.AfterSequence("7", 0)
		if l := stands(key).Lease; l.Owner != "" || l.Checkpoint != seven || len(e.Stats().Shards) != 0 {
			t.Errorf("%+v; want it free, at 7", l)
		}
		three, _ := lease.AfterSequence("3", 0)
		write(lease.Seek(stands(key), "t1", three))
		write(lease.PutHold(stands(key), lease.Hold{}), nil)
		write(lease.Announce(stands(lease.ControlKey())), nil)
		time.Sleep(3 * time.Second)
		if s := e.Stats(); len(s.Shards) != 1 || s.Shards[0].Why != "reading the script" {
			t.Errorf("%+v; want that it is read again", s.Shards)
		}
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if !slices.Equal(starts, []lease.Position{{}, three}) {
			t.Errorf("read from %v, want from the horizon and after 3", starts)
		}
		want := []lease.ReportKind{lease.OnHold, lease.Released, lease.HoldEnded, lease.Took}
		for _, k := range kinds {
			if len(want) > 0 && k == want[0] {
				want = want[1:]
			}
		}
		if len(want) > 0 {
			t.Errorf("events %v: %v are missing, or out of order", kinds, want)
		}
	})
}
