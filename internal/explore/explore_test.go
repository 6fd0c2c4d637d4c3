package explore

import (
	"flag"
	"testing"
)

var (
	maxStates = flag.Int("explore.states", 0, "explore no more states in each configuration; 0 is the default of CI, -1 no bound")
	oneConfig = flag.String("explore.config", "", "explore this configuration only")
)

func TestExplore(t *testing.T) {
	for _, cfg := range Configs() {
		if *oneConfig != "" && *oneConfig != cfg.Name {
			continue
		}
		cfg.States = *maxStates
		r := Explore(cfg)
		t.Logf("%v", &r)
		if r.Violation != nil {
			t.Errorf("%s: %v\n%s", cfg.Name, r.Violation, r.Story())
		}
	}
}
