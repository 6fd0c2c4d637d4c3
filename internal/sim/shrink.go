package sim

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxWork bounds how many events the runs of a search for a simpler one may have, in all: a minute or so.
const maxWork = 20_000_000

// shrinker looks for a simpler run that breaks the same invariant. A run without one fault goes another way from then on, so
// nothing that it leaves out is sure to be needless, or needed: it tries, and keeps what fails again.
type shrinker struct {
	best      Options
	violation *Violation // of best
	strikes   []strike   // of best
	work      int        // events so far
}

// Shrink makes a failing run as simple as it can: fewer workers and shards, a shorter time, fewer kinds of faults, fewer
// strikes. It returns the options of the simplest run that breaks the same invariant as v, for a trace that
// shows what matters and little else.
func Shrink(opt Options, v *Violation) Options {
	s := &shrinker{best: opt, violation: v}
	if !s.try(func(*Options) {}) {
		return opt // the caller sees that it does not fail again
	}
	for before := -1; before != len(s.strikes) && s.work < maxWork; {
		before = len(s.strikes)
		s.smallerGroup()
		s.shorter()
		s.fewerKinds()
		s.fewerStrikes()
	}
	return s.best
}

// try runs a changed run, and goes on from it if it breaks the same invariant.
func (s *shrinker) try(change func(*Options)) bool {
	if s.work >= maxWork {
		return false
	}
	opt := s.best
	change(&opt)
	var struck []strike
	opt.struck = &struck
	if s.violation.At < opt.Span { // much later would be no simpler
		opt.until = s.violation.At + time.Minute
	}
	r := Run(opt)
	s.work += r.Events
	opt.struck, opt.until = nil, 0
	if r.Violation == nil || r.Violation.Invariant != s.violation.Invariant {
		return false
	}
	s.best, s.violation, s.strikes = opt, r.Violation, struck
	return true
}

// smallerGroup tries small groups on few shards first.
func (s *shrinker) smallerGroup() {
	for workers := 1; workers <= 3; workers++ {
		for _, shards := range []int{1, 2, 4, 8} {
			if s.best.Workers > 0 && (workers > s.best.Workers || workers == s.best.Workers && shards >= s.best.Shards) {
				return
			}
			if s.try(func(opt *Options) { opt.Workers, opt.Shards = workers, shards }) {
				return
			}
		}
	}
}

// shorter tries short times first. What happens after a violation does not matter, so this is for those that show once
// the faults have ceased.
func (s *shrinker) shorter() {
	for _, span := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
		if span >= s.best.Span || s.violation.At < s.best.Span || s.try(func(opt *Options) { opt.Span = span }) {
			return
		}
	}
}

func (s *shrinker) fewerKinds() {
	for k := range numFaults {
		if !slices.Contains(s.best.Off, k) && s.best.Keep == nil {
			s.try(func(opt *Options) { opt.Off = append(slices.Clone(opt.Off), k) })
		}
	}
}

// fewerStrikes leaves out ever smaller parts of the strikes, down to single ones.
func (s *shrinker) fewerStrikes() {
	all := s.strikes
	if s.best.Keep == nil && !s.try(func(opt *Options) { opt.Off, opt.Keep = nil, all }) {
		return
	}
	for size := (len(s.strikes) + 1) / 2; size > 0; size /= 2 {
		for i := 0; i < len(s.strikes); {
			without := append([]strike{}, s.strikes[:i]...)
			without = append(without, s.strikes[min(i+size, len(s.strikes)):]...)
			if !s.try(func(opt *Options) { opt.Keep = without }) {
				i += size
			}
		}
	}
}

// flags are the flags of the tests that lead to these options again.
func (opt Options) flags() string {
	var b strings.Builder
	fmt.Fprintf(&b, "-sim.seed=%d -sim.span=%v", opt.Seed, opt.Span)
	if opt.Workers > 0 {
		fmt.Fprintf(&b, " -sim.group=%d/%d", opt.Workers, opt.Shards)
	}
	if len(opt.Off) > 0 {
		fmt.Fprintf(&b, " -sim.off=%q", join(opt.Off))
	}
	if opt.Keep != nil {
		fmt.Fprintf(&b, " -sim.keep=%q", cmp.Or(join(opt.Keep), noStrikes))
	}
	return b.String()
}

// noStrikes is said of a run that fails without any fault.
const noStrikes = "none"

// parse takes over what flags has written.
func (opt *Options) parse(group, off, keep string) (err error) {
	if group != "" {
		if _, err := fmt.Sscanf(group, "%d/%d", &opt.Workers, &opt.Shards); err != nil {
			return fmt.Errorf("group %q is not workers/shards: %w", group, err)
		}
	}
	for name := range split(off) {
		k, err := parseFault(name)
		if err != nil {
			return err
		}
		opt.Off = append(opt.Off, k)
	}
	if keep == noStrikes {
		opt.Keep = []strike{}
		return nil
	}
	for text := range split(keep) {
		at := max(strings.LastIndex(text, " "), 0)
		k, err := parseFault(text[:at])
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(text[at:]))
		if err != nil {
			return fmt.Errorf("which %v is meant by %q: %w", k, text, err)
		}
		opt.Keep = append(opt.Keep, strike{k, n})
	}
	return nil
}

func join[T fmt.Stringer](list []T) string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = x.String()
	}
	return strings.Join(names, ",")
}

// split is the inverse of join.
func split(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.SplitSeq(text, ",") {
			if name != "" && !yield(name) {
				return
			}
		}
	}
}

func parseFault(name string) (fault, error) {
	k := slices.Index(faultNames[:], name)
	if k < 0 {
		return 0, fmt.Errorf("no fault is called %q: it is one of %s", name, strings.Join(faultNames[:], ", "))
	}
	return fault(k), nil
}

// String is the strike as it is given on the command line.
func (s strike) String() string { return fmt.Sprintf("%v %d", s.kind, s.n) }
