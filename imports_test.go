package leat_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/leatstream/leat"

// mayImport is who may import whom, directly: the folders are the steps that a record takes, and no
// step calls the one before it. A package that is not listed fails the test: give it a line here and in
// DESIGN.md. "sdk" is the AWS SDK; the standard library is always allowed, but for the words in without.
var mayImport = map[string]struct {
	of      []string
	without []string // of the standard library
}{
	"lease":             {without: []string{"net", "os", "sync", "log", "math/rand"}},
	"lease/leasetest":   {of: []string{"lease"}},
	"store/memory":      {of: []string{"lease"}},
	"store/file":        {of: []string{"lease"}},
	"store/dynamo":      {of: []string{"lease", "sdk"}},
	"internal/record":   {of: []string{"lease"}},
	"internal/kpl":      {of: []string{"lease", "internal/record"}},
	"internal/wire":     {of: []string{"internal/record", "sdk"}},
	"internal/fetch":    {of: []string{"lease", "internal/record", "internal/wire", "internal/kpl", "sdk"}},
	"internal/dispatch": {of: []string{"lease", "internal/record", "internal/kpl"}},
	"internal/engine":   {of: []string{"lease", "internal/record", "internal/fetch", "internal/dispatch"}},
	"internal/sim":      {of: []string{"lease", "internal/dispatch"}},
	"internal/explore":  {of: []string{"lease"}},
	"internal/mutants":  {},
	"internal/scale":    {of: []string{"lease"}},
	"local/dynamodb":    {of: []string{"local/internal/ondemand", "sdk"}},
	"local":             {of: []string{"local/dynamodb", "local/internal/ondemand", "local/internal/strict", "sdk"}},
	"internal/node":     {},
	"":                  {of: []string{"lease", "store/dynamo", "internal/record", "internal/kpl", "internal/wire", "internal/fetch", "internal/dispatch", "internal/engine", "sdk"}},
	"deadletter":        {of: []string{"", "sdk"}},
	"internal/chaos":    {of: []string{"", "lease", "local", "store/dynamo", "internal/node", "sdk", "golang.org/x/sys/unix"}},
	"internal/demo":     {of: []string{"", "lease", "local", "store/file", "sdk"}},
	"bench":             {of: []string{"", "local", "internal/kpl", "internal/record", "store/memory", "sdk"}},
	"examples/smallest": {of: []string{""}},
	"cmd/leat":          {of: []string{"", "lease", "local", "store/file", "internal/fetch", "internal/kpl", "internal/demo", "cmd/leat/internal/screen", "sdk", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys/unix"}},
	"cmd/leat/internal/screen": {of: []string{"internal/demo", "charm.land/bubbletea/v2", "charm.land/lipgloss/v2",
		"github.com/charmbracelet/x/ansi", "github.com/charmbracelet/x/term"}},

	"local/internal/ondemand": {of: []string{"local/internal/strict"}},
	"local/internal/strict":   {},
}

// linkedOnlyTo are the packages whose users must get nothing into their binaries but the standard
// library and the AWS SDK: all but the command and the tests that are packages.
func isLibrary(pkg string) bool {
	return !strings.HasPrefix(pkg, "cmd/") && pkg != "internal/demo" && pkg != "internal/chaos"
}

type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,Deps"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// name is a package's folder in this module, "sdk" for the AWS SDK, else its import path.
func name(path string) string {
	switch {
	case path == module:
		return ""
	case strings.HasPrefix(path, module+"/"):
		return strings.TrimPrefix(path, module+"/")
	case strings.HasPrefix(path, "github.com/aws/aws-sdk-go-v2"), strings.HasPrefix(path, "github.com/aws/smithy-go"):
		return "sdk"
	}
	return path
}

func TestImports(t *testing.T) {
	standard := map[string]bool{}
	for _, p := range goList(t, "-deps", "./...") {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range goList(t, "./...") {
		pkg := name(p.ImportPath)
		rule, ok := mayImport[pkg]
		if !ok {
			t.Errorf("package %q has no line in mayImport", pkg)
			continue
		}
		for _, path := range p.Imports {
			forbidden := slices.ContainsFunc(rule.without, func(w string) bool { return path == w || strings.HasPrefix(path, w+"/") })
			if forbidden || !standard[path] && !slices.Contains(rule.of, name(path)) {
				t.Errorf("%q imports %s", pkg, path)
			}
		}
		for _, path := range p.Deps {
			if n := name(path); isLibrary(pkg) && !standard[path] && n == path {
				t.Errorf("%q links %s: the library links only the standard library and the AWS SDK", pkg, path)
			}
		}
	}
}

// TestHeartIsPure: the protocol and the ack tracker read no clock, start no goroutine and wait for nothing.
func TestHeartIsPure(t *testing.T) {
	files, err := filepath.Glob("lease/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "internal/dispatch/tracker.go", "internal/fetch/quota.go")
	fset := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%v: goroutines and channels have no place in the heart", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					t.Errorf("%v: time.%s: time comes in with the event", fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}
