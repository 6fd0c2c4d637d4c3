package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/memory"
)

// script is a Reader that gives the answers in its list, one a second, and then nothing more.
type script struct {
	answers []answer
}

type answer struct {
	batch fetch.Batch
	err   error
}

func (s *script) Next(ctx context.Context) (fetch.Batch, error) {
	if len(s.answers) == 0 {
		<-ctx.Done()
		return fetch.Batch{}, context.Cause(ctx)
	}
	time.Sleep(time.Second)
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a.batch, a.err
}

func (s *script) Rewind(lease.Position) {}
func (s *script) Status() string        { return "reading the script" }

// perform runs an engine over one shard for a virtual minute and returns its events and error. verify
// is what the stream is found to be.
func perform(t *testing.T, verify error, answers ...answer) (kinds []lease.ReportKind, last Stats, err error) {
	t.Helper()
	return performWith(t, func(*Config) {}, verify, answers...)
}

// performWith is perform with another configuration; change is called in the bubble.
func performWith(t *testing.T, change func(*Config), verify error, answers ...answer) (kinds []lease.ReportKind, last Stats, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		cfg := Config{
			Group: "billing", Worker: "anna", Stream: fetch.StreamInfo{Stream: fetch.Stream{Name: "orders"}, Created: began},
			Start: lease.TrimHorizon(), Store: memory.New(),
			List: func(context.Context, *lease.Position) ([]lease.Shard, error) {
				return []lease.Shard{{ID: "shardId-000000000000", HashRange: lease.HashRange{Start: "0", End: "340282366920938463463374607431768211455"}}}, nil
			},
			Read: func(string, lease.Position, int64, fetch.Credit, func(fetch.Notice)) Reader {
				return &script{answers: answers}
			},
			Verify: func(context.Context) error { return verify },
			Handler: func(Shard) Handler {
				return Handler{Handle: func(context.Context, []record.Record) error { return nil }}
			},
			Budget:             dispatch.NewBudget(1 << 20),
			CheckpointInterval: time.Second, FailoverTime: 6 * time.Second, DrainTimeout: time.Second,
			Event: func(ev Event) { mu.Lock(); kinds = append(kinds, ev.Kind); mu.Unlock() },
			Clock: func() lease.Time { return lease.Time(time.Hour).Add(time.Since(began)) },
		}
		change(&cfg)
		e := New(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); err = e.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		last = e.Stats()
		cancel()
		<-done
	})
	return kinds, last, err
}

var records = []record.Record{{Shard: "shardId-000000000000", SequenceNumber: "7"}}

// The end of trouble with a place is told, as its begin was, and Stats forgets it.
func TestReadingThatMovesAgain(t *testing.T) {
	bad := &fetch.PositionError{Shard: "shardId-000000000000", Position: "5", Err: errors.New("no")}
	kinds, last, err := perform(t, nil, answer{err: bad}, answer{err: bad}, answer{batch: fetch.Batch{Records: records}})
	told := slices.DeleteFunc(kinds, func(k lease.ReportKind) bool { return k != Stuck && k != Moving })
	if !slices.Equal(told, []lease.ReportKind{Stuck, Moving}) || err != nil {
		t.Errorf("events %v, error %v", told, err)
	}
	if len(last.Shards) != 1 || last.Shards[0].Why != "reading the script" || last.Shards[0].Handled != 1 {
		t.Errorf("%+v", last.Shards)
	}
}

// A place that the stream does not know, or whose record is gone, may be another stream's: the engine looks
// before it goes on.
func TestRecreatedStreamIsNeverReadOn(t *testing.T) {
	place, err := lease.AfterSequence("5", 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, first := range map[string]answer{
		"refused": {err: &fetch.PositionError{Shard: "shardId-000000000000", Err: errors.New("no")}},
		"missing": {err: fetch.ErrMissing},
		"trimmed": {batch: fetch.Batch{Records: records, Trimmed: &fetch.Trimmed{After: place, First: place}}},
	} {
		t.Run(name, func(t *testing.T) {
			kinds, _, err := perform(t, lease.ErrRecreated, first, answer{batch: fetch.Batch{Records: records}})
			if !errors.Is(err, lease.ErrRecreated) || slices.Contains(kinds, Trimmed) {
				t.Errorf("error %v, events %v", err, kinds)
			}
		})
	}
}
