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
	"pgregory.net/rapid"

	"github.com/leatstream/leat/local"
)

func TestDescription(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 123_456_789, time.UTC)
	f := start(t, local.Config{
		Region: "eu-central-1", Account: "123456789012",
		Now: func() time.Time { return now }, Retention: 48 * time.Hour,
	})
	_, err := f.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String("s"), MaxRecordSizeInKiB: aws.Int32(2048),
		StreamModeDetails: &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand}})
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:kinesis:eu-central-1:123456789012:stream/s"
	for name, in := range map[string]*kinesis.DescribeStreamSummaryInput{
		"by name": {StreamName: aws.String("s")},
		"by ARN":  {StreamARN: &arn},
		"by both": {StreamName: aws.String("s"), StreamARN: &arn},
	} {
		out, err := f.client.DescribeStreamSummary(t.Context(), in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d := out.StreamDescriptionSummary
		got := fmt.Sprint(*d.StreamName, " ", *d.StreamARN, " ", d.StreamStatus, " ", d.StreamModeDetails.StreamMode, " ",
			*d.OpenShardCount, " ", *d.RetentionPeriodHours, " ", *d.MaxRecordSizeInKiB, " ", d.EncryptionType)
		if want := "s " + arn + " ACTIVE ON_DEMAND 4 48 2048 NONE"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if want := now.Truncate(time.Millisecond); !d.StreamCreationTimestamp.Equal(want) {
			t.Errorf("%s: created %v, want %v", name, d.StreamCreationTimestamp, want)
		}
	}
}

func TestListStreamsPages(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("s%d", i)
		want = append(want, name)
		f.create(name, 1)
	}
	var byToken []string
	pages := kinesis.NewListStreamsPaginator(f.client, &kinesis.ListStreamsInput{Limit: aws.Int32(3)})
	count := 0
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count++
		byToken = append(byToken, out.StreamNames...)
		if len(out.StreamSummaries) != len(out.StreamNames) || out.StreamSummaries[0].StreamStatus != types.StreamStatusActive {
			t.Errorf("summaries %v of %v", out.StreamSummaries, out.StreamNames)
		}
	}
	if !slices.Equal(byToken, want) || count != 3 {
		t.Errorf("%v on %d pages, want %v on 3", byToken, count, want)
	}
	out, err := f.client.ListStreams(t.Context(), &kinesis.ListStreamsInput{ExclusiveStartStreamName: aws.String("s4")})
	if err != nil || !slices.Equal(out.StreamNames, want[5:]) || *out.HasMoreStreams {
		t.Errorf("after s4: %v, %v", out, err)
	}
}

