package local_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"

	"github.com/leatstream/leat/local"
)

// fixture is a server with a client of it that does not retry, so that a test
// sees each answer.
type fixture struct {
	*testing.T
	server *local.Server
	client *kinesis.Client
}

func start(t *testing.T, config local.Config) *fixture {
	t.Helper()
	server := local.New(config)
	return &fixture{t, server, kinesis.NewFromConfig(server.AWSConfig(), noRetries)}
}

func noRetries(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} }

func (f *fixture) create(stream string, shards int32) {
	f.Helper()
	_, err := f.client.CreateStream(f.Context(), &kinesis.CreateStreamInput{StreamName: &stream, ShardCount: &shards})
	if err != nil {
		f.Fatal(err)
	}
}

// put writes one record and returns its sequence number and shard.
func (f *fixture) put(stream, key, data string) (sequence, shard string) {
	f.Helper()
	out, err := f.client.PutRecord(f.Context(), &kinesis.PutRecordInput{
		StreamName: &stream, PartitionKey: &key, Data: []byte(data)})
	if err != nil {
		f.Fatal(err)
	}
	return *out.SequenceNumber, *out.ShardId
}

func (f *fixture) list(in *kinesis.ListShardsInput) []types.Shard {
	f.Helper()
	out, err := f.client.ListShards(f.Context(), in)
	if err != nil {
		f.Fatal(err)
	}
	return out.Shards
}

func (f *fixture) split(stream, shard, key string) {
	f.Helper()
	_, err := f.client.SplitShard(f.Context(), &kinesis.SplitShardInput{
		StreamName: &stream, ShardToSplit: &shard, NewStartingHashKey: &key})
	if err != nil {
		f.Fatal(err)
	}
}

// iterator gets an iterator; more, if any, completes the request.
func (f *fixture) iterator(stream, shard string, kind types.ShardIteratorType, more ...func(*kinesis.GetShardIteratorInput)) *string {
	f.Helper()
	in := &kinesis.GetShardIteratorInput{StreamName: &stream, ShardId: &shard, ShardIteratorType: kind}
	for _, fn := range more {
		fn(in)
	}
	out, err := f.client.GetShardIterator(f.Context(), in)
	if err != nil {
		f.Fatal(err)
	}
	return out.ShardIterator
}

func (f *fixture) get(iterator *string) *kinesis.GetRecordsOutput {
	f.Helper()
	out, err := f.client.GetRecords(f.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator})
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// drain reads a shard from an iterator to its end, or to the tip of an open one.
func (f *fixture) drain(iterator *string) []types.Record {
	f.Helper()
	var records []types.Record
	for iterator != nil {
		out := f.get(iterator)
		records = append(records, out.Records...)
		if len(out.Records) == 0 && *out.MillisBehindLatest == 0 {
			break
		}
		iterator = out.NextShardIterator
	}
	return records
}

func texts(records []types.Record) []string {
	var list []string
	for _, r := range records {
		list = append(list, string(r.Data))
	}
	return list
}

func ids(shards []types.Shard) []string {
	var list []string
	for _, h := range shards {
		list = append(list, *h.ShardId)
	}
	return list
}

// code is the error type that the service answered with, or what else failed.
func code(err error) string {
	var refusal smithy.APIError
	if errors.As(err, &refusal) {
		return refusal.ErrorCode()
	}
	return fmt.Sprint(err)
}

func TestLifeOfAStream(t *testing.T) {
	f := start(t, local.Config{Unlimited: true})
	lifeOfAStream(f)
}

// lifeOfAStream creates a stream, writes, splits, merges, reads all shards and
// deletes it. It asks nothing of the clock or the transport.
func lifeOfAStream(f *fixture) {
	const stream = "orders"
	f.create(stream, 1)
	f.put(stream, "a", "1")
	f.put(stream, "b", "2")
	f.split(stream, "shardId-000000000000", "170141183460469231731687303715884105728")
	f.put(stream, "a", "3")
	_, err := f.client.MergeShards(f.Context(), &kinesis.MergeShardsInput{
		StreamName:   aws.String(stream),
		ShardToMerge: aws.String("shardId-000000000001"), AdjacentShardToMerge: aws.String("shardId-000000000002")})
	if err != nil {
		f.Fatal(err)
	}
	f.put(stream, "a", "4")

	shards := f.list(&kinesis.ListShardsInput{StreamName: aws.String(stream)})
	if got := len(shards); got != 4 {
		f.Fatalf("%d shards, want 4", got)
	}
	var read []string
	last := ""
	for _, shard := range shards {
		for _, r := range f.drain(f.iterator(stream, *shard.ShardId, types.ShardIteratorTypeTrimHorizon)) {
			if *r.SequenceNumber <= last {
				f.Errorf("sequence number %s after %s", *r.SequenceNumber, last)
			}
			last = *r.SequenceNumber
			read = append(read, string(r.Data))
		}
	}
	if want := []string{"1", "2", "3", "4"}; !slices.Equal(read, want) {
		f.Errorf("read %q, want %q", read, want)
	}

	if _, err := f.client.DeleteStream(f.Context(), &kinesis.DeleteStreamInput{StreamName: aws.String(stream)}); err != nil {
		f.Fatal(err)
	}
	_, err = f.client.DescribeStreamSummary(f.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: aws.String(stream)})
	if got := code(err); got != "ResourceNotFoundException" {
		f.Errorf("describing a deleted stream: %s", got)
	}
}

// refusal is the error type and message that the service answered with.
func refusal(err error) string {
	var refusal smithy.APIError
	if errors.As(err, &refusal) {
		return refusal.ErrorCode() + ": " + refusal.ErrorMessage()
	}
	return fmt.Sprint(err)
}
