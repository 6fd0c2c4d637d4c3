package leat

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// P5, P6: a worker that is gone is replaced within 8.5 s, and only what came after its last checkpoints is
// repeated.
func TestRunCrashTakeover(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 8)
		frozen := make(chan struct{})
		var dead atomic.Bool
		anna := r.start("anna", func(ctx context.Context, _ *Record) error {
			if dead.Load() { // a process that is gone handles nothing
				<-frozen
				return ctx.Err()
			}
			return nil
		})
		berta := r.start("berta", nil)
		elapse(10 * time.Second)
		r.fill(40, 13, time.Second)
		elapse(2 * time.Second)
		held := map[string]bool{}
		for _, s := range anna.Stats().Shards {
			held[s.Shard] = true
		}
		if len(held) == 0 {
			t.Fatal("anna has none of the shards")
		}
		dead.Store(true)
		anna.line.set(true)
		crash := time.Now()
		checkpoints := r.leases()
		after := map[string]int{} // calls after the last checkpoint, by shard
		for _, c := range r.log(byWorker("anna")) {
			if at, _ := lease.AfterSequence(c.sequence, 0); at.Compare(checkpoints[c.shard].Lease.Checkpoint) > 0 {
				after[c.shard]++
			}
		}
		r.fill(40, 20, 500*time.Millisecond)
		elapse(5 * time.Second)
		slowest := time.Duration(0)
		for shard := range held {
			calls := r.log(func(c call) bool { return c.shard == shard && c.worker == "berta" && !c.start.Before(crash) })
			if len(calls) == 0 {
				t.Fatalf("%s: nobody took it", shard)
			}
			slowest = max(slowest, calls[0].start.Sub(crash))
		}
		t.Logf("slowest shard after the crash: %v", slowest)
		if slowest > 8500*time.Millisecond {
			t.Errorf("taken over after %v", slowest)
		}
		close(frozen)
		dead.Store(false)
		anna.cancel()
		<-anna.done // it is cut off: it cannot give back what it has lost
		r.must(berta.stop())
		// Of what anna ran before the crash only what came after the checkpoints may be berta's again.
		times, repeated := map[string]int{}, map[string]int{}
		for _, c := range r.log(func(c call) bool { return c.start.Before(crash) || c.worker == "berta" }) {
			if times[c.sequence]++; times[c.sequence] > 1 {
				repeated[c.shard]++
			}
		}
		for shard, n := range repeated {
			if n > after[shard] {
				t.Errorf("%s: %d records repeated, %d came after the last checkpoint", shard, n, after[shard])
			}
		}
	})
}

// P4: a worker that cannot reach the store starts nothing after its failover time; if nobody was in
// between it goes on, without repeats.
func TestRunSuspendsAndGoesOnWithoutRepeats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		w := r.start("anna", nil)
		elapse(10 * time.Second)
		go r.fill(10, 60, time.Second)
		elapse(10 * time.Second)
		w.line.set(true)
		cut := time.Now()
		elapse(20 * time.Second)
		if late := r.log(since(cut.Add(6 * time.Second))); len(late) != 0 {
			t.Errorf("%d handlers started after the failover time, the first %v after the cut", len(late), late[0].start.Sub(cut))
		}
		s := w.Stats()
		if err := w.Health(); !s.Suspended || s.StoreError == nil || err == nil {
			t.Errorf("suspended %v, store error %v, health %v", s.Suspended, s.StoreError, err)
		}
		if len(s.Shards) != 2 || s.Shards[0].Why != "suspended: the worker cannot prove its lease, the store does not answer" {
			t.Errorf("shards %+v", s.Shards)
		}
		w.line.set(false)
		back := time.Now()
		elapse(4 * time.Second)
		if len(r.log(since(back))) == 0 || w.Health() != nil {
			t.Errorf("%d handlers since the store is back, health %v", len(r.log(since(back))), w.Health())
		}
		elapse(60 * time.Second)
		r.must(w.stop())
		if got := w.kinds(EventJoined, EventFenced, EventLost, EventStoreTrouble, EventStoreBack); !slices.Equal(got, []EventKind{EventJoined, EventStoreTrouble, EventStoreBack}) {
			t.Errorf("events %v", got)
		}
		r.judge(0)
	})
}

// P4, P2: a handler that runs when the lease is lost is cancelled and its ack is inert; when the same
// process takes the shard again, it waits for that handler.
func TestRunLostLeaseCancelsAndWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		var causes atomic.Value
		release := make(chan struct{})
		var once atomic.Bool
		anna := r.start("anna", func(ctx context.Context, _ *Record) error {
			if once.Swap(true) {
				return nil
			}
			<-ctx.Done()
			causes.Store(context.Cause(ctx))
			<-release // it does not care
			return nil
		})
		elapse(3 * time.Second)
		r.put("key", 0)
		elapse(2 * time.Second)
		anna.line.set(true)
		berta := r.start("berta", func(context.Context, *Record) error { return errors.New("not now") })
		elapse(20 * time.Second)
		if len(r.log(byWorker("berta"))) == 0 {
			t.Fatal("berta did not take the shard")
		}
		anna.line.set(false)
		elapse(5 * time.Second)
		if causes.Load() != ErrLeaseLost {
			t.Errorf("cause %v", causes.Load())
		}
		// Twice the shard comes and goes while the old handler is still there.
		r.must(berta.stop())
		elapse(5 * time.Second)
		before := len(r.log(byWorker("anna")))
		s := anna.Stats()
		if len(s.Shards) != 1 || s.Shards[0].Why != "waiting for a handler of an earlier epoch to return" {
			t.Fatalf("%+v", s.Shards)
		}
		anna.line.set(true)
		berta = r.start("berta", func(context.Context, *Record) error { return errors.New("not now") })
		elapse(20 * time.Second)
		anna.line.set(false)
		elapse(5 * time.Second)
		r.must(berta.stop())
		elapse(20 * time.Second)
		if got := len(r.log(byWorker("anna"))); got != before || len(anna.Stats().Shards) != 1 {
			t.Errorf("%d handlers started beside one of an earlier epoch, shards %+v", got-before, anna.Stats().Shards)
		}
		for _, item := range r.leases() {
			if item.Lease.Checkpoint != TrimHorizon() {
				t.Errorf("checkpoint %v: nothing was handled", item.Lease.Checkpoint)
			}
		}
		close(release)
		elapse(5 * time.Second)
		if got := len(r.log(byWorker("anna"))); got != before+1 {
			t.Errorf("%d handlers after the old one has returned, want 1", got-before)
		}
		r.must(anna.stop())
	})
}

// F27: one name, two workers.
func TestRunTwoWorkersOfOneName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 4)
		a, b := r.start("anna", nil), r.start("anna", nil)
		go r.fill(20, 60, time.Second)
		elapse(40 * time.Second)
		if len(a.Stats().Shards)+len(b.Stats().Shards) != 4 || len(a.Stats().Shards)%4 == 0 || a.Stats().Worker == b.Stats().Worker {
			t.Errorf("%q has %d shards, %q %d", a.Stats().Worker, len(a.Stats().Shards), b.Stats().Worker, len(b.Stats().Shards))
		}
		elapse(40 * time.Second)
		r.must(a.stop())
		r.must(b.stop())
		r.judge(0)
	})
}
