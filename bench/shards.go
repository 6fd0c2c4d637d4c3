package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/leatstream/leat"
)

// holder is what the process that holds many shards is told.
type holder struct {
	URL    string
	Shards int
	Poll   time.Duration
	Period time.Duration
	File   string // where a CPU profile goes; empty: nowhere
}

// held is what it says: of Period, once all shards are held and have been read.
type held struct {
	Memory     int64         // resident at its end, of Go's runtime, beyond what there was before Run
	Live       int64         // of it: what a garbage collection leaves, with the stacks
	Start      time.Duration // from Run until every shard was read
	First      int64         // what Memory was then
	CPU, Wall  time.Duration
	Records    int64
	Goroutines int
}

const manyShards = 1000

// shards measures what holding a shard costs.
func shards(ctx context.Context, o options) (table, error) {
	t := table{
		title:   "1,000 held shards in one process, leases in memory, PollInterval 1 s (the default): a shard's part",
		columns: []string{"KiB/shard", "KiB/shard live", "CPU %", "records/s", "goroutines/shard", "seconds to hold all", "KiB/shard then"},
	}
	for _, c := range []struct {
		name    string
		trickle bool
		poll    time.Duration
	}{
		{"idle", false, time.Second},
		{"a record of 128 B a second each", true, time.Second},
	} {
		url, stop, err := server(ctx, "local", localServer{Shards: manyShards, Trickle: c.trickle, Size: 128})
		if err != nil {
			return t, err
		}
		told := holder{URL: url, Shards: manyShards, Poll: c.poll, Period: 5 * o.period}
		if o.profile != "" {
			told.File = o.profile + "/shards-" + map[bool]string{false: "idle", true: "trickle"}[c.trickle] + ".pprof"
		}
		h, err := measure[held](ctx, "shards", told)
		if stopped := stop(); err == nil {
			err = stopped
		}
		if err != nil {
			return t, fmt.Errorf("%s: %w", c.name, err)
		}
		t.rows = append(t.rows, row{c.name, []float64{
			float64(h.Memory) / manyShards / 1024, float64(h.Live) / manyShards / 1024, 100 * h.CPU.Seconds() / h.Wall.Seconds(),
			float64(h.Records) / h.Wall.Seconds(), float64(h.Goroutines) / manyShards, h.Start.Seconds(), float64(h.First) / manyShards / 1024,
		}})
	}
	return t, nil
}

func playShards(told []byte, say func(any) error) error {
	var h holder
	if err := json.Unmarshal(told, &h); err != nil {
		return err
	}
	var records atomic.Int64
	cfg := worker(h.URL, func(*leat.Record) { records.Add(1) })
	cfg.PollInterval = h.Poll
	consumer, err := leat.New(cfg)
	if err != nil {
		return err
	}
	runtime.GC()
	before, goroutines := resident(), runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- consumer.Run(ctx) }()
	for !readAll(consumer, h.Shards) {
		if err := wait(done, 100*time.Millisecond); err != nil {
			return err
		}
		if time.Since(began) > time.Minute {
			return errors.New("not all shards are held after a minute")
		}
	}
	var of held
	of.Start, of.First = time.Since(began), resident()-before
	if err := wait(done, warmUp); err != nil {
		return err
	}
	stop, err := profile(h.File)
	if err != nil {
		return err
	}
	cpu, _, err := spent()
	if err != nil {
		return err
	}
	began, first := time.Now(), records.Load()
	if err := wait(done, h.Period); err != nil {
		return err
	}
	after, _, err := spent()
	if err != nil {
		return err
	}
	of.CPU, of.Wall, of.Records = after-cpu, time.Since(began), records.Load()-first
	stop()
	of.Memory, of.Goroutines = resident()-before, runtime.NumGoroutine()-goroutines
	runtime.GC()
	of.Live = live() - before
	cancel()
	if err := <-done; err != nil {
		return err
	}
	return say(of)
}

// readAll says whether the consumer holds so many shards, and has read each.
func readAll(c *leat.Consumer, shards int) bool {
	stats := c.Stats()
	for _, s := range stats.Shards {
		if s.Read.IsZero() {
			return false
		}
	}
	return len(stats.Shards) == shards
}

// resident is the memory that Go's runtime has of the system, in bytes.
func resident() int64 {
	return metric("/memory/classes/total:bytes") - metric("/memory/classes/heap/released:bytes")
}

// live is what of it holds objects and stacks, and the runtime's own.
func live() int64 {
	return resident() - metric("/memory/classes/heap/free:bytes") - metric("/memory/classes/heap/unused:bytes")
}

func metric(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
