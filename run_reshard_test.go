package leat

import (
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

// open lists the open shards in the order of their hash keys.
func (r *river) open() []types.Shard {
	r.t.Helper()
	out, err := r.client.ListShards(r.t.Context(), &kinesis.ListShardsInput{
		StreamName: aws.String(riverName), ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtLatest}})
	r.must(err)
	slices.SortFunc(out.Shards, func(a, b types.Shard) int { return hashStart(a).Cmp(hashStart(b)) })
	return out.Shards
}

func hashStart(s types.Shard) *big.Int {
	n, _ := new(big.Int).SetString(*s.HashKeyRange.StartingHashKey, 10)
	return n
}

func (r *river) split(s types.Shard) {
	r.t.Helper()
	middle, _ := new(big.Int).SetString(*s.HashKeyRange.EndingHashKey, 10)
	middle.Add(middle, hashStart(s)).Rsh(middle, 1)
	_, err := r.client.SplitShard(r.t.Context(), &kinesis.SplitShardInput{
		StreamName: aws.String(riverName), ShardToSplit: s.ShardId, NewStartingHashKey: aws.String(middle.String())})
	r.must(err)
}

func (r *river) merge(a, b types.Shard) {
	r.t.Helper()
	_, err := r.client.MergeShards(r.t.Context(), &kinesis.MergeShardsInput{
		StreamName: aws.String(riverName), ShardToMerge: a.ShardId, AdjacentShardToMerge: b.ShardId})
	r.must(err)
}

// S6, S7: splits, merges, and splits of what is being split, under load and with handlers that fail:
// the records of each key are handled in order, and none is lost. Children start at their first record
// also where the group began at LATEST (H1).
func TestRunKeepsOrderAcrossResharding(t *testing.T) {
	for name, start := range map[string]Position{"TrimHorizon": TrimHorizon(), "Latest": Latest()} {
		for _, together := range []bool{false, true} {
			if together {
				name += " with records"
			}
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRiver(t, local.Config{EndWithRecords: together, RefuseEnd: together}, 2)
					rng := rand.New(rand.NewPCG(1, 2))
					work := func(context.Context, *Record) error {
						time.Sleep(10 * time.Millisecond)
						if len(r.log(nil))%50 == 0 {
							return errors.New("not yet")
						}
						return nil
					}
					change := func(c *Config) { c.Start = start }
					anna, berta := r.start("anna", work, change), r.start("berta", work, change)
					elapse(3 * time.Second)
					for round := range 12 {
						r.fill(24, 2, 50*time.Millisecond)
						shards := r.open()
						i := rng.IntN(len(shards))
						switch {
						case round%4 == 3 && i+1 < len(shards):
							r.merge(shards[i], shards[i+1])
						case round%4 == 1: // a split of a split at once
							r.split(shards[i])
							r.put("between", 0)
							r.split(r.open()[i])
						default:
							r.split(shards[i])
						}
						r.fill(24, 1, time.Duration(rng.IntN(4))*time.Second)
						if round == 6 {
							r.must(berta.stop())
							berta = r.start("berta", work, change)
						}
					}
					elapse(3 * time.Minute)
					if anna.Health() != nil || len(anna.kinds(EventFinished, EventNewShard)) == 0 {
						t.Errorf("health %v, events %v", anna.Health(), anna.kinds(EventFinished, EventNewShard))
					}
					r.must(anna.stop())
					r.must(berta.stop())
					if repeats := r.judge(0); repeats != 0 {
						t.Errorf("%d records repeated without a crash", repeats)
					}
				})
			})
		}
	}
}
