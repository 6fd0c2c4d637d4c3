package dispatch

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// A mean of the last calls: long ones count as patience, so that a single one is soon forgotten.
func TestPace(t *testing.T) {
	var p pace
	if !p.quick() {
		t.Error("slow before anything is known")
	}
	p.note(time.Hour, 1)
	if p.quick() || p.mean != patience/paceOf {
		t.Errorf("after an hour's call: %v", p.mean)
	}
	calls := 0
	for p.slow(); !p.quick(); calls++ {
		p.note(time.Microsecond, 1)
	}
	if calls < paceOf || calls > 8*paceOf {
		t.Errorf("quick again after %d calls", calls)
	}
	if p.note(64*enough, 64); p.quick() {
		t.Errorf("quick with %v a call", p.mean)
	}
	if p.note(64*enough/2, 64); !p.quick() {
		t.Errorf("slow with %v a call", p.mean)
	}
	before := p
	if p.note(0, 0); p != before {
		t.Error("no call counts")
	}
}

// With order per key a quick handler gets its records as a stretch. When one takes long after all, those of other keys go on
// within patience, twice; those of its own wait.
func TestQuickHandlerBecomesSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, keys, slow = 60, 6, 10
		release := make(chan struct{})
		stretches := 0
		var b *bench
		b = newKeyBench(4, 1000, func(_ context.Context, r *record.Record) error {
			b.Lane.mu.Lock()
			if b.stretch.batch != nil {
				stretches++
			}
			b.Lane.mu.Unlock()
			if number(r) == slow {
				<-release
			}
			return nil
		})
		records, memory := remembered(keyed(1, total, keys))
		b.Push(records, memory, false)
		synctest.Wait()
		if s := b.State(); s.Handled != slow-1 || stretches != slow {
			t.Fatalf("%+v, %d in a stretch", s, stretches)
		}
		pass(2 * patience)
		waiting := 0
		for n := slow; n <= total; n += keys {
			waiting++
		}
		if s := b.State(); s.Handled != int64(total-waiting) || b.Watermark() != at(slow-1) || s.Above != total-waiting-(slow-1) {
			t.Errorf("while record %d is handled: %+v, watermark %v", slow, s, b.Watermark())
		}
		close(release)
		synctest.Wait()
		if s := b.State(); s.Handled != total || b.Watermark() != at(total) {
			t.Errorf("in the end: %+v, watermark %v", s, b.Watermark())
		}
		b.Drain()
		<-b.Done()
		b.Free()
	})
}

// A handler that was slow is quick again: then the records come as stretches again.
func TestSlowHandlerBecomesQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, slow = 2000, 200
		quick := 0
		var b *bench
		b = newKeyBench(4, 100, func(_ context.Context, r *record.Record) error {
			if number(r) <= slow {
				time.Sleep(10 * time.Millisecond)
				return nil
			}
			b.Lane.mu.Lock()
			if b.stretch.batch != nil {
				quick++
			}
			b.Lane.mu.Unlock()
			return nil
		})
		b.Push(keyed(1, total, 1000), nil, true)
		<-b.Done()
		if b.Free(); quick < (total-slow)/2 {
			t.Errorf("%d of %d records in a stretch", quick, total-slow)
		}
	})
}

// What a worker that was interrupted has of its last record: it has handled it, or was only about to begin.
func TestInterruptedWorker(t *testing.T) {
	for name, handled := range map[string]int{"handled": 3, "about to begin": 2} {
		t.Run(name, func(t *testing.T) {
			l := NewLane(t.Context(), LaneConfig{
				Start: lease.TrimHorizon(), Gate: newSwitchGate(true), Give: func(int64) {}, Ended: func() {},
				PerKey: true, AtOnce: 2, MaxInFlight: 100,
				Handle: func(context.Context, []record.Record) error { return nil },
			})
			records, memory := remembered(keyed(1, 5, 5))
			l.Push(records, memory, false)
			l.mu.Lock()
			lent := l.take()
			l.stretch.at.Store(1*indexRange + 2) // as the worker does, with the third record
			l.interrupt()
			l.mu.Unlock()
			if s := l.State(); s.Handled != 2 || s.Attempt != 1 || s.Running.IsZero() {
				t.Fatalf("interrupted: %+v", s)
			}
			next := l.passed(lent, step{handled: handled})
			if again := next == lent && len(next.calls) == 1 && number(next.calls[0].record) == 3; again != (handled == 2) {
				t.Errorf("the record that was interrupted comes again: %v", again)
			}
			if s := l.State(); s.Handled != int64(handled) {
				t.Errorf("in the end: %+v", s)
			}
		})
	}
}

// The last user record that came out of an aggregated record is the interrupted worker's, though the next ones come out now.
func TestInterruptKeepsTheUserRecord(t *testing.T) {
	l := NewLane(t.Context(), LaneConfig{
		Start: lease.TrimHorizon(), Gate: newSwitchGate(true), Give: func(int64) {}, Ended: func() {},
		PerKey: true, AtOnce: 2, MaxInFlight: 100,
	})
	w := &turnWorld{keyOracle: &keyOracle{keys: 7}, units: []unit{{1, 2 * takenApart}}}
	records, memory := remembered(w.read(0, 1))
	l.Push(records, memory, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take()
	workers := l.stretch.records
	l.stretch.at.Store(1*indexRange + takenApart - 1)
	l.interrupt()
	if n := told(&l.queue[0].inside.ahead[0]); n != takenApart+1 {
		t.Errorf("record %d is the next one", n)
	}
	if n := told(&workers[takenApart-1]); n != takenApart {
		t.Errorf("the worker's record became record %d", n)
	}
}

// Interrupts and drops may come at any moment of the worker's walk: nothing is lost, repeated or out of order in its key.
func TestInterruptAtAnyMoment(t *testing.T) {
	const total, answer = 20_000, 30
	w := &turnWorld{keyOracle: &keyOracle{keys: 7, running: map[int]bool{}, done: map[int]bool{}}, batch: 1}
	w.lay(total, []int{1, 1, 1, 1, 1, 100, 1, 3, 40})
	b := newKeyBench(3, 1000, func(_ context.Context, r *record.Record) error {
		n := told(r)
		w.begin(n)
		if n%3 == 0 {
			runtime.Gosched()
		}
		if told(r) != n {
			t.Errorf("record %d became %q while it was handled", n, r.Data)
		}
		w.end(n, true)
		return nil
	})
	go func() {
		for place := 0; ; {
			again, rewind, err := b.Room(t.Context())
			if err != nil {
				return
			}
			if rewind {
				place = w.after(again)
			}
			last := min(len(w.units), place+answer)
			records, memory := remembered(w.read(place, last))
			b.Push(records, memory, last == len(w.units))
			place = last
		}
	}()
	interrupts, drops := 0, 0
	for n := 1; ; n++ {
		select {
		case <-b.Done():
			for _, fault := range w.faults {
				t.Error(fault)
			}
			if s := b.State(); s.Handled != total || w.prefix() != total || s.Queued != 0 || interrupts == 0 || drops == 0 {
				t.Errorf("%+v after %d interrupts, %d drops", s, interrupts, drops)
			}
			b.Drain()
			b.Free()
			return
		default:
		}
		if n%8 == 0 && b.DropTail(1000) > 0 {
			drops++
		}
		b.Lane.mu.Lock()
		b.pace = pace{} // quick again, however busy the machine is
		if b.stretch.batch != nil {
			if b.interrupt(); b.stretch.batch == nil {
				interrupts++
			}
			b.wake()
		}
		b.Lane.mu.Unlock()
		runtime.Gosched()
	}
}
