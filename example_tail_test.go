package leat_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/local"
)

// Read what a stream holds, on the embedded server.
func ExampleTail() {
	ctx := context.Background()
	config := local.New(local.Config{}).AWSConfig()
	client := kinesis.NewFromConfig(config)
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

	left := 2
	for r, err := range leat.Tail(ctx, leat.TailConfig{Stream: "orders", AWS: &config}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", r.PartitionKey, r.Data)
		if left--; left == 0 {
			break // a tail has no end of its own
		}
	}
	// Output:
	// table 4: tea
	// table 4: bread
}
