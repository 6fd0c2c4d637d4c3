package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// turnWorld is a handler that behaves as drawn, and an oracle of what it may get.
type turnWorld struct {
	*keyOracle
	batch  int
	works  []int // milliseconds
	fates  []int
	calm   bool // nothing fails
	bad    int  // every so many records one never succeeds; 0 is none
	dead   map[int]bool
	letter int

	units []unit
}

// unit is a record of the shard: a plain one, or an aggregated one with some user records.
type unit struct{ first, last int }

// lay puts the records 1 to total into units.
func (w *turnWorld) lay(total int, sizes []int) {
	for n, i := 1, 0; n <= total; i++ {
		last := min(total, n+sizes[i%len(sizes)]-1)
		w.units = append(w.units, unit{n, last})
		n = last + 1
	}
}

// at is the position after record n.
func (w *turnWorld) at(n int) lease.Position {
	for i, u := range w.units {
		if n >= u.first && n <= u.last {
			p, err := lease.AfterSequence(fmt.Sprint(i+1), int64(n-u.first))
			if err != nil {
				panic(err)
			}
			return p
		}
	}
	return lease.TrimHorizon()
}

// read is what a reader gets from the unit at place on.
func (w *turnWorld) read(place, last int) (records []record.Record) {
	for i := place; i < last; i++ {
		u := w.units[i]
		r := record.Record{SequenceNumber: fmt.Sprint(i + 1), PartitionKey: fmt.Sprint(u.first % w.keys), Data: fmt.Append(nil, u.first)}
		if u.last > u.first {
			a := kpl.NewAggregator(0)
			for n := u.first; n <= u.last; n++ {
				if full, err := a.Add(fmt.Sprint(n%w.keys), "", fmt.Append(nil, n)); full || err != nil {
					panic(err)
				}
			}
			r.Data, r.Aggregated = a.Finish(), true
		}
		records = append(records, r)
	}
	return records
}

// after is the unit at which a reader goes on behind a position: the same one again, if it is aggregated.
func (w *turnWorld) after(p lease.Position) int {
	sequence, _, ok := p.Sequence()
	if !ok {
		return 0
	}
	var i int
	fmt.Sscan(sequence, &i)
	if u := w.units[i-1]; u.last > u.first {
		return i - 1
	}
	return i
}

// told is the number of a record.
func told(r *record.Record) (n int) {
	fmt.Sscan(string(r.Data), &n)
	return n
}

