package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"
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

// A rolling restart of real processes under load: each new worker gets its share from live ones, each old
// one gives its shards back. Nothing is lost, nothing is out of order, and nothing is repeated.
func TestRollingRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes, and takes half a minute")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := Demo{Out: io.Discard, Command: func(w Worker) []string {
		return []string{self, "demo-worker", w.Name, w.Endpoint, w.Store, w.Log}
	}}
	var pauses []time.Duration
	v, err := d.play(t.Context(), func(ctx context.Context, r *run) error {
		for _, old := range r.group.running()[:2] {
			if err := r.join(ctx); err != nil {
				return err
			}
			if err := r.end(ctx, old, syscall.SIGTERM); err != nil {
				return err
			}
		}
		pauses = r.pauses
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if v.Lost+v.OutOfOrder+v.Repeated != 0 {
		t.Errorf("%+v; want nothing lost, out of order or repeated", v)
	}
	slices.Sort(pauses)
	t.Logf("%d records; pauses after a clean stop, of %d shards: min %v, median %v, max %v",
		v.Records, len(pauses), pauses[0], pauses[len(pauses)/2], pauses[len(pauses)-1])
}
