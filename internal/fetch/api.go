package fetch

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
)

// API is the part of Kinesis that fetch calls, with the SDK's signatures: *kinesis.Client has it.
type API interface {
	DescribeStreamSummary(context.Context, *kinesis.DescribeStreamSummaryInput, ...func(*kinesis.Options)) (*kinesis.DescribeStreamSummaryOutput, error)
	ListShards(context.Context, *kinesis.ListShardsInput, ...func(*kinesis.Options)) (*kinesis.ListShardsOutput, error)
	GetShardIterator(context.Context, *kinesis.GetShardIteratorInput, ...func(*kinesis.Options)) (*kinesis.GetShardIteratorOutput, error)
	GetRecords(context.Context, *kinesis.GetRecordsInput, ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error)
}

// Stream names a stream. Calls use the ARN where it is known, which also reaches a stream of another
// account, else the name.
type Stream struct {
	Name string
	ARN  string // may be empty
}

// String is the ARN if known, else the name.
func (s Stream) String() string {
	if s.ARN != "" {
		return s.ARN
	}
	return s.Name
}

// name and arn are the two halves of the rule above: one of them is nil.
func (s Stream) name() *string {
	if s.ARN != "" || s.Name == "" {
		return nil
	}
	return aws.String(s.Name)
}

func (s Stream) arn() *string {
	if s.ARN == "" {
		return nil
	}
	return aws.String(s.ARN)
}

// Credit is a shard's handle on the process's byte budget. Its methods are safe for concurrent use.
type Credit interface {
	// Take blocks until n bytes are the shard's, or ctx is done: then it returns ctx's error and
	// nothing is taken.
	Take(ctx context.Context, n int64) error
	// Give gives n bytes back.
	Give(n int64)
	// Room is how many bytes to ask for next: what the shard can probably take now, or what it is
	// worth waiting for. It is a hint, above 0.
	Room() int64
}

// once switches the SDK's own retries off, for one call. They would do harm here: the SDK waits where
// Status cannot see it; its retry tokens are the client's, so that one throttled shard uses up every
// other's; and it gives up after three tries, so that a second loop is needed anyway. One loop is
// simpler to reason about than two.
func once(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} }

// The service's limits, for each shard and for all its polling consumers together (Kinesis API
// reference, GetRecords).
const (
	callsPerSecond = 5
	bytesPerSecond = 2 << 20
	maxRecords     = 10_000
)

// DefaultPollInterval is the time between two calls at the tip of a shard.
const DefaultPollInterval = time.Second
