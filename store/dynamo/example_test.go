package dynamo_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/dynamo"
)

// A table of another name, with backups, on the embedded server. Against AWS, leave AWS out of both.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	config := local.New(local.Config{}).AWSConfig()
	client := kinesis.NewFromConfig(config)
	if _, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: aws.String("orders"), ShardCount: aws.Int32(1)}); err != nil {
		log.Fatal(err)
	}
	_, err := client.PutRecord(ctx, &kinesis.PutRecordInput{StreamName: aws.String("orders"), PartitionKey: aws.String("table 4"), Data: []byte("tea")})
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(leat.Run(ctx, leat.Config{
		Group:  "billing",
		Stream: "orders",
		AWS:    &config,
		Store: dynamo.New(dynamo.Config{
			Table:  "leases",
			AWS:    &config,
			Create: dynamo.Create{PointInTimeRecovery: true, DeletionProtection: true},
		}),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			fmt.Printf("%s: %s\n", r.PartitionKey, r.Data)
			cancel()
			return nil
		}),
	}))
	// Output:
	// table 4: tea
	// <nil>
}
