package sim

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seeds   = flag.Int("sim.seeds", defaultSeeds, "seeds that TestSeeds runs")
	hours   = flag.Int("sim.hours", defaultHours, "seeds that TestHours runs, at least")
	within  = flag.Duration("sim.within", 0, "TestHours begins more seeds until this real time has passed")
	first   = flag.Uint64("sim.first", 1, "the first of the seeds")
	oneSeed = flag.Uint64("sim.seed", 0, "run this seed only, with its trace")
	span    = flag.Duration("sim.span", 0, "virtual time with faults of each run of TestSeeds (10m) or TestHours (1h)")
	off     = flag.String("sim.off", "", "kinds of faults to leave out, by commas")
	keep    = flag.String("sim.keep", "", "the only strikes of faults to let happen, by commas, or none")
	group   = flag.String("sim.group", "", "workers/shards, if not as many as the seed says")
	logFile = flag.String("sim.log", "", "with -sim.seed: write all that happens to this file")
	until   = flag.String("sim.until", "", "end with the first violation of one of these invariants, and make nothing simpler")
)

// TestMain lets garbage pile up: a run keeps little, and makes much of it.
func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(1000)
	m.Run()
}

// options are what the flags say of a seed's run.
func options(seed uint64, bug Bug) Options {
	opt := Options{Seed: seed, Span: 10 * time.Minute, Bug: bug}
	if *span > 0 {
		opt.Span = *span
	}
	if err := opt.parse(*group, *off, *keep); err != nil {
		panic(err) // a slip on the command line
	}
	return opt
}

// hour are the options of a run of the size that is promised: every one of them has many faults, and much to do.
func hour(seed uint64) Options {
	opt := options(seed, NoBug)
	opt.Standard = true
	if *span == 0 {
		opt.Span = time.Hour
	}
	return opt
}

// Each run of TestHours has to have as many of them.
const (
	faultsAnHour   = 400
	handOutsAnHour = 10_000
)

// runAll runs seeds on all processors: n of them, and more as long as there is time; until keep says stop. Results come
// in the order of the seeds.
func runAll(n int, within time.Duration, options func(i int) Options, keep func(Result) bool) {
	began := time.Now()
	runs := make(chan chan Result, runtime.GOMAXPROCS(0)) // in order; its length bounds how many are begun
	stop := make(chan struct{})
	go func() {
		defer close(runs)
		for i := 0; i < n || time.Since(began) < within; i++ {
			run := make(chan Result, 1)
			select {
			case runs <- run:
			case <-stop:
				return
			}
			go func() { run <- Run(options(i)) }()
		}
	}()
	more := true
	for run := range runs {
		if r := <-run; more && !keep(r) {
			more = false
			close(stop)
		}
	}
}

// traced makes a failing run simpler and runs it again, now with its trace.
func traced(t *testing.T, opt Options, v *Violation) *Violation {
	if *oneSeed == 0 || *logFile == "" {
		opt = Shrink(opt, v)
	}
	opt.Trace = true
	if *oneSeed != 0 && *logFile != "" {
		f, err := os.Create(*logFile)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out := bufio.NewWriter(f)
		defer out.Flush()
		opt.Log = out
	}
	again := Run(opt)
	if again.Violation == nil {
		v.Detail += " (THE SEED DOES NOT FAIL AGAIN: the run is not deterministic)"
		return v
	}
	return again.Violation
}

// run runs seeds of the true protocol, of which nothing may be found, and prints one line of totals.
func run(t *testing.T, n int, within time.Duration, options func(seed uint64) Options) *totals {
	from := *first
	if *oneSeed != 0 {
		from, n, within = *oneSeed, 1, 0
	}
	began, violations := time.Now(), 0
	total := &totals{leastFaults: math.MaxInt, leastHandOuts: math.MaxInt}
	runAll(n, within, func(i int) Options { return options(from + uint64(i)) }, func(r Result) bool {
		total.add(r)
		v := r.Violation
		if v == nil {
			return true
		}
		if violations++; violations <= 3 && *until == "" {
			t.Errorf("%v", traced(t, options(r.Seed), v))
		} else {
			t.Errorf("seed %d: %s: %s", r.Seed, v.Invariant, v.Detail)
		}
		return !slices.Contains(strings.Fields(*until), strings.Fields(v.Invariant)[0])
	})
	total.took = time.Since(began)
	fmt.Println(total)
	return total
}

