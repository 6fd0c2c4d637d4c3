package mutants_test

import (
	"context"
	"encoding/json"
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

	_ "github.com/leatstream/leat/internal/sim" // so that go test runs these again when it has changed
)

var (
	all  = flag.Bool("mutants.all", false, "run all mutants, not only one in eight")
	only = flag.String("mutants.only", "", "run the mutants with these names, by commas")
)

const (
	root         = "../.." // of the module
	defaultSeeds = 60
	minMutants   = 25
	oneIn        = 8 // runs if not all do
)

func mutants(t *testing.T, folder string) []mutant {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var list []mutant
	for _, path := range paths {
		m, err := readMutant(path)
		if err != nil {
			t.Error(err)
			continue
		}
		list = append(list, m)
	}
	return list
}

// TestPatches shows that every mutant still fits the protocol, and that there are enough.
func TestPatches(t *testing.T) {
	n := 0
	for _, m := range slices.Concat(mutants(t, "testdata"), mutants(t, "testdata/chaos")) {
		if _, err := m.apply(root); err != nil {
			t.Error(err)
		}
		if m.survives == "" {
			n++
		}
	}
	if n < minMutants {
		t.Errorf("%d mutants, want %d that are to be found", n, minMutants)
	}
}

// TestMutants shows that the simulator finds the mutants, each by an invariant that it breaks.
func TestMutants(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain to build the mutants with")
	}
	for i, m := range mutants(t, "testdata") {
		chosen := *all || i%oneIn == 0 && m.survives == ""
		if *only != "" {
			chosen = slices.Contains(strings.Split(*only, ","), m.name)
		}
		if !chosen {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			found, others, err := m.hunt(t)
			took := time.Since(began).Seconds()
			switch {
			case err != nil:
				t.Errorf("%v", err)
			case found == nil && m.survives != "":
				fmt.Printf("mutant %-28s survives %d seeds of %s, as it should, %.1fs\n", m.name, m.within, m.test, took)
			case found == nil:
				t.Errorf("it survives %s with up to %d seeds; wanted %v, other findings: %q", m.test, m.within, m.breaks, others)
			case m.survives != "":
				t.Errorf("it is said to survive, and seed %d finds it by %s: %s", found.seed, found.invariant, found.detail)
			default:
				fmt.Printf("mutant %-28s %-5s seed %-3d %.1fs  %s\n", m.name, found.invariant, found.seed, took, found.detail)
			}
		})
	}
}

// finding is a line of the simulator's.
type finding struct {
	seed              int
	invariant, detail string
}

var findings = regexp.MustCompile(`(?m)seed (\d+): ((\w+).*)$`)

// hunt builds the simulator with the mutant in it, and runs it until it finds one of the invariants broken.
// What else it finds is of no account.
func (m mutant) hunt(t *testing.T) (found *finding, others []string, err error) {
	binary, err := m.build(t, "sim")
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, binary, "-test.run", "^"+m.test+"$", "-test.timeout", "0",
		"-sim.seeds", strconv.Itoa(m.within), "-sim.until", strings.Join(m.breaks, " "))
	run.Dir = filepath.Join(root, "internal", "sim")
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return nil, nil, fmt.Errorf("run of mutant %s: %w, %w\n%s", m.name, err, ctx.Err(), out)
	}
	if strings.Contains(string(out), "panic: ") {
		return nil, nil, fmt.Errorf("mutant %s panics:\n%s", m.name, out)
	}
	for _, line := range findings.FindAllStringSubmatch(string(out), -1) {
		if seed, _ := strconv.Atoi(line[1]); slices.Contains(m.breaks, line[3]) {
			return &finding{seed, line[3], line[2]}, others, nil
		}
		others = append(others, line[3])
	}
	return nil, others, nil
}

// build builds the test binary of a package, the simulator's say, with the mutant in it; the files themselves stay as
// they are.
func (m mutant) build(t *testing.T, internal string) (string, error) {
	files, err := m.apply(root)
	if err != nil {
		return "", err
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range files {
		original, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(replace[original], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(dir, internal+".test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags=-s -w",
		"-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "./internal/"+internal)
	build.Dir = root
	if flags := strings.Fields(os.Getenv("GOFLAGS")); slices.Contains(flags, "-race") { // there are no races, and it is slow
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == "-race" })
		build.Env = append(os.Environ(), "GOFLAGS="+strings.Join(flags, " "))
	}
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of mutant %s: %w\n%s", m.name, err, out)
	}
	return binary, nil
}
