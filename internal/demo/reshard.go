package demo

import (
	"context"
	"crypto/md5"
	"fmt"
	"math/big"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

// openShard is an open shard with the hashes of the feed's keys in it, sorted.
type openShard struct {
	id         string
	start, end *big.Int
	hashes     []*big.Int
}

// openShards lists the open shards in the order of their hash ranges.
func openShards(ctx context.Context, client *kinesis.Client, keys map[string]bool) ([]openShard, error) {
	out, err := client.ListShards(ctx, &kinesis.ListShardsInput{
		StreamName:  aws.String(streamName),
		ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtLatest},
	})
	if err != nil {
		return nil, fmt.Errorf("listing the shards: %w", err)
	}
	var shards []openShard
	for _, s := range out.Shards {
		shard := openShard{id: *s.ShardId, start: number(*s.HashKeyRange.StartingHashKey), end: number(*s.HashKeyRange.EndingHashKey)}
		for key := range keys {
			sum := md5.Sum([]byte(key)) // how Kinesis routes a partition key
			if h := new(big.Int).SetBytes(sum[:]); h.Cmp(shard.start) >= 0 && h.Cmp(shard.end) <= 0 {
				shard.hashes = append(shard.hashes, h)
			}
		}
		slices.SortFunc(shard.hashes, (*big.Int).Cmp)
		shards = append(shards, shard)
	}
	slices.SortFunc(shards, func(a, b openShard) int { return a.start.Cmp(b.start) })
	return shards, nil
}

func number(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

// split splits the shard with the most keys, between its keys.
func split(ctx context.Context, client *kinesis.Client, shards []openShard) (parent string, err error) {
	s := slices.MaxFunc(shards, func(a, b openShard) int { return len(a.hashes) - len(b.hashes) })
	if len(s.hashes) < 2 {
		return "", fmt.Errorf("no shard has two keys to part")
	}
	middle := s.hashes[len(s.hashes)/2]
	_, err = client.SplitShard(ctx, &kinesis.SplitShardInput{
		StreamName: aws.String(streamName), ShardToSplit: &s.id, NewStartingHashKey: aws.String(middle.String()),
	})
	if err != nil {
		return "", fmt.Errorf("splitting %s: %w", s.id, err)
	}
	return s.id, nil
}

// merge merges the last two shards.
func merge(ctx context.Context, client *kinesis.Client, shards []openShard) (a, b string, err error) {
	if len(shards) < 2 {
		return "", "", fmt.Errorf("no two shards to merge")
	}
	a, b = shards[len(shards)-2].id, shards[len(shards)-1].id
	_, err = client.MergeShards(ctx, &kinesis.MergeShardsInput{
		StreamName: aws.String(streamName), ShardToMerge: &a, AdjacentShardToMerge: &b,
	})
	if err != nil {
		return "", "", fmt.Errorf("merging %s and %s: %w", a, b, err)
	}
	return a, b, nil
}
