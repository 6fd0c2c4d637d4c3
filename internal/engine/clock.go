package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/leatstream/leat/lease"
)

// BootClock reads the lease clock.
func BootClock() lease.Time { return clockAt(time.Now()) }

// clockAt is the lease clock at a moment that has just been read with time.Now. To ask the system is a system call; Go's clocks
// are not. So the system is asked every 10 ms at most, and what it said is carried on with Go's clocks in between.
func clockAt(now time.Time) lease.Time {
	mono, wall := now.Sub(started), time.Duration(now.UnixNano())
	if r := newest.Load(); r != nil {
		if t, ok := r.carriedOn(mono, wall); ok {
			return t
		}
	}
	r := &reading{mono, wall, bootTime()}
	if time.Since(now) < slack { // otherwise this goroutine was held up between the clocks
		newest.Store(r)
	}
	return r.boot
}

var (
	started = time.Now()
	newest  atomic.Pointer[reading]
)

// reading is what three clocks showed at one moment: Go's two, and the system's lease clock.
type reading struct {
	mono, wall time.Duration
	boot       lease.Time
}

// The bounds of carriedOn. Both are far below the margin between a worker that gives up and another that takes over.
const (
	readAgain = 10 * time.Millisecond
	slack     = 100 * time.Microsecond
)

// carriedOn is the lease clock soon after a reading, or not ok. The monotonic clock stands still in a suspended machine, the
// wall clock and the lease clock do not: where the first two have not advanced alike the system must be asked.
func (r *reading) carriedOn(mono, wall time.Duration) (t lease.Time, ok bool) {
	awake := mono - r.mono
	asleep := wall - r.wall - awake
	return r.boot.Add(awake), awake >= 0 && awake < readAgain && asleep > -slack && asleep < slack
}

// monotonic is a lease clock out of Go's, for systems without a better one: Go's monotonic clock may
// stand still while the machine is suspended. It advances by what the monotonic or the wall clock has
// advanced since the last reading, whichever is more: a wall clock set forward only suspends the worker until its next
// heartbeat, one set back does nothing.
func monotonic() lease.Time {
	now := time.Now()
	advanced.Lock()
	defer advanced.Unlock()
	if !advanced.at.IsZero() {
		advanced.time = advanced.time.Add(max(now.Sub(advanced.at), now.Round(0).Sub(advanced.at.Round(0))))
	}
	advanced.at = now
	return advanced.time
}

var advanced struct {
	sync.Mutex
	at   time.Time
	time lease.Time
}
