package leat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/leatstream/leat/lease"
)

// kindsIn returns the constants of a type of strings in a file, by their values.
func kindsIn(t *testing.T, file, kind string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || spec.Type == nil {
			return true
		}
		name := ""
		switch typ := spec.Type.(type) {
		case *ast.Ident:
			name = typ.Name
		case *ast.SelectorExpr:
			name = typ.Sel.Name
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && name == kind {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds[value] = spec.Names[0].Name
		}
		return true
	})
	if len(kinds) == 0 {
		t.Fatalf("%s has no constant of type %s", file, kind)
	}
	return kinds
}

// Whatever the protocol and the engine report has a public name.
func TestEveryEventHasAName(t *testing.T) {
	public := kindsIn(t, "event.go", "EventKind")
	consumers := []*Consumer{{}, {cfg: Config{DeadLetter: &policyWorld{}}}}
	for _, file := range []string{"lease/action.go", "internal/engine/engine.go"} {
		for kind, name := range kindsIn(t, file, "ReportKind") {
			for _, c := range consumers {
				if told := c.eventKind(lease.ReportKind(kind)); public[string(told)] == "" {
					t.Errorf("%s of %s is told as %q, which is no constant of EventKind", name, file, told)
				}
			}
		}
	}
}
