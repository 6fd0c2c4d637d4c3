//go:build unix

package chaos

import (
	"cmp"
	"context"
	"crypto/md5"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

// Every partition key and all data begin with these: no log may ever hold them.
const (
	canaryKey  = "canarykey"
	canaryData = "canarydata"
)

const (
	perSecond = 20 // records, for each shard that the stream begins with
	keysEach  = 4  // of such a shard
)

// put is a record that the stream took.
type put struct {
	key      string
	n        int // which one of its key, from 1
	shard    string
	sequence string
	at       time.Time // when the stream's answer came
}

// producer puts records, a key's one after the other, so that their numbers enter in order.
type producer struct {
	client *kinesis.Client
	keys   [][]string // of each shard that the stream begins with

	mu   sync.Mutex
	puts []put
}

// newProducer finds keys for a stream of so many equal shards.
func newProducer(client *kinesis.Client, shards int) *producer {
	p := &producer{client: client, keys: make([][]string, shards)}
	for i, missing := 0, shards*keysEach; missing > 0; i++ {
		key := fmt.Sprintf("%s-%d", canaryKey, i)
		sum := md5.Sum([]byte(key)) // how Kinesis routes a partition key
		at := new(big.Int).Mul(new(big.Int).SetBytes(sum[:]), big.NewInt(int64(shards)))
		shard := int(at.Rsh(at, 128).Int64())
		if len(p.keys[shard]) < keysEach {
			p.keys[shard] = append(p.keys[shard], key)
			missing--
		}
	}
	return p
}

// run puts records until ctx is done.
func (p *producer) run(ctx context.Context) error {
	counts := map[string]int{}
	next := time.Now()
	for turn := 0; ctx.Err() == nil; turn++ {
		var entries []types.PutRecordsRequestEntry
		for _, keys := range p.keys {
			key := keys[turn%keysEach]
			counts[key]++
			entries = append(entries, types.PutRecordsRequestEntry{
				PartitionKey: &key, Data: fmt.Appendf(nil, "%s %d", canaryData, counts[key]),
			})
		}
		// Not cancelled in the middle: records whose answer is lost could not be checked.
		if err := p.put(context.WithoutCancel(ctx), entries); err != nil {
			return err
		}
		next = next.Add(time.Second / perSecond)
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// put puts records of different keys, those that are refused again.
func (p *producer) put(ctx context.Context, entries []types.PutRecordsRequestEntry) error {
	for try := 1; len(entries) > 0; try++ {
		out, err := p.client.PutRecords(ctx, &kinesis.PutRecordsInput{StreamName: aws.String(streamName), Records: entries})
		if err != nil {
			return fmt.Errorf("putting records: %w", err)
		}
		var again []types.PutRecordsRequestEntry
		p.mu.Lock()
		for i, r := range out.Records {
			if r.ErrorCode != nil {
				again = append(again, entries[i])
				continue
			}
			var n int
			fmt.Sscanf(string(entries[i].Data), canaryData+" %d", &n)
			p.puts = append(p.puts, put{key: *entries[i].PartitionKey, n: n, shard: *r.ShardId, sequence: *r.SequenceNumber, at: time.Now()})
		}
		p.mu.Unlock()
		if entries = again; try > 50 {
			return fmt.Errorf("putting records: %d of them are refused again and again: %s", len(again), *out.Records[0].ErrorMessage)
		}
	}
	return nil
}

func (p *producer) sofar() []put {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.puts
}

// compareSequences compares two decimal numbers.
func compareSequences(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// openShards lists the shards that take records, in the order of their hash ranges.
func (p *producer) openShards(ctx context.Context) ([]types.Shard, error) {
	var open []types.Shard
	input := &kinesis.ListShardsInput{StreamName: aws.String(streamName)}
	for {
		out, err := p.client.ListShards(ctx, input)
		if err != nil {
			return nil, fmt.Errorf("listing the shards: %w", err)
		}
		for _, s := range out.Shards {
			if s.SequenceNumberRange.EndingSequenceNumber == nil {
				open = append(open, s)
			}
		}
		if out.NextToken == nil {
			break
		}
		input = &kinesis.ListShardsInput{NextToken: out.NextToken}
	}
	slices.SortFunc(open, func(a, b types.Shard) int {
		return number(a.HashKeyRange.StartingHashKey).Cmp(number(b.HashKeyRange.StartingHashKey))
	})
	return open, nil
}

func number(s *string) *big.Int {
	n, _ := new(big.Int).SetString(*s, 10)
	return n
}

// split splits the widest open shard in two equal ones.
func (p *producer) split(ctx context.Context) error {
	open, err := p.openShards(ctx)
	if err != nil {
		return err
	}
	width := func(s types.Shard) *big.Int {
		return new(big.Int).Sub(number(s.HashKeyRange.EndingHashKey), number(s.HashKeyRange.StartingHashKey))
	}
	s := slices.MaxFunc(open, func(a, b types.Shard) int { return width(a).Cmp(width(b)) })
	half := width(s)
	middle := half.Rsh(half, 1).Add(half, number(s.HashKeyRange.StartingHashKey))
	_, err = p.client.SplitShard(ctx, &kinesis.SplitShardInput{
		StreamName: aws.String(streamName), ShardToSplit: s.ShardId, NewStartingHashKey: aws.String(middle.String()),
	})
	if err != nil {
		return fmt.Errorf("splitting %s: %w", *s.ShardId, err)
	}
	return nil
}

// merge merges two neighbours, the pick-th and the one after it.
func (p *producer) merge(ctx context.Context, pick int) error {
	open, err := p.openShards(ctx)
	if err != nil || len(open) < 2 {
		return err
	}
	a, b := open[pick%(len(open)-1)].ShardId, open[pick%(len(open)-1)+1].ShardId
	_, err = p.client.MergeShards(ctx, &kinesis.MergeShardsInput{
		StreamName: aws.String(streamName), ShardToMerge: a, AdjacentShardToMerge: b,
	})
	if err != nil {
		return fmt.Errorf("merging %s and %s: %w", *a, *b, err)
	}
	return nil
}
