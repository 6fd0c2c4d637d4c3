package leat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leatstream/leat/local"
)

// A server that throttles, fails, drops answers and lets iterators expire, for hours: nothing is lost, the
// order holds, no record is repeated, since no lease moves.
func TestRunFaultyServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 3)
		var faults []local.Fault
		for _, op := range []string{"GetRecords", "GetShardIterator", "ListShards"} {
			faults = append(faults,
				local.Fault{Kind: local.Throttle, Op: op, Share: 0.15},
				local.Fault{Kind: local.Error, Op: op, Share: 0.15},
				local.Fault{Kind: local.DropAnswer, Op: op, Share: 0.15},
				local.Fault{Kind: local.Delay, Op: op, Share: 0.1, Delay: 700 * time.Millisecond},
			)
		}
		faults = append(faults, local.Fault{Kind: local.ExpireIterator, Share: 0.2})
		r.server.SetFaults(7, faults...)
		slow := func(c *Config) { c.PollInterval = 20 * time.Second }
		anna, berta := r.start("anna", nil, slow), r.start("berta", nil, slow)
		r.fill(6, 120, time.Minute)
		r.split(r.open()[1])
		r.fill(6, 60, time.Minute)
		elapse(5 * time.Minute)
		r.must(anna.stop())
		r.must(berta.stop())
		if repeats := r.judge(0); repeats != 0 {
			t.Errorf("%d records repeated", repeats)
		}
		if lost := append(anna.kinds(EventLost, EventFenced), berta.kinds(EventLost, EventFenced)...); len(lost) != 0 {
			t.Errorf("trouble with Kinesis cost leases: %v", lost)
		}
	})
}

// What is wrong with a record's reading is told once, and its end too.
func TestRunEventsOfARecordThatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.put("key", 0)
		w := r.start("anna", func(_ context.Context, record *Record) error {
			if record.Attempt < 9 {
				return errOutOfTea
			}
			return nil
		})
		elapse(3 * time.Second)
		s := w.Stats().Shards[0]
		if !strings.HasPrefix(s.Why, "retrying a record after attempt 5: out of tea") || s.Attempt != 5 || !errors.Is(s.Error, errOutOfTea) {
			t.Errorf("%+v", s)
		}
		elapse(time.Minute)
		r.must(w.stop())
		want := []EventKind{EventJoined, EventTook, EventRetrying, EventMoving, EventReleased, EventLeft}
		if got := w.kinds(EventJoined, EventTook, EventRetrying, EventStuck, EventMoving, EventReleased, EventLeft, EventLost); !slices.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		for _, ev := range w.events {
			if ev.Group != "billing" || ev.Stream != riverName || ev.Time.IsZero() {
				t.Errorf("%+v", ev)
			}
			if ev.Kind == EventRetrying && (!errors.Is(ev.Err, errOutOfTea) || ev.Shard == "") {
				t.Errorf("%+v", ev)
			}
		}
	})
}

// counter is a slog.Handler that counts what is logged at Info and above.
type counter struct {
	slog.Handler
	n atomic.Int64
}

func (c *counter) Handle(ctx context.Context, record slog.Record) error {
	c.n.Add(1)
	return c.Handler.Handle(ctx, record)
}

// An hour of traffic without changes logs nothing.
func TestRunIsSilentInSteadyState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		var out bytes.Buffer
		logs := &counter{Handler: slog.NewTextHandler(&out, nil)}
		quiet := func(c *Config) { c.Logger, c.PollInterval = slog.New(logs), 10*time.Second }
		anna, berta := r.start("anna", nil, quiet), r.start("berta", nil)
		elapse(30 * time.Second)
		begun := logs.n.Load()
		events := len(anna.events)
		if begun == 0 {
			t.Error("the start was not logged")
		}
		r.fill(5, 60, time.Minute)
		if n := logs.n.Load() - begun; n != 0 || len(anna.events) != events {
			t.Errorf("%d lines in an hour without changes, and %d events:\n%s", n, len(anna.events)-events, out.String())
		}
		r.must(anna.stop())
		r.must(berta.stop())
		r.judge(0)
	})
}

// No record's data or key gets into a log or an event, whatever handlers do, but for what their own
// errors say.
func TestRunTellsNothingOfRecords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		const canary = "canary-7f3a"
		for range 20 {
			r.put(canary, 0)
		}
		var out bytes.Buffer
		logs := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w := r.start("anna", func(_ context.Context, record *Record) error {
			if record.Attempt > 6 {
				return nil
			}
			switch record.SequenceNumber[len(record.SequenceNumber)-1] % 4 {
			case 0:
				return errors.New("the handler's own words")
			case 1:
				panic(record)
			case 2:
				panic(*record)
			}
			panic(record.Data)
		}, func(c *Config) { c.Logger = logs })
		elapse(10 * time.Minute)
		for _, s := range w.Stats().Shards {
			fmt.Fprintf(&out, "%+v\n", s)
		}
		r.must(w.stop())
		for _, ev := range w.events {
			fmt.Fprintf(&out, "%+v %v\n", ev, ev.Err)
		}
		r.judge(0)
		told := out.String()
		if !strings.Contains(told, "retrying") || !strings.Contains(told, "panicked with a *leat.Record") && !strings.Contains(told, "panicked with a leat.Record") {
			t.Errorf("nothing of the failures is told:\n%s", told)
		}
		for _, secret := range []string{canary, fmt.Sprint([]byte(canary))[1:20], fmt.Sprintf("%x", canary)} {
			if strings.Contains(told, secret) {
				t.Errorf("%q is told", secret)
			}
		}
	})
}
