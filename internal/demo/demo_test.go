package demo

import (
	"os"
	"strings"
	"testing"
)

// A demo that fails keeps its folder, and says where.
func TestKeepsFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	err := Demo{Out: &out, Command: func(Worker) []string { return []string{"no such program"} }}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "starting worker w1") {
		t.Errorf("ended with %v", err)
	}
	_, dir, said := strings.Cut(out.String(), "are kept in ")
	if _, err := os.Stat(strings.TrimSpace(dir)); !said || err != nil {
		t.Errorf("it said %q; %v", &out, err)
	}
}

// A panic beside the story ends the run, and is the story's.
func TestPanicBeside(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "the watcher fell") {
			t.Errorf("panicked with %v", err)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := Demo{Out: &out, Watch: func(State) { panic("the watcher fell") }, Command: testWorker(self)}
	t.Errorf("ended with %v", d.Run(t.Context()))
}
