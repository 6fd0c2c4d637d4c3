package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// Open comes first, Close last, with the reason; what fails comes again, but for a Close that cannot.
func TestLaneOpenAndClose(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*bench)
		want string
	}{
		"finished": {func(b *bench) { b.Push(nil, nil, true); <-b.Done() }, "open open handle handle close:finished close:finished ended"},
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
		b.Push(numbered(1, 1), nil, true)
		synctest.Wait()
		b.Drain()
		<-b.Done()
		if b.ended != 0 || b.Watermark() != at(1) || !slices.Equal(reasons, []lease.CloseReason{lease.CloseFinished, lease.CloseReleased}) {
			t.Errorf("ended %d times, watermark %v, closed %v", b.ended, b.Watermark(), reasons)
		}
		b.Free()
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
		b.Push(keyed(1, 12, 4), nil, false) // 5 and 9 wait behind 1; 7 is the last that may be in flight
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
		b.Push(keyed(1, 2, 1), nil, false)
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
		b.Push(keyed(1, 2, 2), nil, false)
		pass(50 * time.Millisecond)
		b.Drain()
		<-b.Done()
		if got := slices.Sorted(slices.Values(j.all())); !slices.Equal(got, []int{1, 2}) { // either begins first
			t.Errorf("handled %v", got)
		}
		b.Free()
	})
}

// A lane that is cancelled knows why before its workers stop: Close is told by it.
func TestCancelTellsWhyBeforeTheWorkersStop(t *testing.T) {
	l := NewLane(t.Context(), LaneConfig{Start: lease.TrimHorizon(), Gate: newSwitchGate(true), Give: func(int64) {}, Ended: func() {}})
	told := error(nil)
	l.cancel = func(cause error) {
		told = cause
		select {
		case <-l.stop:
			t.Error("the workers were stopped before")
		default:
		}
	}
	if l.Cancel(ErrLeaseLost); told != ErrLeaseLost {
		t.Errorf("told %v", told)
	}
}
