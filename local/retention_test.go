package local_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

func (f *fixture) increase(hours int32) error {
	_, err := f.client.IncreaseStreamRetentionPeriod(f.Context(), &kinesis.IncreaseStreamRetentionPeriodInput{
		StreamName: aws.String("s"), RetentionPeriodHours: &hours})
	return err
}

func (f *fixture) decrease(hours int32) error {
	_, err := f.client.DecreaseStreamRetentionPeriod(f.Context(), &kinesis.DecreaseStreamRetentionPeriodInput{
		StreamName: aws.String("s"), RetentionPeriodHours: &hours})
	return err
}

// TestRetentionChanges writes a record every hour and changes how long they last. What
// has expired once does not come back.
func TestRetentionChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Unlimited: true})
		f.create("s", 1)
		hour := 0
		pass := func(hours int) {
			for range hours {
				f.put("s", "k", time.Duration(hour*int(time.Hour)).String())
				hour++
				time.Sleep(time.Hour)
			}
		}
		// oldest checks for how many hours there are records.
		oldest := func(want int) {
			t.Helper()
			if got := len(f.drain(f.iterator("s", "shardId-000000000000", types.ShardIteratorTypeTrimHorizon))); got != want {
				t.Errorf("after %d hours: %d records, want %d", hour, got, want)
			}
		}
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		pass(30)
		oldest(24)
		check(f.increase(48))
		oldest(24) // not 30
		pass(10)
		oldest(34)
		pass(30)
		oldest(48)
		check(f.decrease(24))
		oldest(24)
		check(f.increase(8760))
		oldest(24)
		pass(100)
		oldest(124)
		out, err := f.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: aws.String("s")})
		if err != nil || *out.StreamDescriptionSummary.RetentionPeriodHours != 8760 {
			t.Errorf("summary %+v, %v", out, err)
		}
	})
}

// A closed shard stays listed for as long as the retention that it closed under
// or any longer one since.
func TestRetentionKeepsShards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		f.create("s", 1)
		f.split("s", "shardId-000000000000", half)
		time.Sleep(23 * time.Hour)
		if err := f.increase(48); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if got := len(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})); got != 3 {
			t.Errorf("%d shards within 48 hours, want 3", got)
		}
		time.Sleep(2 * time.Hour)
		if got := len(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})); got != 2 {
			t.Errorf("%d shards after 48 hours, want 2", got)
		}
	})
}

func TestRetentionRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Transition: time.Minute})
		f.create("s", 1)
		refused := func(what string, err error, want string) {
			t.Helper()
			if got := refusal(err); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		refused("while it is created", f.increase(48), "ResourceInUseException: Stream s under account 000000000000 not ACTIVE, instead in state CREATING")
		time.Sleep(time.Minute)
		refused("too short", f.decrease(23), "InvalidArgumentException: Minimum allowed retention period is 24 hours. Requested retention period (23 hours) is too short.")
		refused("too long", f.increase(8761), "InvalidArgumentException: Maximum allowed retention period is 8760 hours. Requested retention period (8761 hours) is too long.")
		refused("the same", f.increase(24), "<nil>")
		refused("longer", f.increase(30), "<nil>")
		refused("while it changes", f.increase(48), "ResourceInUseException: Stream s under account 000000000000 not ACTIVE, instead in state UPDATING")
		time.Sleep(time.Minute)
		refused("no increase", f.increase(25), "InvalidArgumentException: Requested retention period (25 hours) for stream s can not be shorter than existing retention period (30 hours). Use DecreaseRetentionPeriod API.")
		refused("no decrease", f.decrease(31), "InvalidArgumentException: Requested retention period (31 hours) for stream s can not be longer than existing retention period (30 hours). Use IncreaseRetentionPeriod API.")
		hours := int32(24)
		_, err := f.client.DecreaseStreamRetentionPeriod(t.Context(), &kinesis.DecreaseStreamRetentionPeriodInput{
			StreamARN: aws.String("arn:aws:kinesis:us-east-1:000000000000:stream/none"), RetentionPeriodHours: &hours})
		refused("no stream", err, "ResourceNotFoundException: Stream none under account 000000000000 not found.")
	})
}
