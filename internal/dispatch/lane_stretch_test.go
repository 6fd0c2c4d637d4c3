package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// What happens in the middle of a stretch is what would happen between any two records.
func TestStretchInTheMiddle(t *testing.T) {
	t.Run("PerShard", func(t *testing.T) { testStretchInTheMiddle(t, LaneConfig{}) })
	t.Run("PerKey", func(t *testing.T) { testStretchInTheMiddle(t, LaneConfig{PerKey: true, AtOnce: 4, MaxInFlight: 100}) })
}

func testStretchInTheMiddle(t *testing.T, cfg LaneConfig) {
	const last, middle = 10, 4
	type story struct {
		at        func(b *bench, ctx context.Context) error // in the handler of the middle one, the first time
		then      func(b *bench)                            // when nothing moves any more
		handled   int                                       // in the end
		watermark int
		stopped   bool // so that the lane is done
	}
	for name, s := range map[string]story{
		"nothing": {func(*bench, context.Context) error { return nil }, nil, last, last, false},
		"error":   {func(*bench, context.Context) error { return errors.New("no") }, nil, last, last, false},
		"panic":   {func(*bench, context.Context) error { panic("no") }, nil, last, last, false},
		"exit":    {func(*bench, context.Context) error { runtime.Goexit(); return nil }, nil, middle - 1, middle - 1, true},
		"stop":    {func(b *bench, _ context.Context) error { return &StopError{} }, func(b *bench) { b.Drain() }, middle - 1, middle - 1, true},
		"drain":   {func(b *bench, _ context.Context) error { b.Drain(); return nil }, nil, middle, middle, true},
		"cancel":  {func(b *bench, _ context.Context) error { b.Cancel(ErrDraining); return nil }, nil, middle, middle, true},
		"abandon": {func(b *bench, _ context.Context) error { b.Abandon(); return nil }, nil, middle, middle - 1, true},
		"drop": {func(b *bench, _ context.Context) error { b.DropTail(1 << 20); return nil }, func(b *bench) {
			if again, rewind, err := b.Room(context.Background()); again != at(middle) || !rewind || err != nil {
				panic(again)
			}
			b.push(middle+1, last)
		}, last, last, false},
		"gate": {func(b *bench, _ context.Context) error { b.gate.set(false); return nil }, func(b *bench) {
			if s := b.State(); !s.Suspended || s.Handled != middle {
				panic("not suspended")
			}
			b.gate.set(true)
		}, last, last, false},
		"defer": {func(b *bench, ctx context.Context) error {
			time.AfterFunc(time.Hour, func() { Defer(ctx)(nil) })
			Defer(ctx)
			return nil
		},
			func(b *bench) { pass(time.Minute) }, middle, middle - 1, false},
		"defer and ack": {func(b *bench, ctx context.Context) error { Defer(ctx)(nil); return nil }, nil, last, last, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b *bench
				handled, stretches := 0, 0
				cfg := cfg
				cfg.Handle = oneByOne(func(ctx context.Context, r *record.Record) error {
					n := number(r)
					if n != handled+1 {
						t.Errorf("record %d after %d", n, handled)
					}
					b.Lane.mu.Lock()
					if b.stretch.batch != nil {
						stretches++
					}
					b.Lane.mu.Unlock()
					if mark, s := b.Watermark(), b.State(); mark != at(n-1) || s.Handled != int64(n-1) || s.Running.IsZero() || s.Attempt != r.Attempt {
						t.Errorf("in the handler of record %d: watermark %v, %+v", n, mark, s)
					}
					if n == middle && r.Attempt == 1 {
						if err := s.at(b, ctx); err != nil {
							return err
						}
					}
					handled++
					return nil
				})
				b = benchOf(cfg)
				records, memory := remembered(numbered(1, last))
				b.Push(records, memory, false)
				if pass(time.Minute); s.then != nil {
					s.then(b)
					pass(time.Minute)
				}
				if handled != s.handled || b.Watermark() != at(s.watermark) || stretches < middle-1 {
					t.Errorf("%d handled, watermark %v; %d in a stretch", handled, b.Watermark(), stretches)
				}
				if s.stopped {
					<-b.Done()
				}
				b.Drain()
				b.Abandon()
				b.Free()
			})
		})
	}
}

// A lane settles the records that it was given, and no other one of the same answer.
func TestLaneSettlesItsOwnRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(record.Memory)
		memory.Expect(8)
		for _, r := range numbered(1, 8) {
			memory.AddKept(new(record.Record), r.Data).SequenceNumber = r.SequenceNumber
		}
		records := memory.Records()
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			if number(r) == 5 && r.Attempt == 1 {
				return errors.New("no")
			}
			return nil
		})
		b.Push(records[3:], memory, true)
		<-b.Done()
		for i, r := range records {
			if mine, settled := i >= 3, r.SequenceNumber == ""; mine != settled {
				t.Errorf("record %d: settled %v", i+1, settled)
			}
		}
		b.Free()
	})
}