// enter checks what a call gets.
func (w *turnWorld) enter(records []record.Record) {
	if len(records) == 0 || len(records) > w.batch {
		w.fault("a call with %d records", len(records))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[int]bool{}
	for i := range records {
		n := told(&records[i])
		key := n % w.keys
		if before := n - w.keys; w.done[n] || before > 0 && !w.done[before] && !seen[before] {
			w.faults = append(w.faults, fmt.Sprintf("record %d begins; handled before: itself %v, the one before %v", n, w.done[n], w.done[before]))
		}
		if w.running[key] && !slices.ContainsFunc(records[:i], func(r record.Record) bool { return told(&r)%w.keys == key }) {
			w.faults = append(w.faults, fmt.Sprintf("record %d begins while one of its key is handled", n))
		}
		if i > 0 && n <= told(&records[i-1]) {
			w.faults = append(w.faults, fmt.Sprintf("record %d comes after %d in a batch", n, told(&records[i-1])))
		}
		seen[n], w.running[key] = true, true
	}
}

func (w *turnWorld) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// leave notes that the first n records of a call are handled.
func (w *turnWorld) leave(numbers []int, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range numbers {
		w.running[r%w.keys] = false
		w.done[r] = w.done[r] || i < n
	}
}

func (w *turnWorld) handle(ctx context.Context, records []record.Record) error {
	w.enter(records)
	numbers, attempts := []int{}, 0
	for i := range records {
		numbers = append(numbers, told(&records[i]))
		attempts = max(attempts, records[i].Attempt)
	}
	pick := numbers[0]*31 + attempts*7
	work := time.Duration(w.works[pick%len(w.works)]) * time.Millisecond
	fate := w.fates[pick%len(w.fates)]
	handled, err := len(numbers), error(nil)
	if worst := slices.IndexFunc(numbers, func(n int) bool { return w.bad > 0 && n%w.bad == 0 }); worst >= 0 {
		handled, err = 0, errors.New("bad")
		if fate%3 == 1 {
			handled, err = worst, &BatchError{Index: worst, Err: errors.New("bad")}
		}
		if fate%3 == 2 {
			err = &PoisonError{Err: err}
		}
	} else if !w.calm && attempts <= 3 {
		switch at := pick % len(numbers); fate {
		case 1, 2:
			handled, err = 0, errors.New("no")
		case 3:
			handled, err = at, &BatchError{Index: at, Err: errors.New("no")}
		case 4:
			time.Sleep(work)
			w.leave(numbers, 0)
			panic("no")
		}
	}
	if fate >= 6 { // defer
		ack := Defer(ctx)
		if ack == nil || Defer(ctx) == nil {
			w.fault("no ack to defer")
		}
		settle := func() { w.leave(numbers, handled); ack(err); ack(errors.New("once")) }
		if fate == 6 {
			time.AfterFunc(work, settle)
		} else {
			settle() // before the handler has returned
		}
		return nil
	}
	time.Sleep(work)
	w.leave(numbers, handled)
	return err
}

func (w *turnWorld) giveUp(_ context.Context, r *record.Record, cause error) error {
	n := told(r)
	if w.letter++; w.letter%2 == 0 {
		return errors.New("the letter box is full")
	}
	if w.bad == 0 || n%w.bad != 0 || cause == nil {
		w.fault("record %d was given up, %v", n, cause)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[n], w.dead[n] = true, true
	return nil
}

// Batches, deferred acks, failures of every kind, records that are given up, drops and ends, with both orders:
// never two of one key at once, each key in order, each record handled once, the watermark exactly at the oldest
// record that is not handled, every byte given back; and where nothing fails, a drain leaves nothing handled above
// the watermark.
func TestLaneTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		total := rapid.IntRange(0, 120).Draw(rt, "records")
		w := &turnWorld{
			keyOracle: &keyOracle{keys: rapid.IntRange(1, 12).Draw(rt, "keys"), running: map[int]bool{}, done: map[int]bool{}},
			batch:     rapid.IntRange(1, 20).Draw(rt, "batch"),
			works:     rapid.SliceOfN(rapid.IntRange(0, 300), 1, 20).Draw(rt, "milliseconds"),
			fates:     rapid.SliceOfN(rapid.IntRange(0, 7), 1, 20).Draw(rt, "fates"),
			calm:      rapid.Bool().Draw(rt, "calm"),
			dead:      map[int]bool{},
		}
		w.lay(total, rapid.SliceOfN(rapid.IntRange(1, 12), 1, 10).Draw(rt, "units"))
		perKey := rapid.Bool().Draw(rt, "perKey")
		attempts := rapid.IntRange(0, 8).Draw(rt, "attempts")
		if attempts > 3 && !w.calm { // so that only bad ones are given up
			w.bad = rapid.IntRange(2, 40).Draw(rt, "bad")
		}
		wait := time.Duration(rapid.IntRange(0, 400).Draw(rt, "wait")) * time.Millisecond
		bytes := rapid.IntRange(0, 60).Draw(rt, "bytes")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 10).Draw(rt, "answers")
		drops := rapid.SliceOfN(rapid.Int64Range(0, 5000), 0, 20).Draw(rt, "drops")
		stopAt := rapid.IntRange(-1, 3000).Draw(rt, "stopAt")
		cfg := LaneConfig{
			PerKey: perKey, AtOnce: rapid.IntRange(1, 8).Draw(rt, "n"), MaxInFlight: rapid.IntRange(1, 60).Draw(rt, "most"),
			Handle: w.handle, Batch: Batch{Records: w.batch, Bytes: bytes, Wait: wait},
		}
		if !perKey {
			cfg.AtOnce = 1
		}
		if w.bad > 0 {
			cfg.GiveUp, cfg.Retry.Attempts = w.giveUp, attempts
		}
		synctest.Test(t, func(t *testing.T) {
			b := benchOf(cfg)
			var taken, freed int64
			reader, dropper := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(reader)
				for place, n := 0, 0; ; n++ {
					again, rewind, err := b.Room(t.Context())
					if err != nil {
						return
					}
					if rewind {
						place = w.after(again)
					}
					time.Sleep(time.Duration(n%2) * 70 * time.Millisecond)
					last := min(len(w.units), place+sizes[n%len(sizes)])
					records := w.read(place, last)
					taken += sizeOf(records)
					b.Push(records, last == len(w.units))
					place = last
				}
			}()
			go func() {
				defer close(dropper)
				for i, want := range drops {
					time.Sleep(time.Duration(10+i*7%90) * time.Millisecond)
					freed += b.DropTail(want)
				}
			}()
			if stopAt >= 0 {
				time.Sleep(time.Duration(stopAt) * time.Millisecond)
				b.Drain()
			}
			<-b.Done()
			handled := w.prefix()
			want := w.at(handled)
			if b.ended == 1 {
				want = lease.ShardEnd()
			}
			if got := b.Watermark(); got != want || stopAt < 0 && b.ended != 1 {
				rt.Fatalf("watermark %v, want %v; ended %d times", got, want, b.ended)
			}
			if b.ended == 1 && handled != total {
				rt.Fatalf("ended at %d of %d", handled, total)
			}
			if s := b.State(); s.GivenUp != int64(len(w.dead)) || w.calm && s.Above > 0 || b.ended == 1 && s.Queued != 0 {
				rt.Fatalf("%d were given up, %+v", len(w.dead), s)
			}
			b.Drain()
			<-reader
			<-dropper
			b.Free()
			if len(w.faults) > 0 {
				rt.Fatal(strings.Join(w.faults, "\n"))
			}
			if got := b.bytesGiven() + freed; got != taken {
				rt.Fatalf("%d bytes taken, %d given back", taken, got)
			}
		})
	})
}

