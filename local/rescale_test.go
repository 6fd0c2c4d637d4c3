package local_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"pgregory.net/rapid"

	"github.com/leatstream/leat/local"
)

func (f *fixture) rescale(stream string, count int32) error {
	_, err := f.client.UpdateShardCount(f.Context(), &kinesis.UpdateShardCountInput{
		StreamName: &stream, TargetShardCount: &count, ScalingType: types.ScalingTypeUniformScaling})
	return err
}

// open lists the open shards in the order of their hash keys.
func (f *fixture) open(stream string) []types.Shard {
	f.Helper()
	open := f.list(&kinesis.ListShardsInput{StreamName: &stream, ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtLatest}})
	slices.SortFunc(open, func(a, b types.Shard) int { return from(a).Cmp(from(b)) })
	return open
}

// TestRescale changes the number of shards again and again, with a split by hand
// in between, while records are written: the open shards are equal and cover the
// hash keys exactly, each shard is made of its parents, and a consumer that reads
// parents before children gets each key in order.
func TestRescale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := start(t, local.Config{Unlimited: true})
		const stream = "s"
		count := rapid.Int32Range(1, 12).Draw(rt, "shards")
		f.create(stream, count)
		written := make(map[string][]string) // by partition key
		for step := range rapid.IntRange(1, 8).Draw(rt, "steps") {
			for i := range 20 {
				key, text := fmt.Sprint("k", i), fmt.Sprint(step)
				f.put(stream, key, text)
				written[key] = append(written[key], text)
			}
			if rapid.Bool().Draw(rt, "by hand") {
				victim := rapid.SampledFrom(f.open(stream)).Draw(rt, "victim")
				offset := rapid.Int64Range(2, 1<<40).Draw(rt, "offset")
				f.split(stream, *victim.ShardId, new(big.Int).Add(from(victim), big.NewInt(offset)).String())
				count++
			}
			// No more than that, so that all shards are on one page of ListShards.
			count = rapid.Int32Range((count+1)/2, min(2*count, 24)).Draw(rt, "target")
			if err := f.rescale(stream, count); err != nil {
				rt.Fatal(err)
			}
			open := f.open(stream)
			cover(rt, open)
			equal(rt, open, int(count))
		}
		shards := f.list(&kinesis.ListShardsInput{StreamName: aws.String(stream)})
		family(rt, shards)

		read := make(map[string][]string)
		for _, shard := range shards { // a parent's id is below its children's
			for _, r := range f.drain(f.iterator(stream, *shard.ShardId, types.ShardIteratorTypeTrimHorizon)) {
				read[*r.PartitionKey] = append(read[*r.PartitionKey], string(r.Data))
			}
		}
		for key, want := range written {
			if !slices.Equal(read[key], want) {
				rt.Fatalf("key %q: read %q, want %q", key, read[key], want)
			}
		}
	})
}

// equal checks that there are count shards of one size, but for a few keys that a
// division leaves over.
func equal(t *rapid.T, shards []types.Shard, count int) {
	if len(shards) != count {
		t.Fatalf("%d open shards, want %d", len(shards), count)
	}
	size := new(big.Int).Lsh(big.NewInt(1), 128)
	size.Div(size, big.NewInt(int64(count)))
	for _, h := range shards {
		difference := new(big.Int).Sub(to(h), from(h))
		difference.Sub(difference, size)
		if difference.Abs(difference).BitLen() > 22 {
			t.Fatalf("one of %d shards has %s keys more or less than the others", count, difference)
		}
	}
}

// family checks what each shard says of its parents: a child of one parent is a
// part of it, and its brother the rest; one of two is both of them together. Its
// sequence numbers are above theirs.
func family(t *rapid.T, shards []types.Shard) {
	byID := make(map[string]types.Shard)
	children := make(map[string][]types.Shard)
	for _, h := range shards {
		byID[*h.ShardId] = h
		if h.ParentShardId == nil {
			continue
		}
		parent, ok := byID[*h.ParentShardId]
		if !ok {
			t.Fatalf("%s has the parent %s, which is not before it", *h.ShardId, *h.ParentShardId)
		}
		children[*parent.ShardId] = append(children[*parent.ShardId], h)
		last := *parent.SequenceNumberRange.EndingSequenceNumber
		if h.AdjacentParentShardId != nil {
			adjacent := byID[*h.AdjacentParentShardId]
			children[*adjacent.ShardId] = append(children[*adjacent.ShardId], h)
			last = max(last, *adjacent.SequenceNumberRange.EndingSequenceNumber)
			if from(h).Cmp(from(parent)) != 0 || to(h).Cmp(to(adjacent)) != 0 ||
				new(big.Int).Add(to(parent), big.NewInt(1)).Cmp(from(adjacent)) != 0 {
				t.Fatalf("%s is not %s and %s together", *h.ShardId, *parent.ShardId, *adjacent.ShardId)
			}
		}
		if *h.SequenceNumberRange.StartingSequenceNumber <= last {
			t.Fatalf("%s begins at %s, its parents end at %s", *h.ShardId, *h.SequenceNumberRange.StartingSequenceNumber, last)
		}
	}
	for id, list := range children {
		parent := byID[id]
		switch {
		case len(list) == 1 && list[0].AdjacentParentShardId != nil:
		case len(list) == 2 && list[0].AdjacentParentShardId == nil && list[1].AdjacentParentShardId == nil &&
			from(list[0]).Cmp(from(parent)) == 0 && to(list[1]).Cmp(to(parent)) == 0 &&
			new(big.Int).Add(to(list[0]), big.NewInt(1)).Cmp(from(list[1])) == 0:
		default:
			t.Fatalf("the children of %s are %q", id, ids(list))
		}
	}
	for _, h := range shards {
		closed := h.SequenceNumberRange.EndingSequenceNumber != nil
		if closed != (len(children[*h.ShardId]) > 0) {
			t.Fatalf("%s: closed %v, with %d children", *h.ShardId, closed, len(children[*h.ShardId]))
		}
	}
}

