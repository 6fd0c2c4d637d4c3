package leat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/memory"
)

// P1, P5: all of a stream is handled once, the checkpoints of a clean stop are the last records, a restart
// repeats nothing.
func TestRunCleanStopRepeatsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 4)
		r.fill(20, 10, 0)
		w := r.start("anna", nil)
		elapse(3500 * time.Millisecond)
		if got := r.count(); got != 200 {
			t.Errorf("%d of 200 records handled after 3.5 s", got)
		}
		r.fill(20, 3, 100*time.Millisecond) // some of it is in the air at the stop
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		newest := map[string]lease.Position{}
		for _, c := range r.log(nil) {
			newest[c.shard], _ = lease.AfterSequence(c.sequence, 0)
		}
		leases := r.leases()
		if len(leases) != 4 || len(newest) != 4 {
			t.Errorf("%d leases, records in %d shards", len(leases), len(newest))
		}
		for shard, item := range leases {
			if item.Lease.Owner != "" || item.Lease.Checkpoint != newest[shard] {
				t.Errorf("%s: owner %q, checkpoint %v, last record %v", shard, item.Lease.Owner, item.Lease.Checkpoint, newest[shard])
			}
		}
		if want := []EventKind{EventJoined, EventTook, EventTook, EventTook, EventTook, EventReleased, EventReleased, EventReleased, EventReleased, EventLeft}; !slices.Equal(w.kinds(EventJoined, EventTook, EventReleased, EventLost, EventLeft), want) {
			t.Errorf("events %v", w.kinds(EventJoined, EventTook, EventReleased, EventLost, EventLeft))
		}
		again := r.start("anna", nil)
		elapse(30 * time.Second)
		if err := again.stop(); err != nil {
			t.Fatal(err)
		}
		r.judge(0)
	})
}

// A new group reads within a second, P6; and a worker that stops hands over within two.
func TestRunStartsAndHandsOverSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 4)
		r.fill(20, 1, 0)
		anna := r.start("anna", nil)
		elapse(time.Second)
		if got := r.count(); got != 20 {
			t.Errorf("%d of 20 records handled within a second", got)
		}
		berta := r.start("berta", nil)
		elapse(20 * time.Second)
		if err := anna.stop(); err != nil {
			t.Fatal(err)
		}
		stopped := time.Now()
		r.fill(20, 1, 2*time.Second)
		if got := len(r.log(since(stopped))); got != 20 {
			t.Errorf("%d of 20 records handled within 2 s of a clean stop", got)
		}
		r.must(berta.stop())
		r.judge(0)
	})
}

// A checkpoint interval that is shorter than the worker's other periods holds, too: so much is repeated after a crash, and no more.
func TestRunShortCheckpointInterval(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		w := r.start("anna", nil, func(c *Config) {
			c.CheckpointInterval, c.PollInterval = 100*time.Millisecond, 200*time.Millisecond
		})
		elapse(5 * time.Second)
		for range 100 {
			r.put("key", 0)
			elapse(230 * time.Millisecond)
			last := r.log(nil)[r.count()-1]
			if handled := time.Since(last.end); handled < 110*time.Millisecond {
				continue // it may not be due
			}
			for _, item := range r.leases() {
				if at, _, _ := item.Lease.Checkpoint.Sequence(); at != last.sequence {
					t.Fatalf("the checkpoint is %s, %v after %s was handled", at, time.Since(last.end), last.sequence)
				}
			}
		}
		r.must(w.stop())
		r.judge(0)
	})
}

// H12: LATEST on a shard to which nobody writes stays where it was, over restarts.
func TestRunLatestOnIdleShardHasNoGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		r.fill(5, 1, 0) // before the group's time
		clear(r.puts)
		elapse(time.Minute)
		latest := func(c *Config) { c.Start = Latest() }
		for round := range 3 {
			w := r.start("anna", nil, latest)
			elapse(10 * time.Second)
			r.must(w.stop())
			if round == 0 && r.count() != 0 {
				t.Errorf("%d records from before the start", r.count())
			}
			elapse(time.Minute)
			r.put("key", 0) // while nobody runs
			elapse(time.Minute)
		}
		w := r.start("anna", nil, latest)
		elapse(10 * time.Second)
		r.must(w.stop())
		r.judge(0)
	})
}

func TestRunDrainTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.put("key", 0)
		r.put("key", 0)
		var cause error
		w := r.start("anna", func(ctx context.Context, _ *Record) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		elapse(3 * time.Second)
		began := time.Now()
		r.must(w.stop())
		if took := time.Since(began); cause != ErrDraining || took < 20*time.Second || took > 21*time.Second {
			t.Errorf("cause %v after %v", cause, took)
		}
		if r.count() != 1 {
			t.Errorf("%d calls: a drain started a handler", r.count())
		}
	})
}

