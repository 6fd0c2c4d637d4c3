package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leatstream/leat/internal/record"
)

// Between the ack of a record and the start of the next one the handler has nothing of the batch.
func TestLaneDropTailBetweenTwoRecords(t *testing.T) {
	l := NewLane(t.Context(), LaneConfig{
		Start: at(3), Gate: newSwitchGate(true), Give: func(int64) {}, Ended: func() {},
		Handle: func(context.Context, []record.Record) error { return nil },
	})
	records := numbered(4, 6)
	bytes := sizeOf(records)
	l.Push(records, nil, false)
	l.mu.Lock()
	l.started = 1
	l.giveBack(l.take(), step{handled: 1})
	l.mu.Unlock()
	if got := l.DropTail(bytes); got != bytes {
		t.Errorf("%d bytes freed of %d", got, bytes)
	}
	again, rewind, err := l.Room(t.Context())
	if again != at(4) || !rewind || err != nil {
		t.Fatalf("read again after %v (%v, %v), want 4", again, rewind, err)
	}
	l.Push(numbered(5, 5), nil, false)
	if next := l.next(); next == nil || len(l.stretch.records) != 1 || number(&l.stretch.records[0]) != 5 {
		t.Errorf("next are %+v", l.stretch.records)
	}
}

// A reader that honours Rewind, drops at random, handlers that fail at random: every record is handled
// once, in order, and every byte is given back.
func TestLaneDropTailLosesAndReordersNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		total := rapid.IntRange(0, 60).Draw(rt, "records")
		sizes := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 20).Draw(rt, "batches")
		sizes[0] = max(1, sizes[0]) // so that the reader gets on
		drops := rapid.SliceOfN(rapid.Int64Range(0, 3000), 0, 40).Draw(rt, "drops")
		fails := rapid.SliceOfN(rapid.Bool(), 1, 20).Draw(rt, "fails")
		stopAt := rapid.IntRange(-1, total).Draw(rt, "stopAt")
		synctest.Test(t, func(t *testing.T) {
			var j journal
			calls := 0
			b := newBench(0, func(_ context.Context, r *record.Record) error {
				time.Sleep(time.Duration(number(r)%3) * 50 * time.Millisecond)
				if calls++; fails[calls%len(fails)] && r.Attempt < 3 {
					return errors.New("no")
				}
				j.add(number(r))
				return nil
			})
			var taken, freed atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			reader := make(chan struct{})
			go func() {
				defer close(reader)
				for place, batch := 0, 0; ; batch++ {
					again, rewind, err := b.Room(ctx)
					if err != nil {
						return
					}
					if rewind {
						for place = 0; at(place) != again; place++ {
						}
					}
					time.Sleep(time.Duration(batch%2) * 70 * time.Millisecond) // a call, in which the tail may be dropped
					last := min(total, place+sizes[batch%len(sizes)])
					records, memory := remembered(numbered(place+1, last))
					taken.Add(sizeOf(records))
					b.Push(records, memory, last == total)
					place = last
					if len(records) == 0 && last < total {
						time.Sleep(time.Second)
					}
				}
			}()
			go func() {
				for i, want := range drops {
					time.Sleep(time.Duration(10+i*7%90) * time.Millisecond)
					freed.Add(b.DropTail(want))
				}
			}()
			if stopAt >= 0 {
				time.Sleep(time.Duration(stopAt) * 40 * time.Millisecond)
				b.Cancel(ErrDraining)
			} else {
				<-b.Done()
			}
			pass(time.Hour)
			cancel()
			<-reader
			b.Free()
			<-b.Done()
			for i, n := range j.all() {
				if n != i+1 {
					rt.Fatalf("handled %v", j.all())
				}
			}
			if n := len(j.all()); stopAt < 0 && n != total {
				rt.Fatalf("%d of %d records were handled", n, total)
			}
			if got := b.bytesGiven() + freed.Load(); got != taken.Load() {
				rt.Fatalf("%d bytes taken, %d given back", taken.Load(), got)
			}
		})
	})
}
