package scale

import (
	"flag"
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"time"
)

var (
	all  = flag.Bool("scale.table", false, "run all sizes, and print the tables of docs/scale.md")
	only = flag.String("scale.only", "", "with -scale.table: one size, such as 1000x20")
	seed = flag.Uint64("scale.seed", 0, "of latencies, ids and the moments of starts; 0: 1 for the tables, three of them for the tests")
)

// TestTable prints the tables of docs/scale.md.
func TestTable(t *testing.T) {
	if !*all {
		t.Skip("prints docs/scale.md's tables with -scale.table")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // the largest group keeps 2 GiB
	sizes := Sizes()
	if *only != "" {
		var s Size
		if _, err := fmt.Sscanf(*only, "%dx%d", &s.Shards, &s.Workers); err != nil {
			t.Fatal(err)
		}
		sizes = []Size{s}
	}
	var results []Result
	for _, size := range sizes {
		r := Run(size, max(1, *seed))
		t.Logf("%+v", r)
		results = append(results, r)
	}
	t.Log("\n" + Markdown(results))
}

// Groups that fit into a plain test keep to the bounds of the protocol (reliability: L1 to L3) and to its costs.
func TestGroups(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, 2, 3}
	if *seed != 0 {
		seeds = []uint64{*seed}
	}
	for _, size := range []Size{{1, 2}, {6, 3}, {10, 5}, {100, 5}, {60, 20}} {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%dx%d/scale.seed=%d", size.Shards, size.Workers, seed), func(t *testing.T) {
				t.Parallel()
				judge(t, Run(size, seed))
			})
		}
	}
}

// Twenty workers that start at one moment do not all make the first leases: that would be 950 refused writes. A few do,
// those that joined before they saw one of a lower rank.
func TestFirstLeases(t *testing.T) {
	t.Parallel()
	g := newGroup(max(1, *seed), 50, 1)
	for range 20 {
		g.start()
	}
	if !g.advance(10*time.Second, g.balanced) {
		t.Errorf("after 10 s %d of 50 shards are read, or they are not balanced", len(g.reader))
	}
	if n := g.table.bill.refused; n > 500 {
		t.Errorf("%d writes were refused, want at most 500", n)
	}
}

func judge(t *testing.T, r Result) {
	within := func(what string, got, most time.Duration) {
		t.Helper()
		if got < 0 || got > most {
			t.Errorf("%s took %v, want at most %v", what, got, most)
		}
	}
	number := func(what string, got float64, least, most float64) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s: %.1f, want from %.0f to %.0f", what, got, least, most)
		}
	}
	shards, workers := float64(r.Shards), float64(r.Workers)

	within("until all was read after the start", r.Start.Owned, 5*time.Second) // what others do not take is read again after 1 s, and after 2 s
	within("until all was balanced after the start", r.Start.Balanced, rest+10*time.Second)
	number("refused writes at the start", float64(r.Start.Bill.refused), 0, 6*shards)

	number("heartbeats a minute", r.Rest.heartbeats, math.Floor(29.5*workers), 30*workers+1)
	number("checkpoints a minute", r.Rest.checkpoints, 11.5*shards, 12*shards+1)
	number("reads of the members a minute", r.Rest.members, 29*workers, 30*workers*math.Ceil(workers/20))
	number("other writes at rest", r.Rest.moves+r.Rest.control, 0, 0)
	number("refused writes at rest", float64(r.Rest.refused), 0, 0)
	number("moves at rest", float64(r.RestMoves), 0, 0)

	number("moves after a join", float64(r.Join.Moves), float64(r.Join.Needed), float64(r.Join.Needed))
	within("a shard's pause after a join", r.Join.Pause, 2*time.Second)
	within("until all was balanced after a join", r.Join.Balanced, 10*time.Second)

	number("moves after a crash", float64(r.Crash.Moves), float64(r.Crash.Needed), 1.5*float64(r.Crash.Needed)+1)
	within("until all was read after a crash", r.Crash.Owned, 8500*time.Millisecond)
	within("until all was balanced after a crash", r.Crash.Balanced, 20*time.Second)

	within("a shard's pause in a rolling restart", r.Restart.Pause, 4*time.Second)
	within("until all was balanced after a rolling restart", r.Restart.Balanced, rest+30*time.Second)
	number("moves in a rolling restart", float64(r.Restart.Moves), shards, 2*shards)

	number("leases handed over twice within a minute", float64(r.Twice), 0, 0)
	number("shards read by two workers", float64(r.Double), 0, 0)
	number("workers that were fenced but the one that crashed", float64(r.Fenced), 0, 0)
	number("calls without an answer in time", float64(r.Late), 0, 0)
}