// handouts notes what a lane hands out.
type handouts struct {
	began time.Time
	got   []string
}

func (c *handouts) note(records []record.Record) {
	var ns []string
	for i := range records {
		ns = append(ns, fmt.Sprint(number(&records[i])))
	}
	c.got = append(c.got, fmt.Sprintf("%v %s", time.Since(c.began), strings.Join(ns, ",")))
}

func (c *handouts) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(c.got, want) {
		t.Errorf("calls:\n\t%s\nwant:\n\t%s", strings.Join(c.got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// batchBench runs a lane in batches for a virtual hour, over 8 records of 4 keys if they are keyed.
func batchBench(t *testing.T, cfg LaneConfig, handle func([]record.Record) error) (*handouts, *bench) {
	c := &handouts{began: time.Now()}
	cfg.Handle = func(_ context.Context, records []record.Record) error {
		c.note(records)
		return handle(records)
	}
	b := benchOf(cfg)
	b.Push(keyed(1, 8, 4), true)
	pass(time.Hour)
	b.Drain()
	b.Free()
	<-b.Done()
	return c, b
}

func has(records []record.Record, n int) bool {
	return slices.ContainsFunc(records, func(r record.Record) bool { return number(&r) == n })
}

// A batch that fails is tried again whole; at the fifth failure in halves, until only the record that fails is
// left. What is beside it goes on.
func TestLaneHalvesABatchThatGoesOnFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := batchBench(t, LaneConfig{Batch: Batch{Records: 8}, Retry: Retry{MaxPause: time.Second}}, func(records []record.Record) error {
			if has(records, 3) && records[0].Attempt < 9 {
				return errors.New("no")
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "100ms 1,2,3,4,5,6,7,8", "300ms 1,2,3,4,5,6,7,8", "700ms 1,2,3,4,5,6,7,8", "1.5s 1,2,3,4,5,6,7,8",
			"2.5s 1,2,3,4", "3.5s 1,2", "3.5s 3,4", "4.5s 3", "5.5s 3", "5.5s 4", "5.5s 5,6,7,8")
		if told := b.told(); len(told) != 2 || told[0] == nil || told[1] != nil || b.ended != 1 {
			t.Errorf("told %v, ended %d", told, b.ended)
		}
	})
}

// With order per key the halves have different keys, and do not wait for each other.
func TestLaneHalvesByKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := batchBench(t, LaneConfig{PerKey: true, AtOnce: 1, MaxInFlight: 100, Batch: Batch{Records: 8}, Retry: Retry{MaxPause: time.Second}}, func(records []record.Record) error {
			if has(records, 3) {
				return errors.New("no")
			}
			return nil
		})
		c.got = c.got[5:min(len(c.got), 12)]
		slices.Sort(c.got) // what is due at one moment comes in any order
		c.want(t, "2.5s 1,2,5,6", "2.5s 3,4,7,8", "3.5s 3,7", "3.5s 4,8", "4.5s 3", "5.5s 3", "6.5s 3")
		if s := b.State(); s.Handled != 6 || b.Watermark() != at(2) {
			t.Errorf("%+v, watermark %v", s, b.Watermark())
		}
	})
}

