//go:build unix

package mutants_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/leatstream/leat/internal/chaos" // so that go test runs these again when it has changed
)

var chaos = flag.Bool("mutants.chaos", false, "run all mutants of the real processes, not only the one that is found soon")

// soonFound shows itself at the first clean stop.
const soonFound = "release-without-checkpoint"

// TestChaos shows that the oracle of internal/chaos finds the mutants of testdata/chaos, by what they break: lost
// records, those out of order, stale starts or repeats that are not allowed.
func TestChaos(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain to build the mutants with")
	}
	for _, m := range mutants(t, "testdata/chaos") {
		chosen := *chaos || m.name == soonFound
		if *only != "" {
			chosen = slices.Contains(strings.Split(*only, ","), m.name)
		}
		if !chosen {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			began := time.Now()
			binary, err := m.build(t, "chaos")
			if err != nil {
				t.Fatal(err)
			}
			for seed := 1; seed <= m.within; seed++ {
				found, err := m.wreak(t, binary, seed)
				if err != nil {
					t.Fatal(err)
				}
				for _, count := range m.breaks {
					if found[count] > 0 {
						fmt.Printf("mutant %-28s %s: %d, seed %d, %.1fs\n", m.name, count, found[count], seed, time.Since(began).Seconds())
						return
					}
				}
			}
			t.Errorf("it survives %d seeds of %s; wanted %v", m.within, m.harm, m.breaks)
		})
	}
}

// verdict is what the oracle counts, as it prints it.
var verdict = regexp.MustCompile(`(\d+) not allowed\), (\d+) lost, (\d+) out of order, (\d+) stale starts`)

// wreak lets the mutant's harm happen to a group of its processes for a while, and returns the oracle's counts. What a
// poll brings keeps the handlers busy for half a second, so that much is under way at any time.
func (m mutant) wreak(t *testing.T, binary string, seed int) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, binary, "-test.v", "-test.timeout=0", "-test.run=^TestChaos$/^local$",
		"-chaos.for="+m.lasts, "-chaos.handling=45ms", "-chaos.only="+m.harm, "-chaos.seed="+strconv.Itoa(seed))
	run.Dir = filepath.Join(root, "internal", "chaos")
	run.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // a run that finds something keeps its journal
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("run of mutant %s: %w, %w\n%s", m.name, err, ctx.Err(), out)
	}
	counts := verdict.FindSubmatch(out)
	if counts == nil {
		return nil, fmt.Errorf("mutant %s comes to no verdict:\n%s", m.name, out)
	}
	found := map[string]int{}
	for i, count := range []string{"repeats", "lost", "disorder", "stale"} {
		found[count], _ = strconv.Atoi(string(counts[i+1]))
	}
	return found, nil
}