// TestSeeds runs small groups for a short while, with odd things.
func TestSeeds(t *testing.T) {
	t.Parallel()
	run(t, *seeds, 0, func(seed uint64) Options { return options(seed, NoBug) })
}

// TestHours runs groups of five workers on 16 to 25 shards for a virtual hour each, with at least 400 faults and
// 10,000 hand-outs:
//
//	go test ./internal/sim -run TestHours -sim.hours=10000 -count=1 -timeout 0 -v
func TestHours(t *testing.T) {
	total := run(t, *hours, *within, hour)
	if *oneSeed != 0 || *span != 0 {
		return
	}
	if total.leastFaults < faultsAnHour || total.leastHandOuts < handOutsAnHour {
		t.Errorf("the least of a run are %d faults and %d hand-outs, want %d and %d", total.leastFaults, total.leastHandOuts, faultsAnHour, handOutsAnHour)
	}
}

// TestReplay runs 200 seeds twice: a run that depends on anything but its seed cannot be debugged.
func TestReplay(t *testing.T) {
	t.Parallel()
	var before Result
	runAll(2*200, 0, func(i int) Options {
		opt := options(1000+uint64(i/2), NoBug)
		if *span == 0 {
			opt.Span = replaySpan
		}
		opt.Standard = i%8 > 3
		if raced {
			opt.Workers, opt.Shards = 2, 3
		}
		opt.Trace = i%4 == 1 // tracing must not change the run
		return opt
	}, func(r Result) bool {
		if before.Seed == r.Seed && (before.Hash != r.Hash || before.Events != r.Events) {
			t.Errorf("seed %d: %d events with hash %x, then %d with %x", r.Seed, before.Events, before.Hash, r.Events, r.Hash)
		}
		before = r
		return true
	})
}

// TestPlantedBugs shows that the checks can fail: each bug must be found, and by an invariant that it breaks.
func TestPlantedBugs(t *testing.T) {
	t.Parallel()
	const within = 60 // seeds
	rare := map[Bug]int{ProofFromAnswer: 200}
	for bug := NoBug + 1; bug < numBugs; bug++ {
		t.Run(fmt.Sprintf("%s %s", bugs[bug].breaks, bug), func(t *testing.T) {
			t.Parallel()
			found := false
			others := map[string]int{}
			seed := func(i int) Options {
				if bug == LeavesUntold {
					return slowLeaverOptions(1+uint64(i), bug)
				}
				return options(1+uint64(i), bug)
			}
			runAll(max(within, rare[bug]), 0, seed, func(r Result) bool {
				if r.Violation != nil {
					others[strings.Fields(r.Violation.Invariant)[0]]++
				}
				if v := r.Violation; v != nil && slices.Contains(strings.Fields(bugs[bug].breaks), strings.Fields(v.Invariant)[0]) {
					found = true
					t.Logf("found with seed %d at %v by %s: %s", v.Options.Seed, v.At.Round(time.Millisecond), v.Invariant, v.Detail)
				}
				return !found
			})
			if !found {
				t.Errorf("not found within %d seeds by %s, but by others: %v", within, bugs[bug].breaks, others)
			}
		})
	}
}

// TestFailoverTime holds the protocol to what the design promises of quickness (P6), where nothing but crashes and clean
// stops happens: a handler starts within 8.5 s of a crash and 2 s of a clean stop. The engine has what these
// limits leave for its first read.
func TestFailoverTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults []fault
		crash  bool
		limit  time.Duration
	}{
		"crash":      {[]fault{crash}, true, 8 * time.Second},
		"clean stop": {[]fault{cleanStop}, false, 1800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gaps []time.Duration
			for seed := range uint64(20) {
				opt := options(2000+seed, NoBug)
				opt.Only = test.faults
				r := Run(opt)
				if r.Violation != nil {
					t.Errorf("%v", r.Violation)
				}
				for _, m := range r.Moves {
					if m.Crash == test.crash {
						gaps = append(gaps, m.Gap)
						if m.Gap > test.limit {
							t.Errorf("seed %d: P6: a shard was without a reader for %v, limit %v", opt.Seed, m.Gap, test.limit)
						}
					}
				}
			}
			slices.Sort(gaps)
			if len(gaps) < 50 {
				t.Fatalf("only %d moves", len(gaps))
			}
			t.Logf("%d shards moved: median %v, worst %v", len(gaps), gaps[len(gaps)/2].Round(time.Millisecond), gaps[len(gaps)-1].Round(time.Millisecond))
		})
	}
}
