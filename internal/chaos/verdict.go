//go:build unix

package chaos

import (
	"fmt"
	"slices"
	"time"
)

// verdict is what the oracle finds.
type verdict struct {
	Records    int // put
	Repeated   int // calls beyond the first of a record
	Lost       int // put and never handled
	OutOfOrder int // calls before an earlier record of the key or shard, or of a record that nobody put
	Stale      int // calls that started on a shard that another worker owned
	NotAllowed int // repeats that no harm accounts for, or more than it may cost

	Slowest wait   // of all records
	Waits   []wait // long ones, the slowest record of each

	Replays []replay
	Faults  []string // each of the above but repeats, in words; the first ones
}

// wait is how long a record waited for the start of its first call.
type wait struct {
	put
	took   time.Duration
	worker string // that handled it then
}

// replay is a change of owner that made records be handled again.
type replay struct {
	shard, before, after string        // workers
	records              int           // again
	held                 time.Duration // between the starts of the first and the last of them, at first
	unharmed             time.Duration // of that, the time in which nothing kept the worker from writing a checkpoint
	harms                []string      // that explain it
}

func (v *verdict) fault(count *int, format string, args ...any) {
	if *count++; len(v.Faults) < 20 {
		v.Faults = append(v.Faults, fmt.Sprintf(format, args...))
	}
}

func (v *verdict) ok() bool { return v.Lost+v.OutOfOrder+v.Stale+v.NotAllowed == 0 }

// longest is the longest time that a replay went back.
func (v *verdict) longest() time.Duration {
	longest := time.Duration(0)
	for _, r := range v.Replays {
		longest = max(longest, r.held)
	}
	return longest
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d records, %d repeats in %d replays (the longest goes back %.2f s; %d not allowed), %d lost, %d out of order, %d stale starts, the slowest record waited %.1f s",
		v.Records, v.Repeated, len(v.Replays), v.longest().Seconds(), v.NotAllowed, v.Lost, v.OutOfOrder, v.Stale, v.Slowest.took.Seconds())
}

// waited notes a wait. Waits that follow each other in a shard are one.
func (v *verdict) waited(ev evidence, w wait) {
	if w.took > v.Slowest.took {
		v.Slowest = w
	}
	if w.took < 4*ev.failover {
		return
	}
	same := slices.IndexFunc(v.Waits, func(o wait) bool { return o.shard == w.shard && w.at.Sub(o.at) < o.took })
	switch {
	case same < 0:
		v.Waits = append(v.Waits, w)
	case w.took > v.Waits[same].took:
		v.Waits[same] = w
	}
}
