package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/leatstream/leat"
)

// sprint is what the process that reads one shard is told.
type sprint struct {
	URL     string
	Size    int
	Records int
	File    string // where a CPU profile goes; empty: nowhere
}

// fastShard measures how fast one shard is read, of a stream that holds fastBytes of payload.
func fastShard(ctx context.Context, o options) (table, error) {
	const fastBytes = 512 << 20
	t := table{
		title:   "One shard, PerShard, a handler for each record, from leat local without limits: 512 MiB that wait there",
		columns: []string{"MB/s", "records/s", "MB/CPU s", "peak MiB"},
	}
	for _, size := range []int{1024, 128} {
		told := sprint{Size: size, Records: fastBytes / size}
		if size < 1024 {
			told.Records /= 4 // a quarter of the bytes will do
		}
		if o.profile != "" {
			told.File = filepath.Join(o.profile, fmt.Sprintf("fast-%d.pprof", size))
		}
		url, stop, err := server(ctx, "local", localServer{Shards: 1, Unlimited: true, Records: told.Records, Size: size})
		if err != nil {
			return t, err
		}
		told.URL = url
		f, err := measure[figures](ctx, "fast", told)
		if stopped := stop(); err == nil {
			err = stopped
		}
		if err != nil {
			return t, fmt.Errorf("%d B: %w", size, err)
		}
		megabytes := float64(f.Records) * float64(size) / 1e6
		t.rows = append(t.rows, row{fmt.Sprintf("%d B, CBOR", size), []float64{
			megabytes / f.Wall.Seconds(), float64(f.Records) / f.Wall.Seconds(), megabytes / f.CPU.Seconds(), float64(f.Peak) / (1 << 20),
		}})
	}
	return t, nil
}

func playFast(told []byte, say func(any) error) error {
	var s sprint
	if err := json.Unmarshal(told, &s); err != nil {
		return err
	}
	var f figures
	var records atomic.Int64
	all := make(chan struct{})
	cfg := worker(s.URL, func(*leat.Record) {
		if records.Add(1) == int64(s.Records) {
			close(all)
		}
	})
	cfg.ReadQuota = noQuota
	stop, err := profile(s.File)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- leat.Run(ctx, cfg) }()
	select {
	case <-all:
	case err := <-done:
		return fmt.Errorf("it ended after %d records: %w", records.Load(), err)
	}
	f.Wall, f.Records = time.Since(began), records.Load()
	if f.CPU, f.Peak, err = spent(); err != nil {
		return err
	}
	stop()
	cancel()
	if err := <-done; err != nil {
		return err
	}
	return say(f)
}
