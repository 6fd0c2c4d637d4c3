package explore

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

var (
	maxStates = flag.Int("explore.states", 0, "explore no more states in each configuration; 0 is no bound")
	faults    = flag.Int("explore.faults", -1, "faults of a run, at most")
	traces    = flag.Bool("explore.traces", false, "show the traces of planted bugs")
	oneConfig = flag.String("explore.config", "", "explore this configuration only")
)

func TestExplore(t *testing.T) {
	for _, cfg := range Configs() {
		if *oneConfig != "" && *oneConfig != cfg.Name {
			continue
		}
		cfg.States = *maxStates
		if *faults >= 0 {
			cfg.Faults = *faults
		}
		r := Explore(cfg)
		t.Logf("%v\n%s", &r, r.Sights)
		if r.Violation != nil {
			t.Errorf("%s: %v\n%s", cfg.Name, r.Violation, r.Story())
		}
	}
}

// TestPlantedBugs shows that the checks can fail: each bug must be found, by an invariant that it breaks.
func TestPlantedBugs(t *testing.T) {
	for bug := NoBug + 1; bug < numBugs; bug++ {
		plant := plants[bug]
		t.Run(bug.String(), func(t *testing.T) {
			t.Parallel()
			cfg := Named(plant.config)
			cfg.Bug, cfg.States, cfg.HealShare = bug, 200_000, plant.heal
			if plant.limits != (Limits{}) {
				cfg.Limits = plant.limits
			}
			cfg.Faults = plant.faults
			r := Explore(cfg)
			switch {
			case r.Violation == nil:
				t.Errorf("not found: %v", &r)
			case !slices.Contains(strings.Fields(plant.breaks), strings.Fields(r.Violation.Invariant)[0]):
				t.Errorf("found by %v, want one of %s\n%s", r.Violation, plant.breaks, r.Story())
			default:
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
	limits         Limits
	heal           int
}{
	UnfencedCheckpoint:   {config: "crash", breaks: "S2 S4", faults: 1, limits: Limits{Stray: 1}},
	OwnerOnlyCheckpoint:  {config: "crash", breaks: "S2 S4", faults: 1, limits: Limits{Stray: 1}},
	TakeAnyCounter:       {config: "crash", breaks: "S4 S5", faults: 2, limits: Limits{Stray: 1, Pause: 1}},
	FenceAnyHeartbeat:    {config: "crash", breaks: "S1 S5", faults: 2, limits: Limits{Stray: 1, Pause: 1}},
	ProofFromAnswer:      {config: "crash", breaks: "S1", faults: 3, limits: Limits{Slow: 1, Drift: 1, Pause: 1}},
	SeenAtRequest:        {config: "crash", breaks: "S1", faults: 3, limits: Limits{Slow: 1, Drift: 1, Pause: 1}},
	ShortPatience:        {config: "crash", breaks: "S1", faults: 2, limits: Limits{Drift: 1, Pause: 1}},
	NoSelfFence:          {config: "crash", breaks: "S1", faults: 1},
	ClockStops:           {config: "crash", breaks: "S1", faults: 1},
	AdoptAny:             {config: "crash", breaks: "L1", faults: 1, limits: Limits{Touch: 1}, heal: 1},
	TransferWithoutFinal: {config: "hand-over", breaks: "S9"},
	DeafDrain:            {config: "hand-over", breaks: "S1 S9", faults: 1, limits: Limits{Slow: 1}},
	AckOnHandOut:         {config: "crash", breaks: "S3"},
	NoParentGate:         {config: "merge", breaks: "S7"},
	NoChildren:           {config: "merge", breaks: "S8"},
	ReusedID:             {config: "crash", breaks: "S1 S2 S5", faults: 2, limits: Limits{Crash: 1, Restart: 1}},
	CreateOver:           {config: "clean-up", breaks: "S2", faults: 1},
}
