package fetch

import (
	"math/rand/v2"
	"slices"
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
		r.Rewind(after(t, all[5]))
		var last Batch
		got := w.sequences(w.read(r, func(b Batch, _ []record.Record) bool { last = b; return b.End }))
		if !slices.Equal(got, all[6:]) || last.Trimmed != nil || len(last.Children) != 2 {
			t.Errorf("got %v, last %+v", got, last)
		}
		// Nothing had been handled: back to the start.
		r.Rewind(lease.TrimHorizon())
		if got := w.sequences(w.read(r, atEnd)); !slices.Equal(got, all) {
			t.Errorf("got %v", got)
		}
	})
}

// TestRewindAtRandom: every record comes once and in order after each place that the reader goes back to.
func TestRewindAtRandom(t *testing.T) {
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
			next := 0
			for rewinds := 30; ; {
				b, err := r.Next(t.Context())
				w.must(err)
				for _, rec := range b.Records {
					if next == len(all) || rec.SequenceNumber != all[next] {
						t.Fatalf("seed %d: got %s at %d", seed, rec.SequenceNumber, next)
					}
					next++
				}
				if b.Trimmed != nil || b.End && next != len(all) {
					t.Fatalf("seed %d: %+v at %d", seed, b, next)
				}
				w.credit.Give(b.Size)
				if b.End && rewinds == 0 {
					break
				}
				if next > 0 && rewinds > 0 && (b.End || random.IntN(3) == 0) {
					rewinds--
					next = random.IntN(next)
					place := lease.TrimHorizon()
					if next > 0 {
						place = after(t, all[next-1])
					}
					r.Rewind(place)
				}
			}
			if held := w.credit.balance(); held != 0 {
				t.Errorf("seed %d: %d bytes leaked", seed, held)
			}
		})
	}
}
