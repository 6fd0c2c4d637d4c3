package local_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

// The waiters that come with the SDK look at DescribeStream: a stream that takes
// its time is waited for, to come and to go.
func TestWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Transition: 30 * time.Second})
		in := &kinesis.DescribeStreamInput{StreamName: aws.String("s")}
		f.create("s", 2)
		began := time.Now()
		out, err := f.client.DescribeStream(t.Context(), in)
		if err != nil || out.StreamDescription.StreamStatus != types.StreamStatusCreating || len(out.StreamDescription.Shards) != 0 {
			t.Errorf("while it is created: %+v, %v", out, err)
		}
		if err := kinesis.NewStreamExistsWaiter(f.client).Wait(t.Context(), in, time.Hour); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 30*time.Second {
			t.Errorf("it exists after %v", waited)
		}
		if _, err := f.client.DeleteStream(t.Context(), &kinesis.DeleteStreamInput{StreamName: aws.String("s")}); err != nil {
			t.Fatal(err)
		}
		if err := kinesis.NewStreamNotExistsWaiter(f.client).Wait(t.Context(), in, time.Hour); err != nil {
			t.Error(err)
		}
	})
}

func TestDescribeStreamPages(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 250)
	want := ids(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")}))
	for name, c := range map[string]struct {
		limit *int32
		pages int
	}{
		"by default 100 a page": {nil, 3},
		"200 are 100":           {aws.Int32(200), 3},
		"99 a page":             {aws.Int32(99), 3},
		"125 are 100":           {aws.Int32(125), 3},
		"50 a page, no rest":    {aws.Int32(50), 5},
	} {
		var got []string
		in := &kinesis.DescribeStreamInput{StreamName: aws.String("s"), Limit: c.limit}
		for page := 1; ; page++ {
			out, err := f.client.DescribeStream(t.Context(), in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			d := out.StreamDescription
			got = append(got, ids(d.Shards)...)
			if !*d.HasMoreShards {
				if page != c.pages {
					t.Errorf("%s: %d pages, want %d", name, page, c.pages)
				}
				break
			}
			in.ExclusiveStartShardId = d.Shards[len(d.Shards)-1].ShardId
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d shards, want those of ListShards", name, len(got))
		}
	}
	out, err := f.client.DescribeStream(t.Context(), &kinesis.DescribeStreamInput{StreamName: aws.String("s"), Limit: aws.Int32(1)})
	if err != nil {
		t.Fatal(err)
	}
	d := out.StreamDescription
	if *d.RetentionPeriodHours != 24 || d.StreamModeDetails.StreamMode != types.StreamModeProvisioned ||
		d.EncryptionType != types.EncryptionTypeNone || d.StreamCreationTimestamp.IsZero() ||
		*d.StreamARN != "arn:aws:kinesis:us-east-1:000000000000:stream/s" {
		t.Errorf("description %+v", d)
	}
	_, err = f.client.DescribeStream(t.Context(), &kinesis.DescribeStreamInput{StreamName: aws.String("t")})
	if got := code(err); got != "ResourceNotFoundException" {
		t.Errorf("of no stream: %s", got)
	}
}

func TestDescribeLimits(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{ShardLimit: 30})
	f.create("s", 3)
	_, err := f.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String("demand"), StreamModeDetails: &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.client.DescribeLimits(t.Context(), &kinesis.DescribeLimitsInput{})
	if err != nil {
		t.Fatal(err)
	}
	if *out.ShardLimit != 30 || *out.OpenShardCount != 7 || *out.OnDemandStreamCount != 1 || *out.OnDemandStreamCountLimit != 50 {
		t.Errorf("shards %d of %d, on demand %d of %d",
			*out.OpenShardCount, *out.ShardLimit, *out.OnDemandStreamCount, *out.OnDemandStreamCountLimit)
	}
}
