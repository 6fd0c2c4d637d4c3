package sim

import (
	"slices"
	"testing"
	"time"
)

// Ten workers join, one after another, and share a hundred shards: no lease moves that need not, none moves twice within
// its rest, and nothing is handed out twice.
func TestJoins(t *testing.T) {
	t.Parallel()
	const workers, shards = 10, 100
	joined := 0
	opt := Options{Seed: 1, Span: 40 * time.Minute, Only: []fault{}, Workers: workers, Shards: shards}
	opt.script = joins(65*time.Second, func(worker, moves int, took time.Duration) {
		joined = worker
		needed := shards / worker // the least that any worker has in the end
		t.Logf("worker %2d: %3d leases moved, %3d needed, balanced after %v", worker, moves, needed, took.Round(time.Millisecond))
		if moves > needed {
			t.Errorf("seed %d: L2: worker %d: %d leases moved, at most %d are needed", opt.Seed, worker, moves, needed)
		}
	})
	r := Run(opt)
	if r.Violation != nil {
		t.Fatal(r.Violation)
	}
	t.Logf("%d records, %d hand-outs, %d repeats", r.Records, r.HandOuts, r.Repeats)
	if joined != workers || r.Repeats > 0 || r.HandOuts != r.Records {
		t.Errorf("%d workers joined, %d repeats, %d of %d records handed out", joined, r.Repeats, r.HandOuts, r.Records)
	}
}

// Workers join in haste: what has just moved rests all the same, though the next one has to wait for it.
func TestJoinsInHaste(t *testing.T) {
	t.Parallel()
	joined := 0
	opt := Options{Seed: 1, Span: 20 * time.Minute, Only: []fault{}, Workers: 6, Shards: 30}
	opt.script = joins(5*time.Second, func(worker, _ int, _ time.Duration) { joined = worker })
	if r := Run(opt); r.Violation != nil {
		t.Fatal(r.Violation)
	}
	if joined != opt.Workers {
		t.Errorf("%d workers joined", joined)
	}
}

// Five workers are restarted one after another: nothing is handed out twice, and no shard is without a reader for long.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	var pauses []time.Duration
	opt := Options{Seed: 1, Span: 8 * time.Minute, Only: []fault{}, Workers: 5, Shards: 40}
	opt.script = rollingRestarts(func(d time.Duration) { pauses = append(pauses, d) })
	r := Run(opt)
	if r.Violation != nil {
		t.Fatal(r.Violation)
	}
	slices.Sort(pauses)
	if len(pauses) < 40 || r.Repeats > 0 {
		t.Fatalf("%d pauses, %d repeats", len(pauses), r.Repeats)
	}
	t.Logf("40 shards, 5 restarts: %d moves, pause least %v, median %v, most %v; %d hand-outs, %d repeats", len(pauses),
		pauses[0].Round(time.Millisecond), pauses[len(pauses)/2].Round(time.Millisecond), pauses[len(pauses)-1].Round(time.Millisecond), r.HandOuts, r.Repeats)
	if most := pauses[len(pauses)-1]; most > 2*time.Second {
		t.Errorf("seed %d: P6: a shard was without a reader for %v", opt.Seed, most)
	}
}

// Leases are put on hold: their owners heed it soon, and not for longer than it lasts.
func TestHolds(t *testing.T) {
	t.Parallel()
	if r := Run(Options{Seed: 1, Span: 3 * time.Minute, Only: []fault{}, Workers: 3, Shards: 9, script: holds}); r.Violation != nil {
		t.Fatal(r.Violation)
	}
}

// A worker that leaves, and has to wait for a handler, keeps nobody waiting for its other shards.
func TestSlowLeaver(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		if r := Run(slowLeaverOptions(1+seed, NoBug)); r.Violation != nil {
			t.Fatal(r.Violation)
		}
	}
}

func slowLeaverOptions(seed uint64, bug Bug) Options {
	return Options{Seed: seed, Span: 2 * time.Minute, Bug: bug, Only: []fault{}, Workers: 3, Shards: 9, script: slowLeaver}
}

// The leases of idle shards are changed by hand, under their owners' feet.
func TestIdleChanged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		opt := Options{Seed: 1 + seed, Span: 8 * time.Minute, Only: []fault{}, Workers: 3, Shards: 9, script: idleChanged}
		if r := Run(opt); r.Violation != nil {
			t.Fatal(r.Violation)
		}
	}
}

// The store is away for longer than the failover time: no lease changes its owner.
func TestLongOutages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		opt := Options{Seed: 1 + seed, Span: 5 * time.Minute, Only: []fault{}, Workers: 4, Shards: 12, script: longOutages}
		if r := Run(opt); r.Violation != nil {
			t.Fatal(r.Violation)
		}
	}
}

func TestStreamRecreated(t *testing.T) {
	t.Parallel()
	scenario(t, streamRecreated(3*time.Minute))
}

func TestStoreReplaced(t *testing.T) {
	t.Parallel()
	scenario(t, storeReplaced(3*time.Minute))
}

// scenario runs one among faults, of which nobody needs people who delete leases as well.
func scenario(t *testing.T, script func(*world)) {
	byHand := []fault{leasesDeleted, allDeleted, restored, held}
	for seed := range uint64(60) {
		opt := Options{Seed: 3000 + seed, Span: 8 * time.Minute, Off: byHand, Workers: 4, script: script}
		if r := Run(opt); r.Violation != nil {
			opt.Trace = true
			t.Fatal(Run(opt).Violation)
		}
	}
}
