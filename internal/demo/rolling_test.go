package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// TestMain makes the test binary a worker process where a test starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == "demo-worker" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		w := Worker{Name: os.Args[2], Endpoint: os.Args[3], Store: os.Args[4], Log: os.Args[5]}
		if err := w.Run(ctx, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// testWorker starts worker processes by the test binary.
func testWorker(self string) func(Worker) []string {
	return func(w Worker) []string {
		return []string{self, "demo-worker", w.Name, w.Endpoint, w.Store, w.Log}
	}
}

// A rolling restart of real processes under load, as leat demo --rolling, but of two workers: each old worker gives
// its shards back, each new one gets its share from live ones. Nothing is lost, nothing is out of order, and nothing is repeated.
func TestRollingRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes, and takes half a minute")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := Demo{Out: io.Discard, Command: testWorker(self)}
	r, err := d.play(t.Context(), stage{shards: 4, workers: 3, keys: 1}, func(ctx context.Context, r *run) error {
		return r.restart(ctx, 2)
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.verdict; v.Lost+v.OutOfOrder+v.Repeated != 0 {
		t.Errorf("%+v; want nothing lost, out of order or repeated", v)
	}
	t.Logf("%v; pauses after a clean stop: %v", r.verdict, r.pauses)
}
