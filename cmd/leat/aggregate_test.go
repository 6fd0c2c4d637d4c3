package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// aggregating returns a putter of the stream "one" that aggregates.
func aggregating(t *testing.T, api putAPI, client *kinesis.Client) *putter {
	p := &putter{api: api, stream: "one"}
	p.list = func(ctx context.Context) (*shardMap, error) { return mapShards(ctx, client, "one") }
	var err error
	if p.shards, err = p.list(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// resharding splits and merges the stream's shards before some of the requests.
type resharding struct {
	fragments
	t      *testing.T
	shards int
}

func (r *resharding) PutRecords(ctx context.Context, in *kinesis.PutRecordsInput, o ...func(*kinesis.Options)) (*kinesis.PutRecordsOutput, error) {
	if r.random.IntN(3) == 0 {
		least := (r.shards + 1) / 2
		r.shards = least + r.random.IntN(2*r.shards-least+1)
		_, err := r.Client.UpdateShardCount(ctx, &kinesis.UpdateShardCountInput{
			StreamName: aws.String("one"), TargetShardCount: aws.Int32(int32(r.shards)), ScalingType: types.ScalingTypeUniformScaling})
		if err != nil && !strings.Contains(err.Error(), "same as current") {
			r.t.Error(err)
		}
	}
	return r.fragments.PutRecords(ctx, in, o...)
}

// Whatever fails, and however the stream is resharded meanwhile, a key's lines are in its shards once and in order; those
// in other shards are strays, which are repeats.
func TestAggregatesKeepOrder(t *testing.T) {
	strays, aggregated := 0, 0
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				server, client := puddle(t, local.Config{Unlimited: true})
				time.Sleep(time.Second) // a shard that ends when the stream begins is listed with its children, as roots
				p := aggregating(t, &resharding{fragments{client, random}, t, 1}, client)
				want := map[string][]string{}
				lines := 0
				for lines < 600 {
					for range random.IntN(100) { // of few keys, and of many
						key := fmt.Sprint(random.IntN(1 + random.IntN(50)))
						want[key] = append(want[key], fmt.Sprint(lines))
						p.add(entry{line: lines + 1, key: key, data: []byte(fmt.Sprint(lines))})
						lines++
					}
					for range random.IntN(4) {
						if err := p.send(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				for len(p.pending) > 0 {
					if err := p.send(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if p.records != int64(lines) || p.size != 0 || p.retried == 0 {
					t.Errorf("put %d of %d, %d bytes left, %d sent again", p.records, lines, p.size, p.retried)
				}

				shards, err := p.list(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				config := server.AWSConfig()
				got := map[string][]string{}
				for r, err := range leat.Tail(t.Context(), leat.TailConfig{Stream: "one", AWS: &config, To: time.Now().Add(time.Minute)}) {
					if err != nil {
						t.Fatal(err)
					}
					if r.Aggregated {
						aggregated++
					}
					if h, err := kpl.HashKeyOf(r.PartitionKey, ""); err != nil || !shards.keys[r.Shard].Has(h) {
						strays++
						continue
					}
					got[r.PartitionKey] = append(got[r.PartitionKey], string(r.Data))
				}
				for key := range want {
					if !slices.Equal(got[key], want[key]) {
						t.Errorf("key %s: %v, want %v", key, got[key], want[key])
					}
				}
			})
		})
	}
	t.Logf("%d user records, %d strays", aggregated, strays)
	if strays == 0 || aggregated < 20*300 {
		t.Error("the test is too weak")
	}
}

// A request holds one record of each shard, up to the limits of both; what is alone, or too large, is a plain record.
func TestAggregates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := puddle(t, local.Config{})
		if _, err := client.CreateStream(t.Context(), createInput("many", 16)); err != nil {
			t.Fatal(err)
		}
		two, err := mapShards(t.Context(), client, "many")
		if err != nil {
			t.Fatal(err)
		}
		if first, last := two.of(lease.HashKey{}), two.open[15]; first != "shardId-000000000000" || last.id != "shardId-000000000015" ||
			two.of(last.first) != last.id {
			t.Errorf("the first shard is %s, the last %v", first, last)
		}
		if _, err := client.MergeShards(t.Context(), &kinesis.MergeShardsInput{StreamName: aws.String("many"),
			ShardToMerge: aws.String("shardId-000000000014"), AdjacentShardToMerge: aws.String("shardId-000000000015")}); err != nil {
			t.Fatal(err)
		}
		merged, err := mapShards(t.Context(), client, "many")
		if err != nil || merged.of(two.open[15].first) != "shardId-000000000016" {
			t.Errorf("the last hash key is said to be in %s, %v", merged.of(two.open[15].first), err)
		}

		type shape struct {
			unordered bool
			rate      float64
			sizes     []int
		}
		same := func(n, size int) []int { return slices.Repeat([]int{size}, n) }
		for name, test := range map[string]struct {
			shape
			shards *shardMap
			want   string // of each record: a for aggregated or p for plain, and the number of its entries
		}{
			"one":                 {shape{sizes: same(1, 10)}, nil, "p1"},
			"many":                {shape{sizes: same(1000, 10)}, nil, "a1000"},
			"by bytes":            {shape{sizes: same(30, 100_000)}, nil, "a10"},
			"one that is alone":   {shape{sizes: []int{700_000, 700_000, 10}}, nil, "p1"},
			"one over":            {shape{sizes: []int{1<<20 - 4, 10, 10}}, nil, "p1"},
			"one over, later":     {shape{sizes: []int{10, 10, 1<<20 - 4, 10}}, nil, "a2"},
			"unordered":           {shape{unordered: true, sizes: same(30, 100_000)}, nil, "a10 a10 a8"},
			"rate":                {shape{rate: 200, sizes: same(100, 10)}, nil, "a20"},
			"low rate":            {shape{rate: 1, sizes: same(100, 10)}, nil, "p1"},
			"a request of 10 MiB": {shape{sizes: same(300, 100_000)}, two, "104 in all"},
		} {
			p := aggregating(t, client, client)
			p.unordered, p.rate = test.unordered, test.rate
			if test.shards != nil {
				p.shards = test.shards
			}
			for i, size := range test.sizes {
				p.add(entry{line: i + 1, key: fmt.Sprintf("%04d", i), data: make([]byte, size)})
			}
			var got []string
			entries, bytes := 0, 0
			for _, c := range p.batch() {
				kind := "p"
				if kpl.Is(c.record.Data) {
					kind = "a"
				}
				got = append(got, fmt.Sprint(kind, len(c.entries)))
				entries += len(c.entries)
				bytes += len(c.record.Data) + len(*c.record.PartitionKey)
				if len(c.record.Data)+len(*c.record.PartitionKey) > 1<<20 {
					t.Errorf("%s: a record of %d bytes", name, len(c.record.Data))
				}
			}
			if s := strings.Join(got, " "); s != test.want && fmt.Sprint(entries, " in all") != test.want || bytes > maxBatchBytes {
				t.Errorf("%s: %s (%d in all, %d bytes), want %s", name, s, entries, bytes, test.want)
			}
		}
	})
}