// A BatchError leaves what is before it handled; tries are counted for the record that it names only.
func TestLaneBatchErrorNamesTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []int
		cfg := LaneConfig{
			Batch: Batch{Records: 8}, Retry: Retry{Attempts: 2},
			GiveUp: func(_ context.Context, r *record.Record, cause error) error {
				given = append(given, number(r), r.Attempt)
				return nil
			},
		}
		c, b := batchBench(t, cfg, func(records []record.Record) error {
			for i := range records {
				if n := number(&records[i]); n == 3 || n == 6 {
					return fmt.Errorf("wrapped: %w", &BatchError{Index: i, Err: errors.New("no")})
				}
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "100ms 3,4,5,6,7,8", "100ms 4,5,6,7,8", "200ms 6,7,8", "200ms 7,8")
		if !slices.Equal(given, []int{3, 2, 6, 4}) || b.ended != 1 {
			t.Errorf("given up (record, attempt) %v, ended %d", given, b.ended)
		}
	})
}

// Poison is not tried again; a batch with it is halved at once.
func TestLanePoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []int
		cfg := LaneConfig{Batch: Batch{Records: 8}, GiveUp: func(_ context.Context, r *record.Record, cause error) error {
			given = append(given, number(r))
			return nil
		}}
		c, b := batchBench(t, cfg, func(records []record.Record) error {
			if has(records, 8) {
				return &PoisonError{Err: errors.New("no")}
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "0s 1,2,3,4", "0s 5,6,7,8", "0s 5,6", "0s 7,8", "0s 7", "0s 8")
		if !slices.Equal(given, []int{8}) || len(b.told()) != 0 {
			t.Errorf("given up %v, told %v", given, b.told())
		}
	})
}

// Nothing is acknowledged before its dead letter is durable, and the handler is not called again meanwhile.
func TestLaneWaitsForTheDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Bool
		handled := 0
		b := benchOf(LaneConfig{
			Retry: Retry{Attempts: 1},
			Handle: func(_ context.Context, records []record.Record) error {
				if handled++; number(&records[0]) == 1 {
					return errors.New("no")
				}
				return nil
			},
			GiveUp: func(context.Context, *record.Record, error) error {
				if !open.Load() {
					return errors.New("the disk is full")
				}
				return nil
			},
		})
		b.push(1, 2)
		pass(time.Hour)
		if s := b.State(); b.Watermark() != at(0) || handled != 1 || s.GivenUp != 0 || s.Err == nil || !strings.Contains(s.Err.Error(), "the disk is full") {
			t.Errorf("watermark %v after %d calls, %+v", b.Watermark(), handled, s)
		}
		if told := b.told(); len(told) != 1 {
			t.Errorf("told %v", told)
		}
		open.Store(true)
		pass(time.Minute)
		if s := b.State(); b.Watermark() != at(2) || s.GivenUp != 1 || s.Handled != 2 || len(b.told()) != 2 {
			t.Errorf("watermark %v, %+v, told %v", b.Watermark(), s, b.told())
		}
		b.Drain()
		<-b.Done()
		b.Free()
	})
}

// MaxAge counts from the record's arrival.
func TestLaneGivesOldRecordsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := map[int]int{}
		b := benchOf(LaneConfig{
			Retry: Retry{MaxAge: time.Minute},
			Handle: func(_ context.Context, records []record.Record) error {
				tries[number(&records[0])]++
				return errors.New("no")
			},
			GiveUp: func(context.Context, *record.Record, error) error { return nil },
		})
		records := numbered(1, 2)
		records[0].ArrivalTime, records[1].ArrivalTime = time.Now().Add(-time.Hour), time.Now()
		b.Push(records, true)
		<-b.Done()
		b.Free()
		if tries[1] != 1 || tries[2] < 5 {
			t.Errorf("tries %v", tries)
		}
	})
}

// A batch waits to fill, but no longer than MaxWait, and not at the shard's end.
func TestLaneBatchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &handouts{began: time.Now()}
		b := benchOf(LaneConfig{
			Batch:  Batch{Records: 4, Bytes: 10, Wait: time.Second},
			Handle: func(_ context.Context, records []record.Record) error { c.note(records); return nil },
		})
		for n := 1; n <= 4; n++ { // full by number; more answers than are read ahead otherwise
			if _, _, err := b.Room(t.Context()); err != nil {
				t.Fatal(err)
			}
			records := numbered(n, n)
			records[0].Data = nil
			b.Push(records, false)
			pass(100 * time.Millisecond)
		}
		b.Push(numbered(5, 6), false) // 5 and 6 bytes: full by bytes
		pass(10 * time.Second)
		b.Push(numbered(15, 15), false)
		pass(500 * time.Millisecond)
		b.Push(numbered(16, 16), false)
		pass(10 * time.Second)
		b.Push(numbered(22, 22), true)
		<-b.Done()
		b.Free()
		c.want(t, "300ms 1,2,3,4", "400ms 5", "1.4s 6", "11.4s 15,16", "20.9s 22")
	})
}