func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{ShardLimit: 10})
	f.create("s", 1)
	create := func(in *kinesis.CreateStreamInput) error {
		_, err := f.client.CreateStream(t.Context(), in)
		return err
	}
	describe := func(name, arn *string) error {
		_, err := f.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: name, StreamARN: arn})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want string // the start of it
	}{
		"created twice": {create(&kinesis.CreateStreamInput{StreamName: aws.String("s"), ShardCount: aws.Int32(1)}),
			"ResourceInUseException: Stream s under account 000000000000 already exists."},
		"beyond the shard limit": {create(&kinesis.CreateStreamInput{StreamName: aws.String("t"), ShardCount: aws.Int32(10)}),
			"LimitExceededException: This request would exceed the shard limit for the account 000000000000 in us-east-1. " +
				"Current shard count for the account: 1. Limit: 10. Number of additional shards that would have resulted from this request: 10. "},
		"a name with a slash": {create(&kinesis.CreateStreamInput{StreamName: aws.String("a/b"), ShardCount: aws.Int32(1)}),
			"ValidationException: 1 validation error detected: Value 'a/b' at 'streamName' failed to satisfy constraint: " +
				"Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"},
		"two faults at once": {create(&kinesis.CreateStreamInput{StreamName: aws.String(strings.Repeat("a", 129)), ShardCount: aws.Int32(0)}),
			"ValidationException: 2 validation errors detected: Value '" + strings.Repeat("a", 129) + "' at 'streamName' failed to satisfy constraint: " +
				"Member must have length less than or equal to 128; Value '0' at 'shardCount' failed to satisfy constraint: " +
				"Member must have value greater than or equal to 1"},
		"no shard count": {create(&kinesis.CreateStreamInput{StreamName: aws.String("t")}), "InvalidArgumentException: "},
		"shards on demand": {create(&kinesis.CreateStreamInput{StreamName: aws.String("t"), ShardCount: aws.Int32(1),
			StreamModeDetails: &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand}}), "InvalidArgumentException: "},
		"an unknown mode": {create(&kinesis.CreateStreamInput{StreamName: aws.String("t"),
			StreamModeDetails: &types.StreamModeDetails{StreamMode: "FAST"}}),
			"ValidationException: 1 validation error detected: Value 'FAST' at 'streamModeDetails.streamMode' failed to satisfy constraint: " +
				"Member must satisfy enum value set: [PROVISIONED, ON_DEMAND]"},
		"an absent stream":  {describe(aws.String("none"), nil), "ResourceNotFoundException: Stream none under account 000000000000 not found."},
		"neither name":      {describe(nil, nil), "InvalidArgumentException: "},
		"names that differ": {describe(aws.String("t"), aws.String("arn:aws:kinesis:us-east-1:000000000000:stream/s")), "InvalidArgumentException: "},
		"another region":    {describe(nil, aws.String("arn:aws:kinesis:eu-west-1:000000000000:stream/s")), "ResourceNotFoundException: "},
	} {
		if got := refusal(c.err); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestFiveStreamsInCreation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Transition: time.Second})
		for i := range 5 {
			f.create(fmt.Sprint("s", i), 1)
		}
		in := &kinesis.CreateStreamInput{StreamName: aws.String("s5"), ShardCount: aws.Int32(1)}
		if _, err := f.client.CreateStream(t.Context(), in); code(err) != "LimitExceededException" {
			t.Errorf("the sixth stream in creation: %v", err)
		}
		time.Sleep(time.Second)
		if _, err := f.client.CreateStream(t.Context(), in); err != nil {
			t.Error(err)
		}
	})
}

// TestRecreatedStream checks that nothing of a deleted stream fits its successor
// of the same name.
func TestRecreatedStream(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{0, time.Minute} {
		t.Run(pause.String(), func(t *testing.T) { testRecreatedStream(t, pause) })
	}
}

func testRecreatedStream(t *testing.T, pause time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		created := func() time.Time {
			out, err := f.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: aws.String("s")})
			if err != nil {
				t.Fatal(err)
			}
			return *out.StreamDescriptionSummary.StreamCreationTimestamp
		}
		// Splits within a second put the youngest shards' numbers ahead of time;
		// the youngest is not the last.
		f.create("s", 2)
		f.split("s", "shardId-000000000001", "300000000000000000000000000000000000000")
		f.split("s", "shardId-000000000003", "310000000000000000000000000000000000000")
		f.split("s", "shardId-000000000000", "1000000")
		first := created()
		_, shard := f.put("s", "a", "old")
		old := f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})
		iterator := f.iterator("s", shard, types.ShardIteratorTypeTrimHorizon)
		page, err := f.client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: aws.String("s"), MaxResults: aws.Int32(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
		if _, err := f.client.DeleteStream(t.Context(), &kinesis.DeleteStreamInput{StreamName: aws.String("s")}); err != nil {
			t.Fatal(err)
		}
		f.create("s", 8)
		if second := created(); !second.After(first) || second.Sub(first) > time.Minute {
			t.Errorf("created %v, then %v", first, second)
		}
		if got := texts(f.drain(f.iterator("s", shard, types.ShardIteratorTypeTrimHorizon))); got != nil {
			t.Errorf("a new stream holds %q", got)
		}
		_, err = f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator})
		if code(err) != "ResourceNotFoundException" {
			t.Errorf("the old stream's iterator: %v", err)
		}
		for _, h := range old {
			number := *h.SequenceNumberRange.StartingSequenceNumber
			_, err = f.client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
				StreamName: aws.String("s"), ShardId: h.ShardId, StartingSequenceNumber: &number,
				ShardIteratorType: types.ShardIteratorTypeAfterSequenceNumber})
			want := "InvalidArgumentException: StartingSequenceNumber " + number + " used in GetShardIterator on shard " + *h.ShardId +
				" in stream s under account 000000000000 is invalid because it did not come from this stream."
			if refusal(err) != want {
				t.Errorf("an old sequence number:\n got %s\nwant %s", refusal(err), want)
			}
		}
		_, err = f.client.ListShards(t.Context(), &kinesis.ListShardsInput{NextToken: page.NextToken})
		if code(err) != "ResourceNotFoundException" {
			t.Errorf("the old stream's page: %v", err)
		}
		_, err = f.client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: aws.String("s"), StreamCreationTimestamp: &first})
		if code(err) != "ResourceNotFoundException" {
			t.Errorf("the old stream's shards: %v", err)
		}
	})
}

