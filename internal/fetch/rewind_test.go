package fetch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

func TestRewindReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{EndWithRecords: true}, 1)
		all := w.put(0, 9, 10)
		w.split(firstShard, "1000")
		r := NewReader(w.client, w.config(lease.TrimHorizon()))
		if got := w.sequences(w.read(r, atEnd)); !slices.Equal(got, all) {
			t.Fatalf("got %v", got)
		}
		// The end was told, but its records were dropped: they come again, and so does the end.
		if n := r.Rewind(after(t, all[5])); n != 1 {
			t.Errorf("rewind %d", n)
		}
		var last Batch
		got := w.sequences(w.read(r, func(b Batch, _ []record.Record) bool { last = b; return b.End }))
		if !slices.Equal(got, all[6:]) || last.Rewinds != 1 || last.Trimmed != nil || len(last.Children) != 2 {
			t.Errorf("got %v, last %+v", got, last)
		}
		// Nothing had been handled: back to the start.
		r.Rewind(lease.TrimHorizon())
		if got := w.sequences(w.read(r, atEnd)); !slices.Equal(got, all) {
			t.Errorf("got %v", got)
		}
	})
}

// TestRewindGivesUpTheCallInFlight: neither a slow call nor a wait for memory holds a rewind up, and
// what was taken for them is given back.
func TestRewindGivesUpTheCallInFlight(t *testing.T) {
	for _, what := range []string{"call", "open", "memory"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, local.Config{}, 1)
			all := w.put(0, 5, 10)
			switch what {
			case "memory":
				w.credit.gate = make(chan struct{})
			case "call":
				w.server.SetFaults(1, local.Fault{Kind: local.Delay, Op: "GetRecords", Share: 1, Delay: 20 * time.Second, Count: 1})
			case "open":
				w.server.SetFaults(1, local.Fault{Kind: local.Delay, Op: "GetShardIterator", Share: 1, Delay: 20 * time.Second, Count: 1})
			}
			r := NewReader(w.client, w.config(lease.TrimHorizon()))
			began := time.Now()
			time.AfterFunc(3*time.Second, func() {
				r.Rewind(after(t, all[1]))
				w.credit.mu.Lock()
				w.credit.gate = nil
				w.credit.mu.Unlock()
			})
			got := w.sequences(w.read(r, count(3)))
			if !slices.Equal(got, all[2:]) {
				t.Errorf("%s: got %v, want %v", what, got, all[2:])
			}
			if took := time.Since(began); took > 3500*time.Millisecond {
				t.Errorf("%s: took %v", what, took)
			}
			if held := w.credit.balance(); held != 0 {
				t.Errorf("%s: %d bytes leaked", what, held)
			}
		})
	}
}

// TestRewindAtAnyTime: a consumer that forgets batches read before its last rewind sees every record once
// and in order after each place that it goes back to, whenever that happens.
func TestRewindAtAnyTime(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, local.Config{EndWithRecords: seed%2 == 0}, 1)
			all := w.put(0, 200, 10)
			w.split(firstShard, "1000")
			w.credit.room = 10 * unknownRecord
			w.server.SetFaults(seed, local.Fault{Kind: local.Delay, Share: 0.5, Delay: 300 * time.Millisecond},
				local.Fault{Kind: local.Throttle, Share: 0.1})
			r := NewReader(w.client, w.config(lease.TrimHorizon()))

			var mu sync.Mutex
			next, rewinds, left := 0, int64(0), 30
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for ; left > 0; left-- {
					time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
					mu.Lock()
					if next > 0 {
						next = random.IntN(next)
						place := lease.TrimHorizon()
						if next > 0 {
							place = after(t, all[next-1])
						}
						rewinds = r.Rewind(place)
					}
					mu.Unlock()
				}
				time.Sleep(5 * time.Minute) // long enough to reach the end again
				cancel()
			}()
			for ended := false; ; {
				b, err := r.Next(ctx)
				if errors.Is(err, context.Canceled) {
					if !ended || next != len(all) {
						t.Errorf("seed %d: stopped at %d of %d, ended %v", seed, next, len(all), ended)
					}
					break
				}
				w.must(err)
				mu.Lock()
				if b.Rewinds == rewinds {
					for _, rec := range b.Records {
						if next == len(all) || rec.SequenceNumber != all[next] {
							t.Fatalf("seed %d: got %s at %d", seed, rec.SequenceNumber, next)
						}
						next++
					}
					if b.Trimmed != nil || b.End && next != len(all) {
						t.Fatalf("seed %d: %+v at %d", seed, b, next)
					}
					ended = b.End || ended && b.Rewinds == rewinds && next == len(all)
				}
				mu.Unlock()
				w.credit.Give(b.Size)
			}
			if held := w.credit.balance(); held != 0 {
				t.Errorf("seed %d: %d bytes leaked", seed, held)
			}
		})
	}
}