// A handler that never ends does not keep Run from returning, nor the shard from others.
func TestRunHandlerThatNeverEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.put("key", 0)
		release := make(chan struct{})
		w := r.start("anna", func(context.Context, *Record) error { <-release; return nil })
		elapse(3 * time.Second)
		began := time.Now()
		r.must(w.stop())
		if took := time.Since(began); took < 25*time.Second || took > 26*time.Second {
			t.Errorf("stopped after %v", took)
		}
		for _, item := range r.leases() {
			if item.Lease.Owner != "" || item.Lease.Checkpoint != TrimHorizon() {
				t.Errorf("owner %q, checkpoint %v", item.Lease.Owner, item.Lease.Checkpoint)
			}
		}
		close(release)
	})
}

func TestRunStoreSilentAtStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		w := r.start("anna", nil)
		elapse(3 * time.Second)
		w.line.set(true)
		began := time.Now()
		if err := w.stop(); !errors.Is(err, ErrNotReleased) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > 31*time.Second { // DrainTimeout, 5 s, FailoverTime
			t.Errorf("Run returned %v after the stop", took)
		}
	})
}

func TestRunStopFromHandler(t *testing.T) {
	for name, end := range map[string]func() error{
		"Stop":   func() error { return Stop(errOutOfTea) },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRiver(t, local.Config{}, 1)
				r.fill(1, 5, 0)
				w := r.start("anna", func(_ context.Context, record *Record) error {
					if string(record.Data) == "key-0 3" {
						return end()
					}
					return nil
				})
				<-w.done
				if want := map[string]error{"Stop": errOutOfTea, "Goexit": ErrHandlerExited}[name]; !errors.Is(w.err, want) {
					t.Errorf("error %v", w.err)
				}
				calls := r.log(nil)
				if len(calls) != 3 {
					t.Fatalf("%d calls", len(calls))
				}
				last, _ := lease.AfterSequence(calls[1].sequence, 0)
				for _, item := range r.leases() {
					if item.Lease.Owner != "" || item.Lease.Checkpoint != last {
						t.Errorf("owner %q, checkpoint %v, want %v", item.Lease.Owner, item.Lease.Checkpoint, last)
					}
				}
			})
		})
	}
}

var errOutOfTea = errors.New("out of tea")

func TestRunTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		w := r.start("anna", nil)
		elapse(time.Second)
		if err := w.Run(t.Context()); !errors.Is(err, ErrRunTwice) {
			t.Errorf("error %v", err)
		}
		r.must(w.stop())
		if err := w.Run(t.Context()); !errors.Is(err, ErrRunTwice) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRunEndedBeforeItBegan(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.server.SetFaults(1, local.Fault{Kind: local.Throttle, Op: "DescribeStreamSummary", Share: 1})
		w := r.start("anna", nil)
		elapse(time.Second)
		r.must(w.stop())
	})
}

func TestRunStreamMissing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		aws := r.server.AWSConfig()
		err := Run(t.Context(), Config{
			Group: "billing", Stream: "absent", AWS: &aws, Store: memory.New(),
			Handler: HandlerFunc(func(context.Context, *Record) error { return nil }),
		})
		if !errors.Is(err, ErrStreamNotFound) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRunStreamDeletedAndRecreated(t *testing.T) {
	for _, c := range []struct {
		name  string
		pause time.Duration // between deletion and creation; negative: never
		want  error
	}{{"deleted", -1, ErrStreamNotFound}, {"recreated later", time.Minute, ErrStreamNotFound}, {"recreated at once", 0, ErrStreamRecreated}} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRiver(t, local.Config{}, 2)
				r.fill(5, 2, 0)
				w := r.start("anna", nil)
				elapse(10 * time.Second)
				was := r.leases()
				r.drop()
				if c.pause >= 0 {
					elapse(c.pause)
					time.Sleep(10 * time.Millisecond)
					r.create(2)
					r.fill(5, 1, 0)
				}
				elapse(2 * time.Minute)
				select {
				case <-w.done:
				default:
					t.Fatalf("still runs: %+v", w.Stats())
				}
				if !errors.Is(w.err, c.want) {
					t.Errorf("error %v, want %v", w.err, c.want)
				}
				for shard, item := range r.leases() {
					if item.Lease.Checkpoint != was[shard].Lease.Checkpoint && c.pause != 0 {
						t.Errorf("%s: checkpoint went from %v to %v", shard, was[shard].Lease.Checkpoint, item.Lease.Checkpoint)
					}
				}
				if c.pause >= 0 {
					later := r.start("anna", nil)
					<-later.done
					if !errors.Is(later.err, ErrStreamRecreated) {
						t.Errorf("error at the next start: %v", later.err)
					}
				}
			})
		})
	}
}

