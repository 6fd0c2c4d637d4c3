package engine

import (
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// TestLeaseClockIsCarriedOn: between two readings of the system's lease clock it advances with the monotonic clock, but never
// through a time in which the machine slept, nor for long.
func TestLeaseClockIsCarriedOn(t *testing.T) {
	r := reading{mono: time.Second, wall: time.Hour, boot: lease.Time(time.Minute)}
	for _, c := range []struct {
		name       string
		mono, wall time.Duration // since the reading
		ok         bool
	}{
		{"at once", 0, 0, true},
		{"a little later", time.Millisecond, time.Millisecond, true},
		{"too long after", readAgain, readAgain, false},
		{"before it", -1, -1, false},
		{"slept", time.Millisecond, time.Millisecond + 8*time.Second, false},
		{"slept for less than a failover costs", 0, time.Millisecond, false},
		{"the wall clock was set back", time.Millisecond, -time.Hour, false},
		{"held up for a moment between the two clocks", time.Millisecond, time.Millisecond + slack/2, true},
	} {
		at, ok := r.carriedOn(r.mono+c.mono, r.wall+c.wall)
		if ok != c.ok || ok && at != r.boot.Add(c.mono) {
			t.Errorf("%s: %v, %v", c.name, at, ok)
		}
	}
}

// TestBootClock: carried on or asked for, the lease clock never goes back, and keeps pace with time.
func TestBootClock(t *testing.T) {
	began, last := time.Now(), BootClock()
	first := last
	for time.Since(began) < 3*readAgain {
		now := BootClock()
		if now < last-lease.Time(slack) {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
	if passed, shown := time.Since(began), last.Sub(first); shown < passed-time.Second || shown > passed+time.Second {
		t.Errorf("%v have passed, the lease clock shows %v", passed, shown)
	}
}
