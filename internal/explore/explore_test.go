package explore

import (
	"cmp"
	"flag"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

var (
	maxStates = flag.Int("explore.states", 0, "explore no more states in each configuration; 0 is what suits a run of all tests, -1 is no bound")
	maxFaults = flag.Int("explore.faults", -1, "faults in each run; -1 is what the configuration says")
	oneConfig = flag.String("explore.config", "", "explore this configuration only")
	only      = flag.String("explore.only", "", "leave out all faults but these, by commas")
	healShare = flag.Int("explore.heal", 0, "one in so many states at the horizon is followed by a suffix without faults; 0 is what the configuration says")
	traces    = flag.Bool("explore.traces", false, "show the traces of planted bugs")
)

// few is how many states are explored if the flags say nothing. With the race detector it is less: it makes each
// state some ten times dearer, and an exploration has one goroutine.
var (
	few    = 220_000
	racing bool
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(300) // there is much garbage, and most of the heap stays
	debug.SetMemoryLimit(2 << 30)
	m.Run()
}

// TestExplore explores every configuration: first all runs without a fault, then those with as many as it allows, as far as
// the bound lets it. Nothing may be found. For the full size: -explore.states=-1 or a number, and maybe -explore.faults.
func TestExplore(t *testing.T) {
	for _, cfg := range Configs() {
		if *oneConfig != "" && *oneConfig != cfg.Name {
			continue
		}
		faults := []int{0, cfg.Faults}
		cfg.States = few
		if *maxStates != 0 {
			faults, cfg.States = faults[1:], *maxStates
		}
		if *maxFaults >= 0 {
			faults = []int{*maxFaults}
		}
		cfg.Limits = cfg.Limits.only(*only)
		cfg.HealShare = cmp.Or(*healShare, cfg.HealShare)
		var sights sights
		for _, cfg.Faults = range faults {
			r := Explore(cfg)
			t.Logf("%v\n%v", &r, r.Sights)
			if r.Violation != nil {
				t.Errorf("%s (%s), with up to %d faults: %v\n%s", cfg.Name, cfg.About, cfg.Faults, r.Violation, r.Story())
				break
			}
			for i, n := range r.Sights {
				sights[i] += n
			}
		}
		asked := *maxStates != 0 || *maxFaults >= 0 || *only != ""
		for _, s := range meant[cfg.Name] {
			if sights[s] == 0 && !t.Failed() && !racing && !asked {
				t.Errorf("%s came across too little: %v", cfg.Name, sights)
			}
		}
	}
}

// meant is what a configuration must come across, or it shows nothing.
var meant = map[string][]sight{
	"start":     {refusedSeen},
	"crash":     {fencedSeen, takenSeen, lateSeen, refusedSeen},
	"clocks":    {fencedSeen, takenSeen},
	"mixed":     {fencedSeen, takenSeen},
	"hand-over": {handedOverSeen, releasedSeen, lateSeen},
	"merge":     {endSeen},
	"clean-up":  {endSeen, deletedSeen},
}

// TestPlantedBugs shows that the checks can fail: each bug must be found, by an invariant that it breaks.
func TestPlantedBugs(t *testing.T) {
	for bug := NoBug + 1; bug < numBugs; bug++ {
		plant := plants[bug]
		t.Run(bug.String(), func(t *testing.T) {
			t.Parallel()
			if plant.long && racing {
				t.Skip("too long with the race detector")
			}
			cfg := Named(plant.config)
			cfg.Bug, cfg.Faults, cfg.States, cfg.HealShare = bug, plant.faults, 300_000, plant.heal
			if plant.limits != (Limits{}) {
				cfg.Limits = plant.limits
			}
			r := Explore(cfg)
			switch {
			case r.Violation == nil:
				t.Errorf("not found: %v", &r)
			case !slices.Contains(strings.Fields(plant.breaks), strings.Fields(r.Violation.Invariant)[0]):
				t.Errorf("found by %v, want one of %s\n%s", r.Violation, plant.breaks, r.Story())
			default:
				if strings.Contains(r.Story(), astray) {
					t.Errorf("the trace does not lead there:\n%s", r.Story())
				}
				t.Logf("%s: found after %d states, %d moves, by %v", plant.config, r.States, r.Depth, r.Violation)
				if *traces {
					t.Logf("%s", r.Story())
				}
			}
		})
	}
}

// plants says where a bug is found, with which faults, and which invariants it breaks.
var plants = map[Bug]struct {
	config, breaks string
	faults         int
	limits         Limits // if set
	heal           int
	long           bool
}{
	UnfencedCheckpoint:   {config: "crash", breaks: "S2 S4", faults: 1, limits: Limits{Stray: 1}},
	OwnerOnlyCheckpoint:  {config: "crash", breaks: "S2 S4", faults: 1, limits: Limits{Stray: 1}},
	TakeAnyCounter:       {config: "crash", breaks: "S4 S5", faults: 2, limits: Limits{Stray: 1, Pause: 1}},
	FenceAnyHeartbeat:    {config: "crash", breaks: "S1 S5", faults: 2, limits: Limits{Stray: 1, Pause: 1}},
	ProofFromAnswer:      {config: "clocks", breaks: "S1", faults: 3, long: true},
	SeenAtRequest:        {config: "clocks", breaks: "S1", faults: 3, long: true},
	OwnPatience:          {config: "mixed", breaks: "S1", faults: 2},
	ShortPatience:        {config: "clocks", breaks: "S1", faults: 2},
	NoSelfFence:          {config: "crash", breaks: "S1", faults: 1},
	ClockStops:           {config: "crash", breaks: "S1", faults: 1},
	AdoptAny:             {config: "crash", breaks: "L1", faults: 1, limits: Limits{Touch: 1}, heal: 1},
	TransferWithoutFinal: {config: "hand-over", breaks: "S9"},
	DeafDrain:            {config: "hand-over", breaks: "S1 S9", faults: 1, limits: Limits{Slow: 1}, long: true},
	AckOnHandOut:         {config: "crash", breaks: "S3"},
	NoParentGate:         {config: "merge", breaks: "S7"},
	NoChildren:           {config: "merge", breaks: "S8"},
	ReusedID:             {config: "crash", breaks: "S5", faults: 2, limits: Limits{Crash: 1, Restart: 1}},
	CreateOver:           {config: "clean-up", breaks: "S2", faults: 1},
}

// A set forgets nothing and invents nothing, also when it grows.
func TestVisited(t *testing.T) {
	t.Parallel()
	v := newVisited()
	hash := func(i int) uint64 { return uint64(i)*0x9e3779b97f4a7c15 | 1 }
	for i := range 200_000 {
		if !v.add(hash(2 * i)) {
			t.Fatalf("number %d is known before it was added", i)
		}
		if v.add(hash(2 * (i / 2))) {
			t.Fatalf("number %d is forgotten", i/2)
		}
	}
	if v.n != 200_000 {
		t.Errorf("the set holds %d, want 200,000", v.n)
	}
}
