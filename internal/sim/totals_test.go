package sim

import (
	"fmt"
	"strings"
	"time"
)

// totals sums up many runs. Its least are to begin with the greatest there may be.
type totals struct {
	seeds         int
	sum           Result
	leastFaults   int
	leastHandOuts int
	broken        [numClasses]int // violations
	took          time.Duration   // of real time
}

// class is what a violation means to people.
type class uint8

const (
	lost class = iota
	outOfOrder
	stale
	liveness
	other
	numClasses
)

var classNames = [numClasses]string{"lost", "out of order", "stale hand-outs", "liveness failures", "other violations"}

// classOf says what it means that an invariant of doc.go does not hold.
func classOf(invariant string) class {
	switch name := strings.Fields(invariant)[0]; {
	case name == "S3" || name == "S13" || name == "L5":
		return lost
	case name == "S6" || name == "S7":
		return outOfOrder
	case name == "S1" || name == "S12" || name == "hold":
		return stale
	case name[0] == 'L' || name == "busy":
		return liveness
	}
	return other
}

func (r *Result) faults() int {
	sum := 0
	for _, n := range r.Faults {
		sum += n
	}
	return sum
}

func (t *totals) add(r Result) {
	if r.Violation == nil { // else it ended early
		t.leastFaults = min(t.leastFaults, r.faults())
		t.leastHandOuts = min(t.leastHandOuts, r.HandOuts)
	}
	t.seeds++
	t.sum.Virtual += r.Virtual
	t.sum.Events += r.Events
	t.sum.HandOuts += r.HandOuts
	t.sum.Repeats += r.Repeats
	t.sum.Takes += r.Takes
	t.sum.Records += r.Records
	t.sum.Shards += r.Shards
	for k, n := range r.Faults {
		t.sum.Faults[k] += n
	}
	if r.Violation != nil {
		t.broken[classOf(r.Violation.Invariant)]++
	}
}

// String is one line.
func (t *totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sim: %d seeds", t.seeds)
	for c, n := range t.broken {
		fmt.Fprintf(&b, ", %d %s", n, classNames[c])
	}
	fmt.Fprintf(&b, "; %v of virtual time, %.0f x real time; %d events, %d shards, %d records, %d hand-outs (at least %d a seed), %d repeats, %d takes; %d faults (at least %d a seed)",
		t.sum.Virtual.Round(time.Minute), t.sum.Virtual.Seconds()/t.took.Seconds(), t.sum.Events, t.sum.Shards, t.sum.Records,
		t.sum.HandOuts, t.leastHandOuts, t.sum.Repeats, t.sum.Takes, t.sum.faults(), t.leastFaults)
	for k, n := range t.sum.Faults {
		fmt.Fprintf(&b, ", %s %d", fault(k), n)
	}
	return b.String()
}
