package local_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

// TestShardFilters asks each filter about a stream that began with shard 0 at
// hour 0, was split into 1 and 2 at hour 2 and merged into 3 at hour 4, and lived
// past its retention of 3 hours, at hour 6.
func TestShardFilters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Retention: 3 * time.Hour})
		began := time.Now()
		f.create("s", 1)
		filtered := func(filter types.ShardFilter) string {
			var numbers []string
			for _, id := range ids(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s"), ShardFilter: &filter})) {
				numbers = append(numbers, strings.TrimPrefix(id, "shardId-00000000000"))
			}
			return strings.Join(numbers, " ")
		}
		check := func(filter types.ShardFilter, want string) {
			t.Helper()
			if got := filtered(filter); got != want {
				at := ""
				if filter.Timestamp != nil {
					at = filter.Timestamp.Sub(began).String()
				}
				t.Errorf("%v %s: shards %s, want %s", filter.Type, at, got, want)
			}
		}
		at := func(d time.Duration) *time.Time { return aws.Time(began.Add(d)) }

		// Hour 0: the horizon is the stream's beginning.
		check(types.ShardFilter{Type: types.ShardFilterTypeAtTrimHorizon}, "0")
		check(types.ShardFilter{Type: types.ShardFilterTypeAtTimestamp, Timestamp: at(-time.Hour)}, "0")

		// Hour 4: the horizon is hour 1.
		time.Sleep(2 * time.Hour)
		f.split("s", "shardId-000000000000", half)
		time.Sleep(2 * time.Hour)
		f.merge("s", "shardId-000000000001", "shardId-000000000002")
		check(types.ShardFilter{Type: types.ShardFilterTypeAtLatest}, "3")
		check(types.ShardFilter{Type: types.ShardFilterTypeAtTrimHorizon}, "0")
		check(types.ShardFilter{Type: types.ShardFilterTypeFromTrimHorizon}, "0 1 2 3")
		check(types.ShardFilter{Type: types.ShardFilterTypeAfterShardId, ShardId: aws.String("shardId-000000000001")}, "2 3")
		check(types.ShardFilter{Type: types.ShardFilterTypeAfterShardId, ShardId: aws.String("shardId-000000000003")}, "")
		for _, c := range []struct {
			at         time.Duration
			then, from string
		}{
			{-time.Hour, "0", "0 1 2 3"}, // before the horizon: the horizon
			{90 * time.Minute, "0", "0 1 2 3"},
			{2 * time.Hour, "0 1 2", "0 1 2 3"}, // both bounds are inclusive
			{2*time.Hour + time.Millisecond, "1 2", "1 2 3"},
			{3 * time.Hour, "1 2", "1 2 3"},
			{4 * time.Hour, "1 2 3", "1 2 3"},
			{4*time.Hour + time.Millisecond, "3", "3"},
		} {
			check(types.ShardFilter{Type: types.ShardFilterTypeAtTimestamp, Timestamp: at(c.at)}, c.then)
			check(types.ShardFilter{Type: types.ShardFilterTypeFromTimestamp, Timestamp: at(c.at)}, c.from)
		}

		// Hour 6: the horizon is hour 3, shard 0 is forgotten.
		time.Sleep(2 * time.Hour)
		check(types.ShardFilter{Type: types.ShardFilterTypeFromTrimHorizon}, "1 2 3")
		check(types.ShardFilter{Type: types.ShardFilterTypeAtTrimHorizon}, "1 2")
		check(types.ShardFilter{Type: types.ShardFilterTypeAtTimestamp, Timestamp: at(90 * time.Minute)}, "1 2")
	})
}

func TestListShardsPages(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 10)
	f.split("s", "shardId-000000000004", "160000000000000000000000000000000000000")
	all := ids(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")}))
	open := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == "shardId-000000000004" })
	for size := int32(1); size <= 13; size++ {
		for filter, want := range map[types.ShardFilterType][]string{
			types.ShardFilterTypeFromTrimHorizon: all,
			types.ShardFilterTypeAtLatest:        open,
		} {
			var got []string
			in := &kinesis.ListShardsInput{StreamName: aws.String("s"), MaxResults: &size, ShardFilter: &types.ShardFilter{Type: filter}}
			for {
				out, err := f.client.ListShards(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				if int32(len(out.Shards)) > size {
					t.Fatalf("%d shards on a page of %d", len(out.Shards), size)
				}
				got = append(got, ids(out.Shards)...)
				if out.NextToken == nil {
					break
				}
				in = &kinesis.ListShardsInput{NextToken: out.NextToken, MaxResults: &size}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s in pages of %d: %v, want %v", filter, size, got, want)
			}
		}
	}
	got := ids(f.list(&kinesis.ListShardsInput{StreamARN: aws.String("arn:aws:kinesis:us-east-1:000000000000:stream/s"),
		ExclusiveStartShardId: aws.String("shardId-000000000008")}))
	if want := all[9:]; !slices.Equal(got, want) {
		t.Errorf("after shard 8: %v, want %v", got, want)
	}
}

