package sim

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	seeds   = flag.Int("sim.seeds", defaultSeeds, "seeds to run")
	first   = flag.Uint64("sim.first", 1, "the first of them")
	oneSeed = flag.Uint64("sim.seed", 0, "run this seed only, with its trace")
	off     = flag.String("sim.off", "", "kinds of faults to leave out, by commas")
	logFile = flag.String("sim.log", "", "with -sim.seed: write all that happens to this file")
	minutes = flag.Int("sim.minutes", 10, "virtual minutes of faults in each run")
	until   = flag.String("sim.until", "", "end with the first violation of one of these invariants, and make nothing simpler")
)

// TestMain lets garbage pile up: a run keeps little, and makes much of it.
func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(1000)
	m.Run()
}

func options(seed uint64, bug Bug) Options {
	kinds, err := parseFaults(*off)
	if err != nil {
		panic(err) // a slip on the command line
	}
	return Options{Seed: seed, Span: time.Duration(*minutes) * time.Minute, Bug: bug, Off: kinds}
}

// runAll runs seeds on all processors, until they are done or keep says stop. Results come in the
// order of the seeds.
func runAll(first uint64, n int, bug Bug, keep func(Result) bool) {
	workers := runtime.GOMAXPROCS(0)
	results := make([]chan Result, n)
	for i := range results {
		results[i] = make(chan Result, 1)
	}
	var wg sync.WaitGroup
	next, stop := make(chan int), make(chan struct{})
	for range workers {
		wg.Go(func() {
			for i := range next {
				results[i] <- Run(options(first+uint64(i), bug))
			}
		})
	}
	wg.Go(func() {
		defer close(next)
		for i := range n {
			select {
			case next <- i:
			case <-stop:
				return
			}
		}
	})
	for i := range n {
		if !keep(<-results[i]) {
			break
		}
	}
	close(stop)
	wg.Wait()
}

// traced makes a failing run simpler and runs it again, now with its trace.
func traced(t *testing.T, v *Violation) *Violation {
	opt := Shrink(options(v.Seed, NoBug), v)
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

// TestSeeds runs the true protocol under every seed's faults. Nothing may be found.
func TestSeeds(t *testing.T) {
	t.Parallel()
	from, n := *first, *seeds
	if *oneSeed != 0 {
		from, n = *oneSeed, 1
	}
	var total Result
	var violations int
	runAll(from, n, NoBug, func(r Result) bool {
		total.Virtual += r.Virtual
		total.Events += r.Events
		total.HandOuts += r.HandOuts
		total.Repeats += r.Repeats
		total.Takes += r.Takes
		total.Records += r.Records
		total.Shards += r.Shards
		for k, c := range r.Faults {
			total.Faults[k] += c
		}
		v := r.Violation
		if v == nil {
			return true
		}
		if violations++; violations <= 3 && *until == "" {
			t.Errorf("%v", traced(t, v))
		} else {
			t.Errorf("seed %d: %s: %s", r.Seed, v.Invariant, v.Detail)
		}
		return !slices.Contains(strings.Fields(*until), strings.Fields(v.Invariant)[0])
	})
	var faults strings.Builder
	sum := 0
	for k, c := range total.Faults {
		sum += c
		fmt.Fprintf(&faults, ", %s %d", fault(k), c)
	}
	fmt.Printf("sim: %d seeds, %v of virtual time, %d events, %d shards, %d records, %d hand-outs, %d takes, %d repeats, %d violations; %d faults%s\n",
		n, total.Virtual.Round(time.Minute), total.Events, total.Shards, total.Records, total.HandOuts, total.Takes, total.Repeats,
		violations, sum, faults.String())
}

// TestReplay runs seeds twice: a run that depends on anything but its seed cannot be debugged.
func TestReplay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		opt := options(1000+seed, NoBug)
		opt.Span = 3 * time.Minute
		a := Run(opt)
		opt.Trace = seed%2 == 0 // tracing must not change the run
		if b := Run(opt); a.Hash != b.Hash || a.Events != b.Events {
			t.Errorf("seed %d: %d events with hash %x, then %d with %x", opt.Seed, a.Events, a.Hash, b.Events, b.Hash)
		}
	}
}

// TestPlantedBugs shows that the checks can fail: each bug must be found, and by an invariant that it breaks.
func TestPlantedBugs(t *testing.T) {
	t.Parallel()
	const within = 60 // seeds
	rare := map[Bug]int{ProofFromAnswer: 1000}
	for bug := NoBug + 1; bug < numBugs; bug++ {
		t.Run(fmt.Sprintf("%s %s", bugs[bug].breaks, bug), func(t *testing.T) {
			t.Parallel()
			found := false
			others := map[string]int{}
			runAll(1, max(within, rare[bug]), bug, func(r Result) bool {
				if r.Violation != nil {
					others[strings.Fields(r.Violation.Invariant)[0]]++
				}
				if v := r.Violation; v != nil && slices.Contains(strings.Fields(bugs[bug].breaks), strings.Fields(v.Invariant)[0]) {
					found = true
					t.Logf("found with seed %d at %v by %s: %s", v.Seed, v.At.Round(time.Millisecond), v.Invariant, v.Detail)
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
