package fetch

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestQuotaHoldsInEverySecond: whenever calls are made as soon as the quota allows, and whatever the answers'
// sizes, no second sees more than five calls, and no stretch of time more bytes than the rate times its length
// and one answer.
func TestQuotaHoldsInEverySecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Quota
		now := time.Unix(1_000_000, 0)
		type call struct {
			at time.Time
			n  int64
		}
		var calls []call
		for range rapid.IntRange(2, 60).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "idle")))
			now = now.Add(q.Wait(now))
			if q.Wait(now) != 0 {
				t.Fatal("waiting is not enough")
			}
			n := rapid.Int64Range(0, 10<<20).Draw(t, "bytes")
			q = q.Charge(now, n)
			calls = append(calls, call{now, n})
		}
		for i := range calls {
			var bytes int64
			for j := i + 1; j < len(calls); j++ {
				d := calls[j].at.Sub(calls[i].at)
				if j-i >= callsPerSecond && d < time.Second {
					t.Fatalf("%d calls within %v", j-i+1, d)
				}
				bytes += calls[j-1].n
				if float64(bytes) > bytesPerSecond*d.Seconds() {
					t.Fatalf("%d bytes were paid for in %v", bytes, d)
				}
			}
		}
	})
}

func TestQuotaDebt(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	q := Quota{}.Charge(now, 10<<20)
	// GetRecords' API page: after 10 MiB the service refuses for five seconds.
	if d := q.Wait(now); d < 5*time.Second || d > 5*time.Second+2*time.Millisecond {
		t.Errorf("after 10 MiB the next call waits %v", d)
	}
	if d := (Quota{Calls: 2, Bytes: 100}).Charge(now, 10).Wait(now); d != 500*time.Millisecond {
		t.Errorf("own calls: %v", d)
	}
	if d := (Quota{Calls: 2, Bytes: 100}).Charge(now, 1000).Wait(now); d < 10*time.Second || d > 10*time.Second+2*time.Millisecond {
		t.Errorf("own bytes: %v", d)
	}
	if d := q.Wait(now.Add(time.Hour)); d != 0 {
		t.Errorf("an hour later: %v", d)
	}
}
