package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// bench is a lane with a book of everything that it calls. Its methods are safe from any goroutine.
type bench struct {
	*Lane
	gate *switchGate

	mu      sync.Mutex
	given   int64
	ended   int
	notices []error
	stopped []error
}

// newBench makes a lane in the bubble and runs it. The bubble's end shows that Run has ended.
func newBench(timeout time.Duration, handle func(context.Context, *record.Record) error) *bench {
	return benchOf(LaneConfig{Handle: oneByOne(handle), Timeout: timeout})
}

// benchOf runs a lane that has the bench's book in what is not set.
func benchOf(cfg LaneConfig) *bench {
	b := &bench{gate: newSwitchGate(true)}
	b.fill(&cfg)
	b.Lane = NewLane(context.Background(), cfg)
	go b.Run()
	return b
}

func (b *bench) fill(cfg *LaneConfig) {
	cfg.Start, cfg.Gate = lease.TrimHorizon(), b.gate
	cfg.Give = func(n int64) { b.mu.Lock(); b.given += n; b.mu.Unlock() }
	if cfg.Ended == nil {
		cfg.Ended = func() { b.mu.Lock(); b.ended++; b.mu.Unlock() }
	}
	cfg.Notice = func(err error) { b.mu.Lock(); b.notices = append(b.notices, err); b.mu.Unlock() }
	cfg.Stopped = func(err error) { b.mu.Lock(); b.stopped = append(b.stopped, err); b.mu.Unlock() }
}

// oneByOne is a handler of single records as LaneConfig.Handle.
func oneByOne(handle func(context.Context, *record.Record) error) func(context.Context, []record.Record) error {
	return func(ctx context.Context, records []record.Record) error {
		if len(records) != 1 {
			panic(fmt.Sprintf("%d records in a call", len(records)))
		}
		return handle(ctx, &records[0])
	}
}

// push queues the records first to last.
func (b *bench) push(first, last int) (bytes int64) {
	records := numbered(first, last)
	bytes = sizeOf(records)
	b.Push(records, nil, false)
	return bytes
}

func (b *bench) bytesGiven() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.given
}

func (b *bench) told() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notices)
}

func numbered(first, last int) []record.Record {
	var records []record.Record
	for n := first; n <= last; n++ {
		records = append(records, record.Record{SequenceNumber: fmt.Sprint(n), Data: make([]byte, n%7)})
	}
	return records
}

func at(n int) lease.Position {
	if n == 0 {
		return lease.TrimHorizon()
	}
	p, err := lease.AfterSequence(fmt.Sprint(n), 0)
	if err != nil {
		panic(err)
	}
	return p
}

func number(r *record.Record) (n int) {
	if _, err := fmt.Sscan(r.SequenceNumber, &n); err != nil {
		panic(err)
	}
	return n
}

// switchGate is a Gate that a test opens and closes.
type switchGate struct {
	open    atomic.Bool
	mu      sync.Mutex
	changed chan struct{}
}

func newSwitchGate(open bool) *switchGate {
	g := &switchGate{changed: make(chan struct{})}
	g.open.Store(open)
	return g
}

func (g *switchGate) Open(time.Time) bool { return g.open.Load() }

func (g *switchGate) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *switchGate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open.Store(open)
	close(g.changed)
	g.changed = make(chan struct{})
}

// journal notes numbers in order.
type journal struct {
	mu sync.Mutex
	ns []int
}

func (j *journal) add(n int) { j.mu.Lock(); j.ns = append(j.ns, n); j.mu.Unlock() }

func (j *journal) all() []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.ns)
}

func (j *journal) want(t *testing.T, want ...int) {
	t.Helper()
	if got := j.all(); !slices.Equal(got, want) {
		t.Errorf("handled %v, want %v", got, want)
	}
}

// pass lets time pass, and what is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLaneHandsOutInOrderOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		var running atomic.Int32
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			if running.Add(1) != 1 {
				t.Error("two handlers of a shard at one time")
			}
			time.Sleep(time.Millisecond)
			running.Add(-1)
			j.add(number(r))
			return nil
		})
		b.push(1, 3)
		b.push(4, 4)
		synctest.Wait()
		if _, _, err := b.Room(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Push(numbered(5, 6), nil, true)
		<-b.Done()
		j.want(t, 1, 2, 3, 4, 5, 6)
		if b.ended != 1 || !b.Watermark().IsShardEnd() {
			t.Errorf("ended %d times, watermark %v", b.ended, b.Watermark())
		}
		b.Free()
	})
}

func TestLaneRetriesWithBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var tries []time.Duration
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			tries = append(tries, time.Since(began))
			if r.Attempt != len(tries) {
				t.Errorf("attempt %d at try %d", r.Attempt, len(tries))
			}
			if len(tries) == 12 {
				return nil
			}
			return errors.New("no")
		})
		b.push(1, 1)
		pass(time.Hour)
		var want []time.Duration
		at, pause := time.Duration(0), 100*time.Millisecond
		for range 12 {
			want = append(want, at)
			at += pause
			pause = min(2*pause, 30*time.Second)
		}
		if !slices.Equal(tries, want) {
			t.Errorf("tries at %v, want %v", tries, want)
		}
		if len(b.told()) != 2 || b.told()[0] == nil || b.told()[1] != nil {
			t.Errorf("notices %v, want an error after try 5 and nil at its end", b.told())
		}
		if s := b.State(); s.Err != nil || s.Attempt != 0 || s.Handled != 1 {
			t.Errorf("state after all: %+v", s)
		}
		b.Free()
	})
}

func TestLaneTellsOfAStubbornRecordAfterFiveTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, func(context.Context, *record.Record) error { return errors.New("no") })
		b.push(1, 1)
		pass(1499 * time.Millisecond) // the fifth try comes after 100+200+400+800
		if len(b.told()) != 0 {
			t.Error("told after four tries")
		}
		pass(2 * time.Millisecond)
		if len(b.told()) != 1 {
			t.Errorf("%d notices after five tries", len(b.told()))
		}
		pass(time.Hour)
		if len(b.told()) != 1 {
			t.Errorf("told %d times", len(b.told()))
		}
		b.Free()
	})
}

func TestLaneRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var tries []time.Duration
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			tries = append(tries, time.Since(began))
			switch r.Attempt {
			case 1:
				return fmt.Errorf("wrapped: %w", &RetryAfterError{Pause: 7 * time.Second, Err: errors.New("busy")})
			case 2:
				return errors.New("no")
			}
			return nil
		})
		b.push(1, 1)
		pass(time.Minute)
		if want := []time.Duration{0, 7 * time.Second, 7*time.Second + 200*time.Millisecond}; !slices.Equal(tries, want) {
			t.Errorf("tries at %v, want %v", tries, want)
		}
		b.Free()
	})
}

func TestLaneStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		var j journal
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			j.add(number(r))
			if number(r) == 2 {
				return fmt.Errorf("wrapped: %w", &StopError{Err: why})
			}
			return nil
		})
		b.push(1, 3)
		pass(time.Hour)
		j.want(t, 1, 2)
		if len(b.stopped) != 1 || b.stopped[0] != why {
			t.Errorf("stopped with %v", b.stopped)
		}
		if b.Watermark() != at(1) {
			t.Errorf("watermark %v passed a record that was not handled", b.Watermark())
		}
		b.Free()
	})
}

func TestLanePanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			if r.Attempt == 1 {
				panic("canary")
			}
			j.add(number(r))
			return nil
		})
		b.push(1, 2)
		synctest.Wait()
		if p := (*PanicError)(nil); !errors.As(b.State().Err, &p) || !strings.Contains(string(p.Stack), "TestLanePanicIsAnError") {
			t.Errorf("error %v is not a panic with its stack", b.State().Err)
		}
		pass(time.Second)
		j.want(t, 1, 2)
		b.Free()
	})
}

func TestPanicErrorHidesWhatIsNotText(t *testing.T) {
	r := &record.Record{PartitionKey: "canary"}
	for value, want := range map[any]string{
		"out of tea":          "handler panicked: out of tea",
		errors.New("no milk"): "handler panicked: no milk",
		r:                     "handler panicked with a *record.Record",
	} {
		if got := (&PanicError{Value: value}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A handler that ends its goroutine cannot be called again from there. The lane must not hold the shard
// in silence.
func TestLaneGoexitStopsTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			if number(r) == 2 {
				runtime.Goexit()
			}
			return nil
		})
		bytes := b.push(1, 3)
		<-b.Done()
		if len(b.stopped) != 1 || b.stopped[0] != ErrHandlerExited || b.State().Err != ErrHandlerExited {
			t.Errorf("stopped with %v, error %v", b.stopped, b.State().Err)
		}
		if b.Watermark() != at(1) {
			t.Errorf("watermark %v", b.Watermark())
		}
		b.Free()
		if got := b.bytesGiven(); got != bytes {
			t.Errorf("%d bytes given back of %d", got, bytes)
		}
	})
}

func TestLaneHandlerTimeoutCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		b := newBench(3*time.Second, func(ctx context.Context, r *record.Record) error {
			if r.Attempt == 1 {
				<-ctx.Done()
				causes = append(causes, context.Cause(ctx))
				return ctx.Err()
			}
			if ctx.Err() != nil {
				t.Error("the time-out of one try ends the next")
			}
			return nil
		})
		b.push(1, 1)
		pass(time.Minute)
		if len(causes) != 1 || causes[0] != ErrHandlerTimeout || b.Watermark() != at(1) {
			t.Errorf("causes %v, watermark %v", causes, b.Watermark())
		}
		b.Free()
	})
}