// A deferred ack keeps the order, the head and the drain waiting, and is inert after the end of the epoch.
func TestLaneDefer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acks []func(error)
		var contexts []context.Context
		b := benchOf(LaneConfig{Timeout: time.Hour, Handle: func(ctx context.Context, _ []record.Record) error {
			acks, contexts = append(acks, Defer(ctx)), append(contexts, ctx)
			return nil
		}})
		b.push(1, 3)
		pass(time.Minute)
		if s := b.State(); len(acks) != 1 || !s.Deferred || s.Running.IsZero() || contexts[0].Err() != nil {
			t.Fatalf("%d calls, %+v, context %v", len(acks), s, contexts[0].Err())
		}
		acks[0](nil)
		pass(time.Second)
		if len(acks) != 2 || b.Watermark() != at(1) || contexts[0].Err() == nil {
			t.Fatalf("%d calls, watermark %v, context %v", len(acks), b.Watermark(), contexts[0].Err())
		}
		if Defer(contexts[0]) != nil || Defer(t.Context()) != nil {
			t.Error("Defer after the end, or of another context, gives an ack")
		}
		acks[1](errors.New("no"))
		pass(time.Second)
		if len(acks) != 3 || b.Watermark() != at(1) {
			t.Fatalf("%d calls, watermark %v", len(acks), b.Watermark())
		}
		acks[1](nil) // was settled
		b.Drain()
		synctest.Wait()
		select {
		case <-b.Done():
			t.Error("drained while an ack is to come")
		default:
		}
		acks[2](nil)
		<-b.Done()
		if b.Watermark() != at(2) || len(acks) != 3 {
			t.Errorf("watermark %v, %d calls", b.Watermark(), len(acks))
		}
		b.Free()
	})
	synctest.Test(t, func(t *testing.T) {
		var ack func(error)
		b := benchOf(LaneConfig{Handle: func(ctx context.Context, _ []record.Record) error { ack = Defer(ctx); return nil }})
		b.push(1, 2)
		synctest.Wait()
		b.Cancel(ErrLeaseLost)
		b.Abandon()
		<-b.Done() // though the ack never came
		ack(nil)
		if b.Watermark() != at(0) {
			t.Errorf("watermark %v", b.Watermark())
		}
		b.Free()
	})
}

// Deferred records hold no worker: MaxInFlight is the bound.
func TestLaneDeferHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acks []func(error)
		b := benchOf(LaneConfig{PerKey: true, AtOnce: 1, MaxInFlight: 5, Handle: func(ctx context.Context, _ []record.Record) error {
			acks = append(acks, Defer(ctx))
			return nil
		}})
		b.Push(keyed(1, 8, 100), true)
		synctest.Wait()
		if len(acks) != 5 {
			t.Fatalf("%d calls", len(acks))
		}
		for _, i := range []int{4, 2, 0, 1, 3} {
			acks[i](nil)
			synctest.Wait()
		}
		for i := 5; i < 8; i++ {
			acks[i](nil)
		}
		<-b.Done()
		if b.ended != 1 {
			t.Error("not ended")
		}
		b.Free()
	})
}

// Open comes first, Close last, with the reason; what fails comes again, but for a Close that cannot.
func TestLaneOpenAndClose(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*bench)
		want string
	}{
		"finished": {func(b *bench) { b.Push(nil, true); <-b.Done() }, "open open handle handle close:finished close:finished ended"},
		"released": {func(b *bench) { b.Drain(); <-b.Done() }, "open open handle handle close:released"},
		"lost":     {func(b *bench) { b.Abandon(); b.Cancel(ErrLeaseLost); <-b.Done() }, "open open handle handle close:lost"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log []string
			fail := map[string]int{"open": 1, "close:finished": 1, "close:released": 1, "close:lost": 1}
			step := func(what string) error {
				log = append(log, what)
				if fail[what]--; fail[what] >= 0 {
					return errors.New("no")
				}
				return nil
			}
			cfg := LaneConfig{
				Open:   func(context.Context) error { return step("open") },
				Handle: func(context.Context, []record.Record) error { return step("handle") },
				Close:  func(_ context.Context, r lease.CloseReason) error { return step("close:" + r.String()) },
			}
			b := &bench{gate: newSwitchGate(true)}
			cfg.Ended = func() { log = append(log, "ended") }
			b.fill(&cfg)
			b.Lane = NewLane(context.Background(), cfg)
			go b.Run()
			b.push(1, 2)
			pass(time.Minute)
			c.end(b)
			if got := strings.Join(log, " "); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
			if closing := (*CloseError)(nil); name != "finished" && (len(b.told()) != 1 || !errors.As(b.told()[0], &closing)) {
				t.Errorf("%s: told %v", name, b.told())
			}
			b.Free()
		})
	}
}