// S13: records that passed the retention are told of, and OnTrimmed is followed.
func TestRunTrimmed(t *testing.T) {
	for name, policy := range map[string]Policy{"Continue": Continue, "Halt": Halt} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRiver(t, local.Config{}, 1)
				r.fill(1, 3, 0)
				w := r.start("anna", nil)
				elapse(3 * time.Second)
				r.must(w.stop())
				r.fill(1, 3, 0)
				elapse(25 * time.Hour)
				r.fill(1, 2, 0)
				w = r.start("anna", nil, func(c *Config) { c.OnTrimmed = policy })
				elapse(5 * time.Second)
				w.stop()
				if len(w.kinds(EventTrimmed)) != 1 {
					t.Errorf("%d events", len(w.kinds(EventTrimmed)))
				}
				calls := r.log(nil)
				var handled []int
				for _, c := range calls {
					handled = append(handled, c.n)
				}
				want := []int{1, 2, 3, 7, 8}
				if policy == Halt {
					want = want[:3]
				}
				if !slices.Equal(handled, want) || errors.Is(w.err, ErrTrimmed) != (policy == Halt) {
					t.Errorf("handled %v, error %v", handled, w.err)
				}
			})
		})
	}
}

// A context that never ends, as context.Background, neither keeps a handler from stopping the consumer nor a
// fenced worker from joining again.
func TestRunWithAContextThatNeverEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		var stop atomic.Bool
		w := r.prepare("anna", func(context.Context, *Record) error {
			if stop.Load() {
				return Stop(errOutOfTea)
			}
			return nil
		})
		go func() {
			defer close(w.done)
			w.err = w.Run(context.Background())
		}()
		elapse(5 * time.Second)
		w.line.set(true)
		berta := r.start("berta", nil)
		elapse(20 * time.Second)
		w.line.set(false)
		elapse(5 * time.Second)
		r.must(berta.stop())
		elapse(5 * time.Second)
		if want := []EventKind{EventJoined, EventFenced, EventJoined}; !slices.Equal(w.kinds(EventJoined, EventFenced, EventLeft), want) {
			t.Errorf("events %v, want %v", w.kinds(EventJoined, EventFenced, EventLeft), want)
		}
		stop.Store(true)
		r.put("key", 0)
		elapse(5 * time.Second)
		select {
		case <-w.done:
		default:
			t.Fatal("a handler's Stop did not stop the consumer")
		}
		if !errors.Is(w.err, errOutOfTea) {
			t.Errorf("error %v", w.err)
		}
	})
}

// flood is how many records of 10 KiB flow past a blocked shard.
var flood = 12_000

func count(from, to int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := from; i < to && yield(fmt.Sprintf("key-%d", i)); i++ {
		}
	}
}

// P8: one handler that blocks for ever holds up its own shard and no other, within the budget.
func TestRunBlockedShardHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{Unlimited: true}, 8)
		const size = 10 << 10 // a reader that knows nothing yet expects 16 KiB
		total := flood
		release := make(chan struct{})
		put := func(from, to int) {
			for chunk := range slices.Chunk(slices.Collect(count(from, to)), 400) {
				r.putMany(chunk, size)
			}
		}
		put(0, total/2) // a backlog, so that the budget is short
		w := r.start("anna", func(_ context.Context, record *Record) error {
			if record.Shard == "shardId-000000000003" {
				<-release
			}
			time.Sleep(2 * time.Millisecond)
			return nil
		}, func(c *Config) { c.MaxBuffered = 16 << 20 })
		blocked := 0
		for i := total / 2; i < total; i += 400 {
			put(i, min(i+400, total))
			elapse(time.Second)
		}
		elapse(time.Minute)
		s := w.Stats()
		for _, sh := range s.Shards {
			if sh.Shard == "shardId-000000000003" {
				if blocked = sh.Queued; sh.Position != TrimHorizon() {
					t.Errorf("the blocked shard is at %v", sh.Position)
				}
			} else if sh.Queued != 0 || sh.Behind != 0 {
				t.Errorf("%s: %d records queued, %v behind", sh.Shard, sh.Queued, sh.Behind)
			}
		}
		t.Logf("%d MiB put, %d of them handled beside a blocked shard with %d queued; peak %.1f of %d MiB",
			total*size>>20, r.count()*size>>20, blocked, float64(s.BufferedPeak)/(1<<20), 16)
		if s.BufferedPeak > 16<<20 || s.BufferedPeak < 1<<20 {
			t.Errorf("peak of %d bytes", s.BufferedPeak)
		}
		close(release)
		elapse(time.Minute)
		r.must(w.stop())
		r.judge(0)
		if used := w.Stats().Buffered; used != 0 {
			t.Errorf("%d bytes are still taken after the end", used)
		}
	})
}
