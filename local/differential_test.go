package local_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLikeKinesisLocal makes the calls of testdata/calls/*.txt to a server of this package and to npm's
// kinesis-local. The answers are the same, but for the differences that are listed.
func TestLikeKinesisLocal(t *testing.T) {
	t.Parallel()
	ours, peers := sides(t)
	files, err := filepath.Glob("testdata/calls/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts of calls", err)
	}
	met := map[*difference]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, ours, peers, slices.Values(parseCalls(t, string(text))), met)
		})
	}
	failed := t.Failed()
	for i := range differences {
		if !failed && !met[&differences[i]] {
			t.Errorf("%+v: no script meets this difference", differences[i])
		}
	}
}

// parseCalls reads lines of the form "Operation {JSON}" or "name = Operation {JSON}". A line that begins with # is
// a comment. The line --- begins anew; it makes a call without an operation.
func parseCalls(t *testing.T, text string) (calls []call) {
	t.Helper()
	form := regexp.MustCompile(`^(?:(\w+) = )?(\w+) (\{.*\})$`)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if line == "---" {
			calls = append(calls, call{})
			continue
		}
		m := form.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no call: %s", line)
		}
		calls = append(calls, call{save: m[1], op: m[2], input: m[3]})
	}
	return calls
}

// compare makes calls to both sides, from an account without streams on, and notes the differences it met.
func compare(t *testing.T, ours, peers *side, calls func(func(call) bool), met map[*difference]bool) {
	t.Helper()
	begin := func() {
		for _, s := range []*side{ours, peers} {
			if err := s.forget(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin()
	for c := range calls {
		if c.op == "" {
			begin()
			continue
		}
		our, peer := both(t, ours, peers, c)
		for path, values := range unlike("", our, peer) {
			d := listed(c, path, values)
			if d == nil {
				t.Errorf("%v\n%s\n  here:  %s\n  there: %s", c, path, show(values[0]), show(values[1]))
				continue
			}
			met[d] = true
		}
	}
}

func both(t *testing.T, ours, peers *side, c call) (our, peer any) {
	t.Helper()
	var answers [2]any
	for i, s := range []*side{ours, peers} {
		var err error
		if answers[i], err = s.answer(context.WithoutCancel(t.Context()), c); err != nil {
			t.Errorf("%v: side %d: %v", c, i, err)
		}
	}
	return answers[0], answers[1]
}

// unlike finds the paths at which two answers differ, and the values there. Elements of a list share a path.
func unlike(path string, a, b any) map[string][2]any {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	found := map[string][2]any{}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok && (a["error"] == nil) == (b["error"] == nil) {
			keys := maps.Clone(a)
			maps.Copy(keys, b)
			for key := range keys {
				maps.Copy(found, unlike(strings.TrimPrefix(path+"."+key, "."), a[key], b[key]))
			}
			return found
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				maps.Copy(found, unlike(path, a[i], b[i]))
			}
			return found
		}
	}
	return map[string][2]any{path: {a, b}}
}

// show is JSON, for comparisons with patterns and for people.
func show(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(err)
	}
	return strings.TrimSpace(b.String())
}

// listed is the difference that the values at a path are, or nil.
func listed(c call, path string, values [2]any) *difference {
	for i := range differences {
		d := &differences[i]
		if d.matches(c, path, values) {
			return d
		}
	}
	return nil
}

func (d *difference) matches(c call, path string, values [2]any) bool {
	for pattern, text := range map[string]string{
		d.op: c.op, d.input: c.input, d.path: path, d.here: show(values[0]), d.there: show(values[1]),
	} {
		if pattern != "" && !regexp.MustCompile("^(?:"+pattern+")$").MatchString(text) {
			return false
		}
	}
	return true
}