// What is finished, but cannot be closed before the lane is stopped, is released: somebody else finishes it.
func TestLaneStoppedInClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reasons []lease.CloseReason
		b := benchOf(LaneConfig{
			Handle: func(context.Context, []record.Record) error { return nil },
			Close: func(_ context.Context, r lease.CloseReason) error {
				reasons = append(reasons, r)
				return errors.New("no")
			},
		})
		b.Push(numbered(1, 1), true)
		synctest.Wait()
		b.Drain()
		<-b.Done()
		if b.ended != 0 || b.Watermark() != at(1) || !slices.Equal(reasons, []lease.CloseReason{lease.CloseFinished, lease.CloseReleased}) {
			t.Errorf("ended %d times, watermark %v, closed %v", b.ended, b.Watermark(), reasons)
		}
		b.Free()
	})
}

// A drain still handles what waits for its key's turn below a record that was handed out, and nothing above.
func TestLaneDrainFillsTheGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		b := newKeyBench(2, 7, func(_ context.Context, r *record.Record) error {
			j.add(number(r))
			if number(r) == 1 {
				time.Sleep(time.Second)
			}
			return nil
		})
		b.Push(keyed(1, 12, 4), false) // 5 and 9 wait behind 1; 7 is the last that may be in flight
		pass(500 * time.Millisecond)
		j.want(t, 1, 2, 3, 4, 6, 7)
		b.Drain()
		<-b.Done()
		j.want(t, 1, 2, 3, 4, 6, 7, 5)
		if s := b.State(); b.Watermark() != at(7) || s.Above != 0 {
			t.Errorf("watermark %v, %+v", b.Watermark(), s)
		}
		b.Free()
	})
	synctest.Test(t, func(t *testing.T) { // one parked above what was handed out
		var j journal
		b := newKeyBench(2, 100, func(_ context.Context, r *record.Record) error {
			j.add(number(r))
			time.Sleep(time.Second)
			return nil
		})
		b.Push(keyed(1, 2, 1), false)
		pass(500 * time.Millisecond)
		b.Drain()
		<-b.Done()
		j.want(t, 1)
		b.Free()
	})
}

// A drain does not try again what has failed, though another handler still runs.
func TestLaneDrainRetriesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		b := newKeyBench(2, 100, func(_ context.Context, r *record.Record) error {
			j.add(number(r))
			if number(r) == 1 {
				return errors.New("no")
			}
			time.Sleep(time.Minute)
			return nil
		})
		b.Push(keyed(1, 2, 2), false)
		pass(50 * time.Millisecond)
		b.Drain()
		<-b.Done()
		j.want(t, 1, 2)
		b.Free()
	})
}

// The pauses begin anew when a batch has got further.
func TestLanePauseAfterProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := batchBench(t, LaneConfig{Batch: Batch{Records: 8}}, func(records []record.Record) error {
			switch n := number(&records[0]); {
			case n == 1 && records[0].Attempt == 4:
				return &BatchError{Index: 4, Err: errors.New("no")}
			case n == 1:
				return errors.New("no")
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "100ms 1,2,3,4,5,6,7,8", "300ms 1,2,3,4,5,6,7,8", "700ms 1,2,3,4,5,6,7,8", "800ms 5,6,7,8")
	})
}

// A shard whose Open never succeeds is not closed, and a panic there is an error.
func TestLaneStoppedInOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := benchOf(LaneConfig{
			Open:   func(context.Context) error { panic("no") },
			Handle: func(context.Context, []record.Record) error { t.Error("handled"); return nil },
			Close:  func(context.Context, lease.CloseReason) error { t.Error("closed"); return nil },
		})
		b.push(1, 1)
		pass(time.Hour)
		if told := b.told(); len(told) != 1 {
			t.Errorf("told %v", told)
		}
		b.Drain()
		<-b.Done()
		b.Free()
	})
}
