package leat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/deadletter"
	"github.com/leatstream/leat/store/memory"
)

// Up to 500 records in a call; a batch waits for at most a second to fill.
func ExampleBatch() {
	ctx, cancel := context.WithCancel(context.Background())
	err := leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea", "bread", "bill"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Batch: &leat.Batch{
			MaxRecords: 500,
			MaxWait:    time.Second,
			Handler: leat.BatchHandlerFunc(func(_ context.Context, records []leat.Record) error {
				for i := range records {
					fmt.Printf("%s ", records[i].Data)
				}
				cancel()
				return nil
			}),
		},
	})
	fmt.Println(err)
	// Output: tea bread bill <nil>
}

// Records before the one that failed count as handled; the failed one is tried three times, and then written to a
// file, so that the rest of the shard goes on.
func ExampleBatchError() {
	dir, err := os.MkdirTemp("", "leat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	err = leat.Run(ctx, leat.Config{
		Group:      "billing",
		Stream:     "orders",
		AWS:        orders("tea", "stone", "bill"),
		Store:      memory.New(),
		Logger:     slog.New(slog.DiscardHandler),
		Retry:      leat.Retry{Attempts: 3},
		DeadLetter: deadletter.File(filepath.Join(dir, "failed.ndjson")),
		Batch: &leat.Batch{Handler: leat.BatchHandlerFunc(func(_ context.Context, records []leat.Record) error {
			for i := range records {
				switch string(records[i].Data) {
				case "stone":
					return &leat.BatchError{Index: i, Err: errors.New("not on the menu")}
				case "bill":
					cancel()
				}
				fmt.Printf("%s\n", records[i].Data)
			}
			return nil
		})},
	})
	fmt.Println(err)
	// Output:
	// tea
	// bill
	// <nil>
}

// The handler only starts the work; its end, wherever that is, acknowledges the record.
func ExampleDefer() {
	ctx, cancel := context.WithCancel(context.Background())
	work := make(chan func())
	go func() {
		for do := range work {
			do()
		}
	}()
	err := leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		Order:  leat.PerKey(4),
		AWS:    orders("tea", "bread", "bill"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(ctx context.Context, r *leat.Record) error {
			ack := leat.Defer(ctx)
			work <- func() {
				fmt.Printf("%s\n", r.Data) // r is valid until the ack
				if string(r.Data) == "bill" {
					cancel()
				}
				ack(nil)
			}
			return nil
		}),
	})
	close(work)
	fmt.Println(err)
	// Output:
	// tea
	// bread
	// bill
	// <nil>
}

// totals keeps a total for each shard while this worker holds it.
type totals struct{ done func() }

func (t totals) Open(_ context.Context, s *leat.Shard) error {
	s.State = 0
	return nil
}

func (t totals) Handle(_ context.Context, s *leat.Shard, records []leat.Record) error {
	s.State = s.State.(int) + len(records)
	t.done()
	return nil
}

func (t totals) Close(_ context.Context, s *leat.Shard, reason leat.Reason) error {
	fmt.Printf("%s %s after %d records\n", s.ID, reason, s.State)
	return nil
}

func ExampleShardHandler() {
	ctx, cancel := context.WithCancel(context.Background())
	err := leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea", "bread", "bill"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Shards: totals{done: cancel},
	})
	fmt.Println(err)
	// Output:
	// shardId-000000000000 released after 3 records
	// <nil>
}