// TestRetention lets records and closed shards grow old.
func TestRetention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Unlimited: true})
		const parent = "shardId-000000000000"
		f.create("s", 1)
		f.put("s", "a", "0h")
		time.Sleep(12 * time.Hour)
		f.put("s", "a", "12h")
		f.split("s", parent, half)
		f.put("s", "a", "12h, in a child")

		time.Sleep(12*time.Hour + time.Millisecond)
		if got := texts(f.drain(f.iterator("s", parent, types.ShardIteratorTypeTrimHorizon))); !slices.Equal(got, []string{"12h"}) {
			t.Errorf("after 24 hours the parent holds %q", got)
		}
		time.Sleep(4 * time.Minute)
		if got := len(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})); got != 3 {
			t.Errorf("%d shards before the parent's end is past the retention, want 3", got)
		}

		time.Sleep(12*time.Hour - 4*time.Minute - time.Second)
		iterator := f.iterator("s", parent, types.ShardIteratorTypeTrimHorizon)
		time.Sleep(2 * time.Second)
		if got := ids(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})); !slices.Equal(got, []string{"shardId-000000000001", "shardId-000000000002"}) {
			t.Errorf("after the retention of its last record, the parent is listed: %v", got)
		}
		const gone = "ResourceNotFoundException: Shard shardId-000000000000 in stream s under account 000000000000 does not exist"
		_, err := f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator})
		if refusal(err) != gone {
			t.Errorf("reading a forgotten shard: %v", err)
		}
		_, err = f.client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{StreamName: aws.String("s"),
			ShardId: aws.String(parent), ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		if refusal(err) != gone {
			t.Errorf("an iterator of a forgotten shard: %v", err)
		}
		_, shard := f.put("s", "a", "new")
		if got := texts(f.drain(f.iterator("s", shard, types.ShardIteratorTypeTrimHorizon))); !slices.Equal(got, []string{"new"}) {
			t.Errorf("the child holds %q", got)
		}
	})
}

// TestOnlyOldRecordsGo writes and reads at random times, on a clock that may step
// back a little: of the records of each moment, exactly those within the retention
// are there.
func TestOnlyOldRecordsGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const retention = time.Hour
		now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		latest := now // the server's clock stands still where its source steps back
		f := start(t, local.Config{Unlimited: true, Retention: retention, Now: func() time.Time { return now }})
		f.create("s", 1)
		var arrivals []time.Time
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-1000, 300_000).Draw(rt, "ms")) * time.Millisecond)
			f.put("s", "a", fmt.Sprint(len(arrivals)))
			if now.After(latest) {
				latest = now
			}
			arrivals = append(arrivals, latest)
			if rapid.Bool().Draw(rt, "write only") {
				continue
			}
			var want []string
			for i, arrival := range arrivals {
				if !arrival.Before(latest.Add(-retention)) {
					want = append(want, fmt.Sprint(i))
				}
			}
			if got := texts(f.drain(f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon))); !slices.Equal(got, want) {
				rt.Fatalf("at %v: read %q, want %q of %v", latest, got, want, arrivals)
			}
		}
	})
}
