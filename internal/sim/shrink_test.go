package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Runs with planted bugs are made simpler: they break the same invariant with fewer faults, their trace is short
// enough to read, and what is printed leads to them again.
func TestShrink(t *testing.T) {
	t.Parallel()
	for _, bug := range []Bug{UnfencedCheckpoint, StuckReader, NoSelfFence, OldToken}[:shrunkBugs] {
		t.Run(fmt.Sprintf("%s %s", bugs[bug].breaks, bug), func(t *testing.T) {
			t.Parallel()
			opt, v := failing(t, bug)
			strikes, lines := faultsAndLines(opt)
			simple := Shrink(opt, v)
			fewer, shorter := faultsAndLines(simple)

			var again Options
			if err := again.parse(flagOf(simple, "group"), flagOf(simple, "off"), flagOf(simple, "keep")); err != nil {
				t.Fatal(err)
			}
			again.Seed, again.Span, again.Bug, again.Trace = simple.Seed, simple.Span, bug, true
			r := Run(again)
			if r.Violation == nil || r.Violation.Invariant != v.Invariant {
				t.Fatalf("what %q leads to is %v, wanted a violation of %s", simple.flags(), r.Violation, v.Invariant)
			}
			t.Logf("%d faults and %d lines of log, then %d faults, %d lines of log, %d lines shown\n%v",
				strikes, lines, fewer, shorter, len(r.Violation.Trace), r.Violation)
			if fewer > 30 || fewer >= strikes || shorter >= lines || len(r.Violation.Trace) > traceLines {
				t.Errorf("it is not much simpler")
			}
		})
	}
}

// failing is the first run with many faults that finds the bug.
func failing(t *testing.T, bug Bug) (Options, *Violation) {
	for seed := range uint64(60) {
		opt := Options{Seed: 1 + seed, Span: 10 * time.Minute, Bug: bug}
		if v := Run(opt).Violation; v != nil && strings.Contains(bugs[bug].breaks, strings.Fields(v.Invariant)[0]) && v.At > 2*time.Minute {
			return opt, v
		}
	}
	t.Fatal("no seed finds it")
	return Options{}, nil
}

// faultsAndLines counts the strikes of a run, and the lines of its log.
func faultsAndLines(opt Options) (strikes, lines int) {
	var struck []strike
	var log strings.Builder
	opt.struck, opt.Trace, opt.Log = &struck, true, &log
	Run(opt)
	return len(struck), strings.Count(log.String(), "\n")
}

// flagOf is the value of one of the flags that lead to a run, as a shell would pass it on.
func flagOf(opt Options, name string) string {
	_, value, found := strings.Cut(opt.flags(), " -sim."+name+"=")
	switch {
	case !found:
		return ""
	case strings.HasPrefix(value, `"`):
		value, _, _ = strings.Cut(value[1:], `"`)
	default:
		value, _, _ = strings.Cut(value, " ")
	}
	return value
}
