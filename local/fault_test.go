package local_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

// calls makes n GetRecords calls on a shard and returns the outcome of each: an
// error type, "broken" or "ok".
func (f *fixture) calls(n int, shard string) []string {
	f.Helper()
	iterator := f.iterator("s", shard, types.ShardIteratorTypeTrimHorizon)
	var outcomes []string
	for range n {
		_, err := f.client.GetRecords(f.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator})
		switch {
		case err == nil:
			outcomes = append(outcomes, "ok")
		case errors.Is(err, io.ErrUnexpectedEOF):
			outcomes = append(outcomes, "broken")
		default:
			outcomes = append(outcomes, code(err))
		}
	}
	return outcomes
}

func count(outcomes []string, want string) int {
	n := 0
	for _, o := range outcomes {
		if o == want {
			n++
		}
	}
	return n
}

func TestFaultKinds(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 1)
	for kind, want := range map[local.FaultKind]string{
		local.Throttle:       "ProvisionedThroughputExceededException",
		local.Error:          "InternalFailure",
		local.DropAnswer:     "broken",
		local.ExpireIterator: "ExpiredIteratorException",
		0:                    "ok",
	} {
		f.server.SetFaults(1, local.Fault{Kind: kind, Op: "GetRecords", Share: 1})
		if got := f.calls(2, shard0); count(got, want) != 2 {
			t.Errorf("kind %d: %v, want %s", kind, got, want)
		}
	}
	f.server.SetFaults(1, local.Fault{Kind: local.Throttle, Share: 1})
	_, err := f.client.ListStreams(t.Context(), &kinesis.ListStreamsInput{})
	if code(err) != "LimitExceededException" {
		t.Errorf("a throttled ListStreams: %v", err)
	}
	f.server.SetFaults(1)
	if _, err := f.client.ListStreams(t.Context(), &kinesis.ListStreamsInput{}); err != nil {
		t.Errorf("without faults: %v", err)
	}
}

func TestDroppedAnswerHadItsEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Unlimited: true})
		f.create("s", 1)
		f.server.SetFaults(1, local.Fault{Kind: local.DropAnswer, Op: "PutRecord", Share: 1, Count: 1})
		// The SDK's retries make of one record two, as they may in earnest.
		retrying := kinesis.NewFromConfig(f.server.AWSConfig())
		_, err := retrying.PutRecord(t.Context(), &kinesis.PutRecordInput{
			StreamName: aws.String("s"), PartitionKey: aws.String("a"), Data: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(f.drain(f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon))); !slices.Equal(got, []string{"x", "x"}) {
			t.Errorf("after a dropped answer and a retry the shard holds %q", got)
		}
	})
}

func TestDropOnAPort(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	config := f.server.AWSConfig()
	config.BaseEndpoint = aws.String(serve(t, f.server))
	config.HTTPClient = nil
	client := kinesis.NewFromConfig(config, noRetries)
	f.server.SetFaults(1, local.Fault{Kind: local.DropAnswer, Op: "CreateStream", Share: 1})
	_, err := client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: aws.String("s"), ShardCount: aws.Int32(1)})
	if !errors.Is(err, io.EOF) {
		t.Errorf("the broken connection shows as %v", err)
	}
	f.put("s", "a", "x") // the stream is there
}

func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		f.create("s", 1)
		f.server.SetFaults(1,
			local.Fault{Kind: local.Delay, Share: 1, Delay: 20 * time.Second},
			local.Fault{Kind: local.Delay, Op: "ListStreams", Share: 1, Delay: 10 * time.Second},
			local.Fault{Kind: local.Error, Op: "ListStreams", Share: 1})
		began := time.Now()
		_, err := f.client.ListStreams(t.Context(), &kinesis.ListStreamsInput{})
		if took := time.Since(began); code(err) != "InternalFailure" || took != 30*time.Second {
			t.Errorf("two delays and an error: %v after %v", err, took)
		}

		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = f.client.DeleteStream(ctx, &kinesis.DeleteStreamInput{StreamName: aws.String("s")})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second {
			t.Errorf("a deadline within a delay: %v after %v", err, took)
		}
		f.server.SetFaults(1)
		f.put("s", "a", "x") // the call that was given up had no effect
	})
}

// TestFaultsRepeat checks that the outcome of each call depends on the seed and
// on its number on its shard, not on the calls in between.
func TestFaultsRepeat(t *testing.T) {
	t.Parallel()
	const n = 500
	faults := []local.Fault{
		{Kind: local.Throttle, Op: "GetRecords", Share: 0.2},
		{Kind: local.Error, Op: "GetRecords", Share: 0.25},
	}
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 2)
	f.server.SetFaults(7, faults...)
	first := f.calls(n, shard0)
	second := f.calls(n, "shardId-000000000001")
	f.server.SetFaults(7, faults...)
	var mixed [2][]string
	for range n / 100 {
		mixed[1] = append(mixed[1], f.calls(100, "shardId-000000000001")...)
		mixed[0] = append(mixed[0], f.calls(100, shard0)...)
	}
	if !slices.Equal(mixed[0], first) || !slices.Equal(mixed[1], second) {
		t.Error("the same seed gives other faults")
	}
	if slices.Equal(first, second) {
		t.Error("two shards have the same faults")
	}
	f.server.SetFaults(8, faults...)
	if slices.Equal(f.calls(n, shard0), first) {
		t.Error("another seed gives the same faults")
	}
	// A fifth is throttled, a quarter of the rest fails; 7 standard deviations.
	if got := count(first, "ProvisionedThroughputExceededException"); got < 40 || got > 160 {
		t.Errorf("%d of %d calls were throttled, want about 100", got, n)
	}
	if got := count(first, "InternalFailure"); got < 40 || got > 160 {
		t.Errorf("%d of %d calls failed, want about 100", got, n)
	}
}

func TestFaultLimits(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 2)
	f.server.SetFaults(1,
		local.Fault{Kind: local.Error, Op: "GetRecords", Shard: shard0, Share: 1, Count: 3},
		local.Fault{Kind: local.Throttle, Op: "PutRecord", Share: 1})
	if got := f.calls(5, "shardId-000000000001"); count(got, "ok") != 5 {
		t.Errorf("another shard: %v", got)
	}
	if got, want := f.calls(5, shard0), []string{"InternalFailure", "InternalFailure", "InternalFailure", "ok", "ok"}; !slices.Equal(got, want) {
		t.Errorf("three calls on a shard: %v, want %v", got, want)
	}
}