func TestPageOfManyShards(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 1500)
	for _, max := range []*int32{nil, aws.Int32(1000), aws.Int32(10000)} {
		if got := len(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s"), MaxResults: max})); got != 1000 {
			t.Errorf("%d shards on a page, want 1000", got)
		}
	}
}

func TestNextTokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		f.create("s", 3)
		out, err := f.client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: aws.String("s"), MaxResults: aws.Int32(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Second)
		if _, err := f.client.ListShards(t.Context(), &kinesis.ListShardsInput{NextToken: out.NextToken}); err != nil {
			t.Errorf("a token of 300 seconds: %v", err)
		}
		time.Sleep(time.Millisecond)
		_, err = f.client.ListShards(t.Context(), &kinesis.ListShardsInput{NextToken: out.NextToken})
		if code(err) != "ExpiredNextTokenException" {
			t.Errorf("an older token: %v", err)
		}
	})
}

func TestListShardsRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 3)
	name, now := aws.String("s"), aws.Time(time.Now())
	out, err := f.client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: name, MaxResults: aws.Int32(1)})
	if err != nil {
		t.Fatal(err)
	}
	token := out.NextToken
	filter := func(kind types.ShardFilterType, shard *string, at *time.Time) *types.ShardFilter {
		return &types.ShardFilter{Type: kind, ShardId: shard, Timestamp: at}
	}
	for i, c := range []struct {
		in   kinesis.ListShardsInput
		want string
	}{
		{kinesis.ListShardsInput{}, "InvalidArgumentException: Either NextToken or StreamName should be provided."},
		{kinesis.ListShardsInput{NextToken: token, StreamName: name}, "InvalidArgumentException: NextToken and StreamName cannot be provided together."},
		{kinesis.ListShardsInput{NextToken: token, StreamCreationTimestamp: now}, "InvalidArgumentException: NextToken and StreamCreationTimestamp cannot be provided together."},
		{kinesis.ListShardsInput{NextToken: token, ExclusiveStartShardId: aws.String("x")}, "InvalidArgumentException: NextToken and ExclusiveStartShardId cannot be provided together."},
		{kinesis.ListShardsInput{NextToken: token, ShardFilter: filter(types.ShardFilterTypeAtLatest, nil, nil)}, "InvalidArgumentException: NextToken and ShardFilter cannot be provided together."},
		{kinesis.ListShardsInput{NextToken: aws.String("what")}, "InvalidArgumentException: Invalid NextToken."},
		{kinesis.ListShardsInput{StreamName: aws.String("none")}, "ResourceNotFoundException: Stream none under account 000000000000 not found."},
		{kinesis.ListShardsInput{StreamName: name, MaxResults: aws.Int32(0)}, "ValidationException: 1 validation error detected: Value '0' at 'maxResults' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		{kinesis.ListShardsInput{StreamName: name, MaxResults: aws.Int32(10001)}, "ValidationException: 1 validation error detected: Value '10001' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 10000"},
		{kinesis.ListShardsInput{StreamName: name, ShardFilter: filter("AT_LUNCH", nil, nil)}, "ValidationException: 1 validation error detected: Value 'AT_LUNCH' at 'shardFilter.type' failed to satisfy constraint: Member must satisfy enum value set: "},
		{kinesis.ListShardsInput{StreamName: name, ShardFilter: filter(types.ShardFilterTypeAfterShardId, nil, nil)}, "InvalidArgumentException: "},
		{kinesis.ListShardsInput{StreamName: name, ShardFilter: filter(types.ShardFilterTypeAtTimestamp, nil, nil)}, "InvalidArgumentException: "},
		{kinesis.ListShardsInput{StreamName: name, ShardFilter: filter(types.ShardFilterTypeFromTimestamp, nil, nil)}, "InvalidArgumentException: "},
		{kinesis.ListShardsInput{StreamName: name, ShardFilter: filter(types.ShardFilterTypeAtLatest, nil, now)}, "InvalidArgumentException: "},
		{kinesis.ListShardsInput{StreamName: name, ShardFilter: filter(types.ShardFilterTypeAtLatest, aws.String("x"), nil)}, "InvalidArgumentException: "},
	} {
		_, err := f.client.ListShards(t.Context(), &c.in)
		if got := refusal(err); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", fmt.Sprint("case ", i), got, c.want)
		}
	}
}
