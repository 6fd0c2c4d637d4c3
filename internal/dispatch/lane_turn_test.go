package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// intact checks that what a call got is still what it was.
func (w *turnWorld) intact(records []record.Record, numbers []int) {
	for i := range records {
		if told(&records[i]) != numbers[i] {
			w.fault("record %d became %q while it was handled", numbers[i], records[i].Data)
		}
	}
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
			w.intact(records, numbers)
			w.leave(numbers, 0)
			panic("no")
		}
	}
	if fate >= 6 { // defer
		ack := Defer(ctx)
		if ack == nil || Defer(ctx) == nil {
			w.fault("no ack to defer")
		}
		settle := func() { w.intact(records, numbers); w.leave(numbers, handled); ack(err); ack(errors.New("once")) }
		if fate == 6 {
			time.AfterFunc(work, settle)
		} else {
			settle() // before the handler has returned
		}
		return nil
	}
	time.Sleep(work)
	w.intact(records, numbers)
	w.leave(numbers, handled)
	return err
}

func (w *turnWorld) giveUp(_ context.Context, r *record.Record, cause error) error {
	n := told(r)
	w.mu.Lock()
	w.letter++
	full := w.letter%2 == 0
	w.mu.Unlock()
	if full {
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
			batch:     rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 20)).Draw(rt, "batch"),
			works:     rapid.SliceOfN(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 300)), 1, 20).Draw(rt, "milliseconds"),
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
		wait := time.Duration(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 400)).Draw(rt, "wait")) * time.Millisecond
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
			finish := feed{len(w.units), w.after, w.read, sizes, drops, stopAt}.run(t, b)
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
			taken, back := finish()
			if len(w.faults) > 0 {
				rt.Fatal(strings.Join(w.faults, "\n"))
			}
			if back != taken {
				rt.Fatalf("%d bytes taken, %d given back", taken, back)
			}
		})
	})
}
