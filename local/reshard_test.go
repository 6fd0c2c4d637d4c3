package local_test

import (
	"crypto/md5"
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

// TestRecordsSurviveResharding splits and merges at random while records are
// written, then reads each shard: every record is there once, in its key's
// order, and the open shards cover the hash space without overlap at all times.
func TestRecordsSurviveResharding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := start(t, local.Config{Unlimited: true})
		stream := "s"
		f.create(stream, rapid.Int32Range(1, 4).Draw(rt, "shards"))
		written := make(map[string][]string) // by partition key
		for step := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			open := f.list(&kinesis.ListShardsInput{StreamName: &stream, ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtLatest}})
			slices.SortFunc(open, func(a, b types.Shard) int { return from(a).Cmp(from(b)) })
			cover(rt, open)
			switch rapid.IntRange(0, 3).Draw(rt, "action") {
			case 0:
				victim := rapid.SampledFrom(open).Draw(rt, "victim")
				middle := new(big.Int).Add(from(victim), to(victim))
				middle.Rsh(middle, 1)
				f.split(stream, *victim.ShardId, middle.String())
			case 1:
				if len(open) == 1 {
					continue
				}
				i := rapid.IntRange(0, len(open)-2).Draw(rt, "pair")
				f.merge(stream, *open[i].ShardId, *open[i+1].ShardId)
			default:
				key := rapid.StringMatching(`[a-h]`).Draw(rt, "key")
				text := fmt.Sprint(step)
				_, shard := f.put(stream, key, text)
				written[key] = append(written[key], text)
				if want := home(open, key); shard != want {
					rt.Fatalf("key %q went to %s, want %s", key, shard, want)
				}
			}
		}

		// Parents have lower ids than their children, so this is the order in
		// which a consumer has to read.
		read := make(map[string][]string)
		last := make(map[string]string)
		for _, shard := range f.list(&kinesis.ListShardsInput{StreamName: &stream}) {
			for _, r := range f.drain(f.iterator(stream, *shard.ShardId, types.ShardIteratorTypeTrimHorizon)) {
				key := *r.PartitionKey
				read[key] = append(read[key], string(r.Data))
				if *r.SequenceNumber <= last[key] {
					rt.Fatalf("key %q: sequence number %s after %s", key, *r.SequenceNumber, last[key])
				}
				last[key] = *r.SequenceNumber
			}
		}
		for key, want := range written {
			if !slices.Equal(read[key], want) {
				rt.Fatalf("key %q: read %q, want %q", key, read[key], want)
			}
		}
	})
}

func number(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic("not a number: " + text)
	}
	return n
}

func from(h types.Shard) *big.Int { return number(*h.HashKeyRange.StartingHashKey) }
func to(h types.Shard) *big.Int   { return number(*h.HashKeyRange.EndingHashKey) }

// cover checks that the shards, in order, are all of 0 to 2^128-1.
func cover(t *rapid.T, shards []types.Shard) {
	next := new(big.Int)
	for _, h := range shards {
		if from(h).Cmp(next) != 0 {
			t.Fatalf("%s starts at %s, want %s", *h.ShardId, from(h), next)
		}
		next = to(h).Add(to(h), big.NewInt(1))
	}
	if next.Cmp(new(big.Int).Lsh(big.NewInt(1), 128)) != 0 {
		t.Fatalf("the shards end before %s", next)
	}
}

// home is the shard of a partition key, by the documented rule.
func home(shards []types.Shard, key string) string {
	sum := md5.Sum([]byte(key))
	hash := new(big.Int).SetBytes(sum[:])
	for _, h := range shards {
		if from(h).Cmp(hash) <= 0 && hash.Cmp(to(h)) <= 0 {
			return *h.ShardId
		}
	}
	return "nowhere"
}

func (f *fixture) merge(stream, shard, adjacent string) {
	f.Helper()
	_, err := f.client.MergeShards(f.Context(), &kinesis.MergeShardsInput{
		StreamName: &stream, ShardToMerge: &shard, AdjacentShardToMerge: &adjacent})
	if err != nil {
		f.Fatal(err)
	}
}

// half is the middle of the hash-key space.
const half = "170141183460469231731687303715884105728"

func TestFamily(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 1)
	f.split("s", "shardId-000000000000", half)
	f.merge("s", "shardId-000000000001", "shardId-000000000002")
	shards := f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})
	parent, low, high, merged := shards[0], shards[1], shards[2], shards[3]

	if parent.ParentShardId != nil || *low.ParentShardId != *parent.ShardId || *high.ParentShardId != *parent.ShardId {
		t.Errorf("parents of the split: %v %v %v", parent.ParentShardId, low.ParentShardId, high.ParentShardId)
	}
	if *merged.ParentShardId != *low.ShardId || *merged.AdjacentParentShardId != *high.ShardId {
		t.Errorf("parents of the merge: %v %v", *merged.ParentShardId, *merged.AdjacentParentShardId)
	}
	if *low.HashKeyRange.EndingHashKey != "170141183460469231731687303715884105727" || *high.HashKeyRange.StartingHashKey != half {
		t.Errorf("split at %s", *high.HashKeyRange.StartingHashKey)
	}
	if from(merged).Sign() != 0 || to(merged).BitLen() != 128 {
		t.Errorf("merged range %s to %s", from(merged), to(merged))
	}
	for _, h := range shards[:3] {
		if h.SequenceNumberRange.EndingSequenceNumber == nil {
			t.Errorf("%s is closed but has no last sequence number", *h.ShardId)
		}
	}
	if merged.SequenceNumberRange.EndingSequenceNumber != nil {
		t.Error("the open shard has a last sequence number")
	}
	if *parent.SequenceNumberRange.EndingSequenceNumber >= *low.SequenceNumberRange.StartingSequenceNumber ||
		*high.SequenceNumberRange.EndingSequenceNumber >= *merged.SequenceNumberRange.StartingSequenceNumber {
		t.Error("a child's first sequence number is not above its parents' last")
	}
}

func TestReshardRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{ShardLimit: 8})
	f.create("s", 3)
	f.split("s", "shardId-000000000000", "1000")
	_, err := f.client.CreateStream(f.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String("demand"), StreamModeDetails: &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand}})
	if err != nil {
		t.Fatal(err)
	}
	split := func(stream, shard, key string) error {
		_, err := f.client.SplitShard(f.Context(), &kinesis.SplitShardInput{
			StreamName: &stream, ShardToSplit: &shard, NewStartingHashKey: &key})
		return err
	}
	merge := func(stream, shard, adjacent string) error {
		_, err := f.client.MergeShards(f.Context(), &kinesis.MergeShardsInput{
			StreamName: &stream, ShardToMerge: &shard, AdjacentShardToMerge: &adjacent})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"split of no stream":         {split("none", "shardId-000000000001", "5"), "ResourceNotFoundException"},
		"split of no shard":          {split("s", "shardId-000000000099", "5"), "ResourceNotFoundException"},
		"split of a closed shard":    {split("s", "shardId-000000000000", "5"), "InvalidArgumentException"},
		"split at the first key":     {split("s", "shardId-000000000003", "0"), "InvalidArgumentException"},
		"split at the second key":    {split("s", "shardId-000000000003", "1"), "InvalidArgumentException"},
		"split at the last key":      {split("s", "shardId-000000000003", "999"), "InvalidArgumentException"},
		"split outside":              {split("s", "shardId-000000000003", "1000"), "InvalidArgumentException"},
		"split at no number":         {split("s", "shardId-000000000003", "five"), "ValidationException"},
		"split on demand":            {split("demand", "shardId-000000000000", "5"), "ValidationException"},
		"split beyond the limit":     {split("s", "shardId-000000000003", "500"), "LimitExceededException"},
		"merge of last and first":    {merge("s", "shardId-000000000002", "shardId-000000000003"), "InvalidArgumentException"},
		"merge the wrong way round":  {merge("s", "shardId-000000000004", "shardId-000000000003"), "InvalidArgumentException"},
		"merge of strangers":         {merge("s", "shardId-000000000003", "shardId-000000000002"), "InvalidArgumentException"},
		"merge with itself":          {merge("s", "shardId-000000000003", "shardId-000000000003"), "InvalidArgumentException"},
		"merge with a closed shard":  {merge("s", "shardId-000000000000", "shardId-000000000001"), "InvalidArgumentException"},
		"merge with an absent shard": {merge("s", "shardId-000000000003", "shardId-000000000007"), "ResourceNotFoundException"},
	} {
		if got := code(c.err); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := len(f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})); got != 5 {
		t.Errorf("%d shards after refusals, want 5", got)
	}
	f.merge("s", "shardId-000000000003", "shardId-000000000004") // there is room for fewer
}

// TestTransition watches a stream through states that take time.
func TestTransition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Transition: 10 * time.Second})
		stream := "s"
		status := func() string {
			out, err := f.client.DescribeStreamSummary(f.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &stream})
			if err != nil {
				return code(err)
			}
			return string(out.StreamDescriptionSummary.StreamStatus)
		}
		expect := func(want string) {
			t.Helper()
			if got := status(); got != want {
				t.Errorf("status %s, want %s", got, want)
			}
		}
		split := func() error {
			_, err := f.client.SplitShard(f.Context(), &kinesis.SplitShardInput{
				StreamName: &stream, ShardToSplit: aws.String("shardId-000000000000"), NewStartingHashKey: aws.String(half)})
			return err
		}
		put := func() (string, error) {
			out, err := f.client.PutRecord(f.Context(), &kinesis.PutRecordInput{
				StreamName: &stream, PartitionKey: aws.String("a"), Data: []byte("x")})
			if err != nil {
				return "", err
			}
			return *out.ShardId, nil
		}

		f.create(stream, 1)
		expect("CREATING")
		if got := code(split()); got != "ResourceInUseException" {
			t.Errorf("split of a stream in creation: %s", got)
		}
		if _, err := put(); code(err) != "ResourceNotFoundException" {
			t.Errorf("put to a stream in creation: %v", err)
		}
		_, err := f.client.ListShards(f.Context(), &kinesis.ListShardsInput{StreamName: &stream})
		if got := code(err); got != "ResourceInUseException" {
			t.Errorf("shards of a stream in creation: %s", got)
		}
		time.Sleep(10 * time.Second)
		expect("ACTIVE")

		if err := split(); err != nil {
			t.Fatal(err)
		}
		expect("UPDATING")
		if got := code(split()); got != "ResourceInUseException" {
			t.Errorf("split of a stream in change: %s", got)
		}
		if shard, err := put(); shard != "shardId-000000000000" {
			t.Errorf("while the split is under way, records go to %s (%v)", shard, err)
		}
		time.Sleep(10 * time.Second)
		if shard, err := put(); shard == "shardId-000000000000" || err != nil {
			t.Errorf("after the split, records go to %s (%v)", shard, err)
		}
		expect("ACTIVE")

		if _, err := f.client.DeleteStream(f.Context(), &kinesis.DeleteStreamInput{StreamName: &stream}); err != nil {
			t.Fatal(err)
		}
		expect("DELETING")
		if _, err := put(); err != nil {
			t.Errorf("put to a stream that is being deleted: %v", err)
		}
		time.Sleep(10 * time.Second)
		expect("ResourceNotFoundException")
	})
}