// An aggregated record among plain ones is taken apart, though the plain ones before it were handed out as a stretch.
func TestStretchEndsAtAnAggregatedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		b := newBench(0, func(_ context.Context, r *record.Record) error {
			got = append(got, string(r.Data))
			return nil
		})
		w := &turnWorld{keyOracle: &keyOracle{keys: 1}, units: []unit{{1, 1}, {2, 2}, {3, 4}, {5, 5}}}
		records, memory := remembered(w.read(0, len(w.units)))
		b.Push(records, memory, true)
		<-b.Done()
		if !slices.Equal(got, []string{"1", "2", "3", "4", "5"}) {
			t.Errorf("handled %q", got)
		}
		b.Free()
	})
}

// Strays are counted once, though the rest of their aggregated record is dropped and read again; and they are handled, or not even
// queued.
func TestLaneCountsStraysOnce(t *testing.T) {
	const users, middle = 100, 11
	mine, other := "1", "340282366920938463463374607431768211455"
	aggregated := func() ([]record.Record, *record.Memory) {
		a := kpl.NewAggregator(0)
		for n := 1; n <= users; n++ {
			if _, err := a.Add("key", map[bool]string{true: mine, false: other}[n%2 == 1], fmt.Append(nil, n)); err != nil {
				t.Fatal(err)
			}
		}
		return remembered([]record.Record{{SequenceNumber: "1", Data: a.Finish(), Aggregated: true}})
	}
	for name, drop := range map[string]bool{"handled": false, "dropped": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				handled := 0
				b := benchOf(LaneConfig{
					Range: lease.HashRange{Start: "0", End: "1000"}, DropStrays: drop,
					Handle: oneByOne(func(_ context.Context, r *record.Record) error {
						if told(r) == middle {
							<-release
						}
						handled++
						return nil
					}),
				})
				records, memory := aggregated()
				b.Push(records, memory, false)
				synctest.Wait()
				b.DropTail(1)
				records, memory = aggregated()
				if again, rewind, err := b.Room(t.Context()); again == at(0) || !rewind || err != nil {
					t.Fatalf("read again after %v (%v, %v)", again, rewind, err)
				}
				b.Push(records, memory, true)
				close(release)
				<-b.Done()
				want := map[bool]int{true: users / 2, false: users}[drop]
				if s := b.State(); s.Strays != users/2 || s.Queued != 0 || handled != want || s.Handled != int64(want) {
					t.Errorf("%d handled, %+v", handled, s)
				}
				for _, r := range records {
					if r.SequenceNumber != "" {
						t.Error("the aggregated record is not settled")
					}
				}
				b.Free()
			})
		})
	}
}

// What a stretch was lent may be dropped until its worker begins with it, though it be all of a batch.
func TestStretchDroppedBeforeItBegins(t *testing.T) {
	l := NewLane(t.Context(), LaneConfig{
		Start: lease.TrimHorizon(), Gate: newSwitchGate(true), Give: func(int64) {}, Ended: func() {},
		Handle: func(context.Context, []record.Record) error { t.Error("a dropped record is handled"); return nil },
	})
	records, memory := remembered(numbered(1, 5))
	bytes := sizeOf(records)
	l.Push(records, memory, false)
	l.mu.Lock()
	lent := l.take()
	l.mu.Unlock()
	if got := l.DropTail(bytes); got != bytes || lent == nil {
		t.Fatalf("%d bytes freed of %d", got, bytes)
	}
	if again, rewind, err := l.Room(t.Context()); again != at(0) || !rewind || err != nil {
		t.Fatalf("read again after %v (%v, %v)", again, rewind, err)
	}
	records, memory = remembered(numbered(1, 2))
	l.Push(records, memory, false)
	var contexts contexts
	if next := l.pass(lent, &contexts); next == nil || number(&l.stretch.records[0]) != 1 {
		t.Errorf("the next stretch is %+v", l.stretch.records)
	}
	if s := l.State(); s.Queued != 2 || s.Handled != 0 {
		t.Errorf("%+v", s)
	}
}

// What was called back once stays so, though the worker looks at it before it sees that it is not its own any more, and
// the next one who calls back sees it there.
func TestStretchRecalledTwice(t *testing.T) {
	var s stretch
	s.batch, s.records, s.end = new(batch), make([]record.Record, 10), 10
	s.limit.Store(10)
	s.at.Store(1*indexRange + 3)
	s.recall()
	s.at.Store(2*indexRange + 4)
	s.recall()
	if limit := s.limit.Load(); limit != 4 || s.end != 4 {
		t.Errorf("the worker, which was left 4 records, has %d (%d)", limit, s.end)
	}
}
