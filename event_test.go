package leat

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
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

// spill panics; its name is to be found in the stack.
func spill(context.Context, *Record) error { panic("spilt") }

// Who has to mend a handler that panics finds where it did so, in the log and in the event.
func TestPanicIsToldWithItsStack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.put("a", 0)
		var out bytes.Buffer
		w := r.start("anna", spill, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
		elapse(time.Minute)
		r.must(w.stop())
		if !strings.Contains(out.String(), "leat.spill(") {
			t.Errorf("the log does not tell where the handler panicked:\n%s", &out)
		}
		for _, ev := range w.events {
			if ev.Kind != EventRetrying {
				continue
			}
			if p, ok := errors.AsType[*PanicError](ev.Err); !ok || p.Value != "spilt" || !bytes.Contains(p.Stack, []byte("leat.spill(")) {
				t.Errorf("%v is no PanicError with its stack", ev.Err)
			}
			return
		}
		t.Error("nobody was told")
	})
}
