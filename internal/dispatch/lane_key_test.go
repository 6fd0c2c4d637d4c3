package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// newKeyBench is a lane with order per key.
func newKeyBench(n, most int, handle func(context.Context, *record.Record) error) *bench {
	return benchOf(LaneConfig{Handle: oneByOne(handle), PerKey: true, AtOnce: n, MaxInFlight: most})
}

// keyed are numbered records; a record's key is its number modulo keys.
func keyed(first, last, keys int) []record.Record {
	records := numbered(first, last)
	for i := range records {
		records[i].PartitionKey = fmt.Sprint((first + i) % keys)
	}
	return records
}

// keyOracle knows what each key may get next. It stands outside of the lane.
type keyOracle struct {
	mu      sync.Mutex
	keys    int
	running map[int]bool
	done    map[int]bool
	faults  []string
}

func (o *keyOracle) begin(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := n % o.keys
	if o.running[key] {
		o.faults = append(o.faults, fmt.Sprintf("record %d begins while one of its key is handled", n))
	}
	if before := n - o.keys; o.done[n] || before > 0 && !o.done[before] {
		o.faults = append(o.faults, fmt.Sprintf("record %d begins; handled before: itself %v, the one before %v", n, o.done[n], o.done[before]))
	}
	o.running[key] = true
}

func (o *keyOracle) end(n int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running[n%o.keys] = false
	o.done[n] = o.done[n] || ok
}

// prefix is up to where everything is handled.
func (o *keyOracle) prefix() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.done[n+1] {
		n++
	}
	return n
}

// Random failures, times, drops and ends: never two of one key, each key in order and once, the watermark
// exactly at the oldest record that is not handled, and every byte given back.
func TestLaneOrderPerKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		total := rapid.IntRange(0, 80).Draw(rt, "records")
		keys := rapid.IntRange(1, 12).Draw(rt, "keys")
		n := rapid.IntRange(1, 8).Draw(rt, "n")
		most := rapid.IntRange(1, 30).Draw(rt, "most")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 10).Draw(rt, "batches")
		drops := rapid.SliceOfN(rapid.Int64Range(0, 5000), 0, 40).Draw(rt, "drops")
		works := rapid.SliceOfN(rapid.IntRange(0, 300), 1, 20).Draw(rt, "milliseconds")
		fails := rapid.SliceOfN(rapid.Bool(), 1, 20).Draw(rt, "fails")
		stopAt := rapid.IntRange(-1, 3000).Draw(rt, "stopAt")
		synctest.Test(t, func(t *testing.T) {
			o := &keyOracle{keys: keys, running: map[int]bool{}, done: map[int]bool{}}
			b := newKeyBench(n, most, func(_ context.Context, r *record.Record) error {
				i := number(r)
				o.begin(i)
				time.Sleep(time.Duration(works[(i+r.Attempt)%len(works)]) * time.Millisecond)
				ok := !fails[(i+r.Attempt)%len(fails)] || r.Attempt > 2
				o.end(i, ok)
				if !ok {
					return errors.New("no")
				}
				return nil
			})
			after := func(p lease.Position) (n int) {
				for n = 0; at(n) != p; n++ {
				}
				return n
			}
			read := func(place, last int) []record.Record { return keyed(place+1, last, keys) }
			finish := feed{total, after, read, sizes, drops, stopAt}.run(t, b)
			o.mu.Lock()
			for key, busy := range o.running {
				if busy {
					o.faults = append(o.faults, fmt.Sprintf("done while key %d is handled", key))
				}
			}
			o.mu.Unlock()
			handled := o.prefix()
			want := at(handled)
			if b.ended == 1 {
				want = lease.ShardEnd()
			}
			if got := b.Watermark(); got != want || stopAt < 0 && b.ended != 1 {
				rt.Fatalf("watermark %v, want %v; ended %d times", got, want, b.ended)
			}
			if b.ended == 1 && handled != total {
				rt.Fatalf("ended at %d of %d", handled, total)
			}
			taken, back := finish()
			if len(o.faults) > 0 {
				rt.Fatal(strings.Join(o.faults, "\n"))
			}
			if back != taken {
				rt.Fatalf("%d bytes taken, %d given back", taken, back)
			}
		})
	})
}

// With a handler that takes its time, 64 at once must bring at least 40 times as much, on virtual time.
func TestLanePerKeyThroughput(t *testing.T) {
	const total = 6400
	for _, work := range []time.Duration{100 * time.Microsecond, 10 * time.Millisecond} {
		took := func(n, most int) (d time.Duration) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := newKeyBench(n, most, func(context.Context, *record.Record) error { time.Sleep(work); return nil })
				b.Push(keyed(1, total, 1000), nil, true)
				<-b.Done()
				d = time.Since(began)
				b.Free()
			})
			return d
		}
		shard, key := took(1, 1), took(64, 10_000)
		if shard < 40*key {
			t.Errorf("a handler of %v: %v with order per shard, %v with order per key", work, shard, key)
		}
	}
}

// A key that is stuck leaves the others running until MaxInFlight; then the lane says so, once.
func TestLaneStuckKeyHoldsUpAtMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newKeyBench(4, 100, func(_ context.Context, r *record.Record) error {
			if number(r) == 1 {
				<-release
			}
			return nil
		})
		b.Push(keyed(1, 500, 1000), nil, true)
		pass(time.Second)
		s := b.State()
		if s.Handled != 99 || s.Above != 99 || !s.Full || len(b.told()) != 0 {
			t.Errorf("%+v, told %v", s, b.told())
		}
		pass(time.Hour)
		if told := b.told(); len(told) != 1 || told[0].Error() != "waiting for the record at the head: 99 records above it are handled" {
			t.Errorf("told %v", told)
		}
		close(release)
		<-b.Done()
		synctest.Wait()
		if told := b.told(); len(told) != 2 || told[1] != nil || b.State().Handled != 500 {
			t.Errorf("told %v, %+v", told, b.State())
		}
		b.Free()
	})
}

// More keys that fail than handlers: a pause takes no handler's place.
func TestLaneRetryBlocksOnlyItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKeyBench(2, 100, func(_ context.Context, r *record.Record) error {
			if number(r) <= 5 {
				return errors.New("no")
			}
			return nil
		})
		b.Push(keyed(1, 50, 10), nil, false)
		pass(time.Minute)
		if s := b.State(); s.Handled != 25 || b.Watermark() != at(0) || len(b.told()) != 1 {
			t.Errorf("%+v, watermark %v, told %v", s, b.Watermark(), b.told())
		}
		b.Drain()
		<-b.Done()
		b.Free()
	})
}
