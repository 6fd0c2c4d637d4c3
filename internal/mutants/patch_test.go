package mutants_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mutant is one planted bug: a file of testdata, as doc.go describes it.
type mutant struct {
	name     string
	breaks   []string // invariants of internal/sim, by the first words of their names; of internal/chaos, see there
	within   int      // seeds
	test     string   // of internal/sim
	survives string   // why nothing can find it, if that is so
	harm     string   // for internal/chaos: the kinds that show it, with commas
	lasts    string   // and for how long they go on, as a time.Duration
	patches  []patch
}

// patch replaces a text that stands once in a file of the module.
type patch struct{ file, old, new string }

func readMutant(path string) (mutant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return mutant{}, err
	}
	m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".txt"), within: defaultSeeds, test: "TestSeeds", lasts: "8s"}
	fail := func(why string, args ...any) (mutant, error) {
		return mutant{}, fmt.Errorf("%s: %s", path, fmt.Sprintf(why, args...))
	}
	header, rest, _ := strings.Cut(string(data), "\n-- ")
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "breaks":
			m.breaks = strings.Fields(value)
		case "within":
			if m.within, err = strconv.Atoi(value); err != nil {
				return fail("within: %v", err)
			}
		case "test":
			m.test = value
		case "harm":
			m.harm = value
		case "lasts":
			m.lasts = value
		case "survives":
			m.survives = value
		}
	}
	for _, section := range strings.Split(rest, "\n-- ") {
		title, text, _ := strings.Cut(section, " --\n")
		text = strings.TrimSuffix(text, "\n")
		if title != "to" {
			m.patches = append(m.patches, patch{file: title, old: text})
		} else if last := len(m.patches) - 1; last >= 0 {
			m.patches[last].new = text
		}
	}
	if len(m.patches) == 0 || len(m.breaks) == 0 {
		return fail("it breaks nothing, or patches nothing")
	}
	return m, nil
}

// apply returns the files that the mutant changes, by their paths in the module. A text that is not there, or
// twice, is an error: the protocol has changed, and the mutant must follow.
func (m mutant) apply(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, p := range m.patches {
		if _, known := files[p.file]; !known {
			data, err := os.ReadFile(filepath.Join(root, p.file))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.name, err)
			}
			files[p.file] = string(data)
		}
		if n := strings.Count(files[p.file], p.old); n != 1 {
			return nil, fmt.Errorf("mutant %s: its text stands %d times in %s, want once:\n%s", m.name, n, p.file, p.old)
		}
		files[p.file] = strings.Replace(files[p.file], p.old, p.new, 1)
	}
	return files, nil
}
