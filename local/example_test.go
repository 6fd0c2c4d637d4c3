package local_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

// A test writes to a stream and reads it back, without a network.
func Example() {
	ctx := context.Background()
	server := local.New(local.Config{})
	client := kinesis.NewFromConfig(server.AWSConfig())

	_, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: aws.String("orders"), ShardCount: aws.Int32(1)})
	if err != nil {
		log.Fatal(err)
	}
	for _, order := range []string{"tea", "bread"} {
		_, err := client.PutRecord(ctx, &kinesis.PutRecordInput{
			StreamName: aws.String("orders"), PartitionKey: aws.String("table 4"), Data: []byte(order)})
		if err != nil {
			log.Fatal(err)
		}
	}

	start, err := client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
		StreamName: aws.String("orders"), ShardId: aws.String("shardId-000000000000"),
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: start.ShardIterator})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range answer.Records {
		fmt.Printf("%s: %s\n", *r.PartitionKey, r.Data)
	}
	// Output:
	// table 4: tea
	// table 4: bread
}

// The next GetRecords call is throttled, one in ten loses its answer, and each
// takes 50 milliseconds.
func ExampleServer_SetFaults() {
	server := local.New(local.Config{})
	server.SetFaults(1,
		local.Fault{Kind: local.Delay, Op: "GetRecords", Share: 1, Delay: 50 * time.Millisecond},
		local.Fault{Kind: local.Throttle, Op: "GetRecords", Share: 1, Count: 1},
		local.Fault{Kind: local.DropAnswer, Op: "GetRecords", Share: 0.1},
	)
}