func TestLaneDrainStartsNothingFurther(t *testing.T) {
	for name, fail := range map[string]error{"next record": nil, "retry": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				release := make(chan struct{})
				b := newBench(0, func(context.Context, *record.Record) error {
					calls.Add(1)
					<-release
					return fail
				})
				b.push(1, 2)
				synctest.Wait()
				b.Drain()
				select {
				case <-b.Done():
					t.Error("done while a handler runs")
				default:
				}
				close(release)
				<-b.Done()
				pass(time.Hour)
				if calls.Load() != 1 {
					t.Errorf("%d handlers were started", calls.Load())
				}
				want := 1
				if fail != nil {
					want = 0
				}
				if b.Watermark() != at(want) {
					t.Errorf("watermark %v, want %v: the running handler counts", b.Watermark(), at(want))
				}
				b.Free()
			})
		})
	}
}

func TestLaneDrainEndsThePauseOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, func(context.Context, *record.Record) error {
			return &RetryAfterError{Pause: time.Hour, Err: errors.New("busy")}
		})
		b.push(1, 1)
		synctest.Wait()
		began := time.Now()
		b.Drain()
		<-b.Done()
		if time.Since(began) != 0 {
			t.Errorf("drained after %v", time.Since(began))
		}
		b.Free()
	})
}

func TestLaneCancelReachesTheHandlerWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		b := newBench(time.Hour, func(ctx context.Context, _ *record.Record) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		b.push(1, 1)
		synctest.Wait()
		b.Cancel(ErrLeaseLost)
		<-b.Done()
		if cause != ErrLeaseLost {
			t.Errorf("cause %v", cause)
		}
		b.Free()
	})
}

func TestLaneAcksAreInertAfterAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			if calls.Add(1); number(r) == 2 {
				<-release
			}
			return nil
		})
		bytes := b.push(1, 3)
		synctest.Wait()
		b.Abandon()
		b.Cancel(ErrLeaseLost)
		b.Free() // while the handler runs
		if got := b.bytesGiven(); got != bytes {
			t.Errorf("%d bytes given back of %d", got, bytes)
		}
		close(release)
		<-b.Done()
		if b.Watermark() != at(1) || calls.Load() != 2 {
			t.Errorf("watermark %v after %d calls: the ack of a lost epoch counted", b.Watermark(), calls.Load())
		}
		if got := b.bytesGiven(); got != bytes {
			t.Errorf("%d bytes given back of %d after the late ack", got, bytes)
		}
	})
}

func TestLaneSuspendedStartsNothingAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			if !b0(r) {
				return errors.New("no")
			}
			j.add(number(r))
			return nil
		})
		b.gate.set(false)
		b.push(1, 4)
		pass(time.Hour)
		j.want(t)
		if !b.State().Suspended {
			t.Error("the state does not say that the lane is suspended")
		}
		b.gate.set(true)
		synctest.Wait()
		b.gate.set(false) // a retry is a start, too: record 3 fails once
		pass(time.Hour)
		j.want(t, 1, 2)
		b.gate.set(true)
		pass(time.Second)
		j.want(t, 1, 2, 3, 4)
		b.Free()
		<-b.Done()
	})
}

// b0 says whether the try succeeds: only the first one of record 3 does not.
func b0(r *record.Record) bool { return r.Attempt > 1 || number(r) != 3 }

func TestLaneDrainEndsTheWaitAtTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, func(context.Context, *record.Record) error { t.Error("started"); return nil })
		b.gate.set(false)
		b.push(1, 1)
		synctest.Wait()
		b.Drain()
		<-b.Done()
		b.Free()
	})
}

func TestLaneRecordsThatAHandlerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			if len(r.Data) != 1 || r.PartitionKey != "" {
				t.Errorf("attempt %d sees what the one before has done to its record: %+v", r.Attempt, r)
			}
			attempt := r.Attempt
			*r = record.Record{Data: make([]byte, 1<<20), PartitionKey: "changed"}
			if attempt == 1 {
				return errors.New("again")
			}
			return nil
		})
		bytes := b.push(1, 1)
		pass(time.Second)
		if got := b.bytesGiven(); got != bytes || b.Watermark() != at(1) {
			t.Errorf("%d bytes given back of %d, watermark %v", got, bytes, b.Watermark())
		}
		b.Free()
	})
}

func TestLaneReadsAtMostAFewBatchesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(0, func(context.Context, *record.Record) error { <-release; return nil })
		pushed := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _, err := b.Room(ctx)
			cancel()
			if err != nil {
				break
			}
			pushed++
			b.push(pushed, pushed)
		}
		if pushed != readAhead+1 {
			t.Errorf("%d batches wait, want %d", pushed, readAhead+1)
		}
		close(release)
		if _, _, err := b.Room(t.Context()); err != nil {
			t.Error(err)
		}
		b.Drain()
		if _, _, err := b.Room(t.Context()); err == nil {
			t.Error("a drained lane has room")
		}
		b.Free()
	})
}