// Aggregated lines pass a shard's limit of 1,000 records a second many times over, at one key, too.
func TestAggregatesAreFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := puddle(t, local.Config{})
		var lines strings.Builder
		var want []string
		for i := range 20_000 {
			fmt.Fprintln(&lines, i)
			want = append(want, fmt.Sprint(i))
		}
		p := aggregating(t, client, client)
		began := time.Now()
		if err := p.run(t.Context(), &input{r: bufio.NewReader(strings.NewReader(lines.String())), limit: 100, key: "k"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("20,000 lines took %v", took)
		}
		if got := contents(t, server)["k"]; !slices.Equal(got, want) {
			t.Errorf("%d lines, or in another order", len(got))
		}
	})
}

// The shards that an answer names may be newer than the list: put waits until it has them.
func TestAggregatesWaitForTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := puddle(t, local.Config{})
		p := aggregating(t, client, client)
		old := p.shards
		if _, err := client.SplitShard(t.Context(), &kinesis.SplitShardInput{StreamName: aws.String("one"),
			ShardToSplit: aws.String("shardId-000000000000"), NewStartingHashKey: aws.String("170141183460469231731687303715884105728")}); err != nil {
			t.Fatal(err)
		}
		list, stale := p.list, 3
		p.list = func(ctx context.Context) (*shardMap, error) {
			if stale--; stale >= 0 {
				return old, nil
			}
			return list(ctx)
		}
		for i := range 20 {
			p.add(entry{line: i + 1, key: fmt.Sprint(i), data: []byte{}})
		}
		if err := p.send(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stale >= 0 || p.records == 0 || p.records == 20 || int(p.records)+len(p.pending) != 20 || p.retried != int64(len(p.pending)) {
			t.Errorf("%d stale lists left, %d put, %d left, %d to be put again", stale, p.records, len(p.pending), p.retried)
		}
	})
}
