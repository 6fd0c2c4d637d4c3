//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test's own program play the parts of a measurement.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		exit(play(role))
	}
	os.Exit(m.Run())
}

// The throughput is measured, with processes, servers and all: a line for each case that is asked for, and figures in it.
func TestThroughput(t *testing.T) {
	for _, only := range []string{"128 B, JSON, bare loop", "1024 B, aggregated, CBOR, leat PerKey(64)"} {
		got, err := throughput(t.Context(), options{rounds: 1, period: 200 * time.Millisecond, only: only})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.rows) != 1 || got.rows[0].name != only || got.rows[0].figures[0] <= 0 || got.rows[0].figures[4] <= 0 {
			t.Errorf("%s: %+v", only, got.rows)
		}
	}
}

// Whoever is measured and fails says why.
func TestMeasureFails(t *testing.T) {
	_, err := measure[figures](t.Context(), "bare", contender{URL: "http://127.0.0.1:1", Warm: time.Minute})
	if err == nil {
		t.Error("nobody is there to be read")
	}
}

func TestRunRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"everything":      `"everything" is none of throughput, latency, shards, fast-shard`,
		"-rounds 0":       "-rounds is at least 1",
		"-output figures": "-output is table or json",
		"-nonsense":       "nonsense",
	} {
		var talk strings.Builder
		err := run(context.Background(), strings.Fields(args), &talk, &talk)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	if err := run(context.Background(), []string{"-h"}, new(strings.Builder), new(strings.Builder)); errors.Unwrap(err) != nil || err == nil {
		t.Errorf("help: %v", err)
	}
}
