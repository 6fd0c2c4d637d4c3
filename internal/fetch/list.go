package fetch

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/lease"
)

// List returns the shards of the stream, all pages of them, or an error: never a part.
//
// A nil at lists every shard that the stream still keeps. Otherwise it lists the shards that were
// open at that place: TRIM_HORIZON, LATEST (the open shards) or a timestamp; other positions are an
// error. A timestamp before the stream's first shard means TRIM_HORIZON. The slice is the caller's.
//
// Errors are Describe's. A page token that has expired (after 300 seconds) starts the list again.
func List(ctx context.Context, api API, s Stream, at *lease.Position) ([]lease.Shard, error) {
	filter, err := shardFilter(at)
	if err != nil {
		return nil, fmt.Errorf("listing the shards of %s: %w", s, err)
	}
	shards, err := list(ctx, api, s, filter)
	if err == nil && len(shards) == 0 && filter != nil && filter.Type == types.ShardFilterTypeAtTimestamp {
		// No shard was open then: the stream is younger. An empty list would read nothing at all.
		shards, err = list(ctx, api, s, &types.ShardFilter{Type: types.ShardFilterTypeAtTrimHorizon})
	}
	if err != nil {
		return nil, fmt.Errorf("listing the shards of %s: %w", s, err)
	}
	return shards, nil
}

func shardFilter(at *lease.Position) (*types.ShardFilter, error) {
	if at == nil {
		return nil, nil
	}
	if t, ok := at.Timestamp(); ok {
		return &types.ShardFilter{Type: types.ShardFilterTypeAtTimestamp, Timestamp: aws.Time(t)}, nil
	}
	switch *at {
	case lease.TrimHorizon():
		return &types.ShardFilter{Type: types.ShardFilterTypeAtTrimHorizon}, nil
	case lease.Latest():
		return &types.ShardFilter{Type: types.ShardFilterTypeAtLatest}, nil
	}
	return nil, fmt.Errorf("%s is not a place in a stream", at)
}

// list reads all pages. The first request names the stream and the filter; the token of a later one
// stands for both and must stand alone (Kinesis API reference, ListShards).
func list(ctx context.Context, api API, s Stream, filter *types.ShardFilter) ([]lease.Shard, error) {
	first := &kinesis.ListShardsInput{StreamName: s.name(), StreamARN: s.arn(), ShardFilter: filter}
	ask := func(in *kinesis.ListShardsInput) (*kinesis.ListShardsOutput, error) {
		return api.ListShards(ctx, in, once)
	}
	var shards []lease.Shard
	for in, restarts := first, 0; ; {
		out, err := call(ctx, ask, in)
		if kind, _ := classify(err); err != nil && kind == expired && in != first && restarts < tries {
			restarts++
			in, shards = first, nil
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, d := range out.Shards {
			shard, err := shardOf(d)
			if err != nil {
				return nil, err
			}
			shards = append(shards, shard)
		}
		if aws.ToString(out.NextToken) == "" {
			return shards, nil
		}
		in = &kinesis.ListShardsInput{NextToken: out.NextToken}
	}
}

// shardOf translates a shard. A bad one is an error and not left out: a list that lacks a shard
// would say that the shard has passed out of retention.
func shardOf(d types.Shard) (lease.Shard, error) {
	shard := lease.Shard{ID: aws.ToString(d.ShardId)}
	if shard.ID == "" {
		return lease.Shard{}, fmt.Errorf("the answer has a shard without an id")
	}
	for _, parent := range []*string{d.ParentShardId, d.AdjacentParentShardId} {
		if id := aws.ToString(parent); id != "" {
			shard.Parents = append(shard.Parents, id)
		}
	}
	slices.Sort(shard.Parents)
	shard.HashRange = hashRange(d.HashKeyRange)
	if d.SequenceNumberRange != nil {
		shard.Closed = aws.ToString(d.SequenceNumberRange.EndingSequenceNumber) != ""
	}
	return shard, nil
}

func hashRange(r *types.HashKeyRange) lease.HashRange {
	if r == nil {
		return lease.HashRange{}
	}
	return lease.HashRange{Start: aws.ToString(r.StartingHashKey), End: aws.ToString(r.EndingHashKey)}
}

// children translates the shards that follow a closed one, as its last answer tells them, or returns
// none if anything is wrong with them: the caller then lists the shards, which is always right.
func children(parent string, answer []types.ChildShard) []lease.Shard {
	var shards []lease.Shard
	for _, d := range answer {
		shard := lease.Shard{
			ID:        aws.ToString(d.ShardId),
			Parents:   slices.Sorted(slices.Values(d.ParentShards)),
			HashRange: hashRange(d.HashKeyRange),
		}
		_, _, err := shard.HashRange.Bounds()
		known := slices.ContainsFunc(shards, func(s lease.Shard) bool { return s.ID == shard.ID })
		if shard.ID == "" || shard.ID == parent || known || err != nil ||
			len(shard.Parents) > 2 || !slices.Contains(shard.Parents, parent) {
			return nil
		}
		shards = append(shards, shard)
	}
	return shards
}
