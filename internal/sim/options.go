package sim

import (
	"io"
	"math/rand/v2"
	"time"
)

// Options say what to run.
type Options struct {
	Seed     uint64
	Span     time.Duration // of virtual time with faults; a healing phase follows
	Standard bool          // five workers on 16 to 25 open shards; else a small group, that has odd things happen more often
	Bug      Bug           // planted; NoBug for a true run
	Only     []fault       // if not nil: these kinds of faults and no others, seldom
	Trace    bool          // keep what happened, for Violation.Trace
	Log      io.Writer     // with Trace: gets all of it

	// What Shrink has found to be enough.
	Off     []fault  // these kinds of faults not
	Keep    []strike // if not nil: only these strikes, and only the kinds that they are of
	Workers int      // if not 0: as many
	Shards  int      // if not 0: as many at the start, and not many more later

	script func(*world)  // says what happens, in place of faults and healing; Workers and Shards are set, none is started
	struck *[]strike     // if not nil: gets the strikes
	until  time.Duration // if not 0: ends then, in the midst of things
}

// workers is how many the group has.
func (opt Options) workers(rng *rand.Rand) int {
	odd := 3 + rng.IntN(3)
	switch {
	case opt.Workers > 0:
		return opt.Workers
	case opt.Standard:
		return 5
	}
	return odd
}

// shards is how many are open at the start, and how many at least and at most later.
func (opt Options) shards(rng *rand.Rand) (n, least, most int) {
	switch {
	case opt.Shards > 0:
		return opt.Shards, 1, opt.Shards + 1
	case opt.Standard:
		return 16 + rng.IntN(10), 16, 25
	}
	return 1 + rng.IntN(8), 1, 14
}

// Result is what a run came to.
type Result struct {
	Seed      uint64
	Hash      uint64 // of every event, in order: equal for equal options
	Virtual   time.Duration
	Events    int
	Faults    [numFaults]int
	HandOuts  int // records given to a handler
	Repeats   int // of these, not for the first time
	Takes     int // leases that got an owner
	Moves     []Move
	Skipped   int // records that an operator's seek passed over
	Lost      int // records that passed their retention unread, as was told
	Untold    int // gaps at the beginning of a shard, of which no reader can know
	Records   int
	Shards    int
	Violation *Violation
}

// Move is a shard's way from one worker to another.
type Move struct {
	Crash bool          // else a clean stop
	Gap   time.Duration // from the crash, or from the request to stop, to the grant at the next worker
}
