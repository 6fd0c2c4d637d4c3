package leat_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/memory"
)

// orders is a Kinesis in this process with one stream that holds some orders. Against AWS, leave
// Config.AWS out.
func orders(names ...string) *aws.Config {
	ctx := context.Background()
	cfg := local.New(local.Config{}).AWSConfig()
	client := kinesis.NewFromConfig(cfg)
	if _, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: aws.String("orders"), ShardCount: aws.Int32(1)}); err != nil {
		log.Fatal(err)
	}
	for _, name := range names {
		if _, err := client.PutRecord(ctx, &kinesis.PutRecordInput{
			StreamName: aws.String("orders"), PartitionKey: aws.String("table 4"), Data: []byte(name),
		}); err != nil {
			log.Fatal(err)
		}
	}
	return &cfg
}

func ExampleRun() {
	ctx, cancel := context.WithCancel(context.Background())
	err := leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea", "bread", "bill"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			fmt.Printf("%s: %s\n", r.PartitionKey, r.Data)
			if string(r.Data) == "bill" {
				cancel() // a program would rather do so on SIGTERM
			}
			return nil
		}),
	})
	fmt.Println(err)
	// Output:
	// table 4: tea
	// table 4: bread
	// table 4: bill
	// <nil>
}

// Four orders at once, but the orders of one table in turn.
func ExamplePerKey() {
	ctx, cancel := context.WithCancel(context.Background())
	err := leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		Order:  leat.PerKey(4),
		AWS:    orders("tea", "bread", "bill"), // all of table 4
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			fmt.Printf("%s: %s\n", r.PartitionKey, r.Data)
			if string(r.Data) == "bill" {
				cancel()
			}
			return nil
		}),
	})
	fmt.Println(err)
	// Output:
	// table 4: tea
	// table 4: bread
	// table 4: bill
	// <nil>
}

func ExampleNew() {
	_, err := leat.New(leat.Config{Group: "billing", Stream: "orders", Store: memory.New(), PollInterval: time.Millisecond})
	fmt.Println(err)
	// Output:
	// leat: configuration: Handler: must be set, or Batch or Shards
	// PollInterval: 1ms: at least 200ms
}

func ExampleConfig_Validate() {
	fmt.Println(leat.Config{
		Group:   "the billing group",
		Stream:  "orders",
		Store:   memory.New(),
		Handler: leat.HandlerFunc(func(context.Context, *leat.Record) error { return nil }),
	}.Validate())
	// Output:
	// Group: "the billing group" is not 1 to 255 characters out of letters, digits and _.-
}

func ExampleConsumer_Stats() {
	ctx, cancel := context.WithCancel(context.Background())
	var consumer *leat.Consumer
	consumer, err := leat.New(leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(context.Context, *leat.Record) error {
			for _, s := range consumer.Stats().Shards {
				fmt.Printf("%s: %d handled, %d queued, attempt %d\n", s.Shard, s.Handled, s.Queued, s.Attempt)
			}
			cancel()
			return nil
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(consumer.Run(ctx))
	// Output:
	// shardId-000000000000: 0 handled, 1 queued, attempt 1
	// <nil>
}

// Health is what a readiness probe asks.
func ExampleConsumer_Health() {
	ctx, cancel := context.WithCancel(context.Background())
	var consumer *leat.Consumer
	consumer, err := leat.New(leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(context.Context, *leat.Record) error {
			fmt.Println("while it runs:", consumer.Health())
			cancel()
			return nil
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("before:", consumer.Health())
	if err := consumer.Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("after:", consumer.Health())
	// Output:
	// before: not a member of the group
	// while it runs: <nil>
	// after: not a member of the group
}

// Events are for metrics and alarms; most programs count them by their kind.
func ExampleEvent() {
	ctx, cancel := context.WithCancel(context.Background())
	err := leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Events: func(e leat.Event) {
			if e.Shard != "" {
				fmt.Println(e.Kind, e.Shard)
			}
		},
		Handler: leat.HandlerFunc(func(context.Context, *leat.Record) error {
			cancel()
			return nil
		}),
	})
	fmt.Println(err)
	// Output:
	// new shard shardId-000000000000
	// took shardId-000000000000
	// released shardId-000000000000
	// <nil>
}

// The consumer stops at a record that nobody should pass; it is the first of the next run.
func ExampleStop() {
	cfg := leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea", "a bomb", "bill"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			fmt.Printf("%s\n", r.Data)
			if string(r.Data) == "a bomb" {
				return leat.Stop(errDanger)
			}
			return nil
		}),
	}
	for range 2 {
		err := leat.Run(context.Background(), cfg)
		fmt.Println(errors.Is(err, errDanger))
	}
	// Output:
	// tea
	// a bomb
	// true
	// a bomb
	// true
}

var errDanger = errors.New("danger")

func ExampleRetryAfter() {
	ctx, cancel := context.WithCancel(context.Background())
	err := leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    orders("tea"),
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			fmt.Printf("%s, attempt %d\n", r.Data, r.Attempt)
			if r.Attempt < 3 {
				return leat.RetryAfter(time.Millisecond, errors.New("the till is busy"))
			}
			cancel()
			return nil
		}),
	})
	fmt.Println(err)
	// Output:
	// tea, attempt 1
	// tea, attempt 2
	// tea, attempt 3
	// <nil>
}

func ExampleHandlerFunc() {
	var handler leat.Handler = leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
		fmt.Printf("%s\n", r.Data)
		return nil
	})
	// A handler needs no consumer to be tested.
	fmt.Println(handler.Handle(context.Background(), &leat.Record{Data: []byte("tea")}))
	// Output:
	// tea
	// <nil>
}

// A record that is kept for longer than the handler runs must be cloned.
func ExampleRecord_Clone() {
	r := &leat.Record{PartitionKey: "table 4", Data: []byte("tea")}
	kept := r.Clone()
	copy(r.Data, "ale")
	fmt.Printf("%s: %s\n", kept.PartitionKey, kept.Data)
	// Output:
	// table 4: tea
}