// Doubling only splits and halving only merges, whatever a division leaves over.
func TestRescaleIsFrugal(t *testing.T) {
	t.Parallel()
	for _, count := range []int32{1, 3, 6, 7, 100, 1000} {
		f := start(t, local.Config{})
		f.create("s", count)
		for _, c := range []struct{ target, made int32 }{{2 * count, 2 * count}, {count, count}, {count, 0}} {
			before := f.described("s")
			if err := f.rescale("s", c.target); err != nil {
				t.Fatal(err)
			}
			if made := f.described("s") - before; made != int(c.made) {
				t.Errorf("%d to %d made %d shards, want %d", count, c.target, made, c.made)
			}
		}
	}
}

// described counts all shards, by DescribeStream.
func (f *fixture) described(stream string) int {
	f.Helper()
	n := 0
	in := &kinesis.DescribeStreamInput{StreamName: &stream}
	for {
		out, err := f.client.DescribeStream(f.Context(), in)
		if err != nil {
			f.Fatal(err)
		}
		n += len(out.StreamDescription.Shards)
		if !*out.StreamDescription.HasMoreShards {
			return n
		}
		in.ExclusiveStartShardId = out.StreamDescription.Shards[len(out.StreamDescription.Shards)-1].ShardId
	}
}

func TestRescaleAnswers(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{ShardLimit: 12})
	f.create("s", 5)
	f.create("full", 7)
	if _, err := f.client.DeleteStream(f.Context(), &kinesis.DeleteStreamInput{StreamName: aws.String("full")}); err != nil {
		t.Fatal(err)
	}
	_, err := f.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String("demand"), StreamModeDetails: &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stream string
		target int32
		want   string
	}{
		{"none", 1, "ResourceNotFoundException"},
		{"demand", 4, "ValidationException"},
		{"s", 0, "ValidationException"},
		{"s", 11, "LimitExceededException"}, // more than double
		{"s", 2, "LimitExceededException"},  // less than half
		{"s", 9, "LimitExceededException"},  // more than the account has
		{"s", 8, "<nil>"},
	} {
		if got := code(f.rescale(c.stream, c.target)); got != c.want {
			t.Errorf("%s to %d: %s, want %s", c.stream, c.target, got, c.want)
		}
	}
	out, err := f.client.UpdateShardCount(t.Context(), &kinesis.UpdateShardCountInput{
		StreamName: aws.String("s"), TargetShardCount: aws.Int32(6), ScalingType: types.ScalingTypeUniformScaling})
	if err != nil {
		t.Fatal(err)
	}
	if *out.StreamName != "s" || *out.CurrentShardCount != 8 || *out.TargetShardCount != 6 ||
		*out.StreamARN != "arn:aws:kinesis:us-east-1:000000000000:stream/s" {
		t.Errorf("answer %+v", out)
	}
}

// A stream is rescaled ten times in 24 hours, once at a time.
func TestRescaleTakesTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Transition: time.Minute})
		f.create("s", 2)
		time.Sleep(time.Minute)
		for i := range 10 {
			if err := f.rescale("s", int32(4-i%2*2)); err != nil {
				t.Fatal(err)
			}
			if got := len(f.open("s")); got != 2+i%2*2 {
				t.Errorf("%d shards while it is under way, want those of before", got)
			}
			if got := code(f.rescale("s", 2)); got != "ResourceInUseException" {
				t.Errorf("while it is under way: %s", got)
			}
			time.Sleep(time.Minute)
		}
		if got := code(f.rescale("s", 4)); got != "LimitExceededException" {
			t.Errorf("the eleventh time: %s", got)
		}
		time.Sleep(24*time.Hour - 10*time.Minute)
		if err := f.rescale("s", 4); err != nil {
			t.Errorf("a day after the first: %v", err)
		}
		if got := code(f.rescale("s", 4)); got != "ResourceInUseException" {
			t.Errorf("at once after it: %s", got)
		}
	})
}
