package leat

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hazards is what docs/hazards.md may name as a proof.
type hazards struct {
	t     *testing.T
	tests map[string]map[string]bool // by folder
	sim   map[string]bool            // faults, checks and planted bugs of the simulator
}

var (
	quoted    = regexp.MustCompile("`([^`]+)`")
	hazardRow = regexp.MustCompile(`^\| ([FH]\d+) \|`)
	testName  = regexp.MustCompile(`^(?:([a-z/]+)\.)?((?:Test|Fuzz|Example)[A-Z]\w*)$`)
)

// TestHazards: docs/hazards.md has one row for each of F1 to F33 and H1 to H26, and what its rows name is there.
func TestHazards(t *testing.T) {
	page, err := os.ReadFile("docs/hazards.md")
	if err != nil {
		t.Fatal(err)
	}
	h := hazards{t: t, tests: map[string]map[string]bool{}}
	h.readSimulator()
	var rows []string
	for line := range strings.Lines(string(page)) {
		row := hazardRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		rows = append(rows, row[1])
		cells := strings.Split(strings.Trim(line, "|\n"), " | ")
		if len(cells) != 4 {
			t.Errorf("%s has %d cells, want 4", row[1], len(cells))
			continue
		}
		names := quoted.FindAllStringSubmatch(cells[3], -1)
		if len(names) == 0 && !strings.Contains(line, "**Not yet:**") {
			t.Errorf("%s names no proof, and does not say why", row[1])
		}
		for _, name := range names {
			if !h.found(name[1]) {
				t.Errorf("%s names %q, which is no test, scenario, fault, check or planted bug", row[1], name[1])
			}
		}
	}
	var want []string
	for i := range 33 {
		want = append(want, fmt.Sprint("F", i+1))
	}
	for i := range 26 {
		want = append(want, fmt.Sprint("H", i+1))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows are %v, want %v", rows, want)
	}
}

func (h *hazards) found(name string) bool {
	if part := testName.FindStringSubmatch(name); part != nil {
		return h.testsOf(part[1])[part[2]]
	}
	if strings.HasSuffix(name, ".txt") {
		_, err := os.Stat(name)
		return err == nil
	}
	return h.sim[name]
}

// testsOf returns the tests of the package in a folder.
func (h *hazards) testsOf(folder string) map[string]bool {
	if h.tests[folder] == nil {
		h.tests[folder] = map[string]bool{}
		for _, file := range parsed(h.t, filepath.Join(folder, "*_test.go")) {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					h.tests[folder][f.Name.Name] = true
				}
			}
		}
	}
	return h.tests[folder]
}

// readSimulator collects the names that internal/sim gives to its faults, its checks (the table in its doc.go) and its
// planted bugs.
func (h *hazards) readSimulator() {
	h.sim = map[string]bool{}
	check := regexp.MustCompile(`^\t([SL]\d+) `)
	for _, file := range parsed(h.t, "internal/sim/*.go") {
		if file.Doc != nil {
			for _, c := range file.Doc.List {
				if row := check.FindStringSubmatch(strings.TrimPrefix(c.Text, "//")); row != nil {
					h.sim[row[1]] = true
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			list, ok := spec.Values[0].(*ast.CompositeLit)
			if !ok {
				return true
			}
			for _, element := range list.Elts {
				switch e := element.(type) {
				case *ast.BasicLit:
					if spec.Names[0].Name == "faultNames" {
						h.sim[strings.Trim(e.Value, `"`)] = true
					}
				case *ast.KeyValueExpr:
					if key, ok := e.Key.(*ast.Ident); ok && spec.Names[0].Name == "bugs" {
						h.sim[key.Name] = true
					}
				}
			}
			return true
		})
	}
	if len(h.sim) < 60 {
		h.t.Errorf("the simulator has only %d names: %v", len(h.sim), slices.Sorted(maps.Keys(h.sim)))
	}
}

func parsed(t *testing.T, pattern string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	fset := token.NewFileSet()
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// H23: no option is dead. Each field of what callers configure is read somewhere beside the checks of its value, and the
// filling in of its default.
func TestEveryOptionIsUsed(t *testing.T) {
	checks := regexp.MustCompile(`^(Validate|valid\w*|withDefaults)$`)
	holders := regexp.MustCompile(`^(c|cfg|config|b|Batch|retry|Retry|create|Create|options|f|fault)$`) // what such values are called
	for folder, types := range map[string][]string{
		".": {"Config", "Batch", "Retry", "TailConfig"}, "store/dynamo": {"Config", "Create"}, "local": {"Config", "Fault"},
	} {
		options, used := map[string]bool{}, map[string]bool{}
		for _, file := range parsed(t, filepath.Join(folder, "*.go")) {
			if strings.HasSuffix(file.Name.Name, "_test") || isTest(file) {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					return !checks.MatchString(n.Name.Name)
				case *ast.SelectorExpr:
					x, _ := n.X.(*ast.Ident)
					if inner, ok := n.X.(*ast.SelectorExpr); ok {
						x = inner.Sel
					}
					used[n.Sel.Name] = used[n.Sel.Name] || x != nil && holders.MatchString(x.Name)
				case *ast.TypeSpec:
					if s, ok := n.Type.(*ast.StructType); ok && slices.Contains(types, n.Name.Name) {
						for _, f := range s.Fields.List {
							for _, name := range f.Names {
								options[name.Name] = name.IsExported()
							}
						}
					}
				}
				return true
			})
		}
		for name, exported := range options {
			if exported && !used[name] {
				t.Errorf("%s: option %s does nothing", folder, name)
			}
		}
		if len(options) < 6 {
			t.Errorf("%s: found only the options %v", folder, options)
		}
	}
}

// isTest says whether a file is one of tests: it imports testing.
func isTest(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
}
