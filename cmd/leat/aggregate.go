package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/lease"
)

// maxOverhead is more than an aggregated record has around one entry, and around all of them, in bytes.
const maxOverhead = 128

// shardMap says which shard a hash key belongs to.
type shardMap struct {
	open []openShard          // by their first hash keys
	keys map[string]kpl.Range // of all shards that the stream still has, by id
}

type openShard struct {
	id    string
	first lease.HashKey
}

// mapShards asks for the stream's shards.
func mapShards(ctx context.Context, client *kinesis.Client, stream string) (*shardMap, error) {
	named := fetch.Stream{Name: stream}
	if strings.HasPrefix(stream, "arn:") {
		named = fetch.Stream{ARN: stream}
	}
	shards, err := fetch.List(ctx, client, named, nil)
	if err != nil {
		return nil, err
	}
	m := &shardMap{keys: map[string]kpl.Range{}}
	for _, s := range shards {
		first, err := kpl.HashKeyOf("", s.HashRange.Start)
		if err != nil {
			return nil, fmt.Errorf("shard %s of %s: %w", s.ID, stream, err)
		}
		if m.keys[s.ID], err = kpl.NewRange(s.HashRange); err != nil {
			return nil, fmt.Errorf("shard %s of %s: %w", s.ID, stream, err)
		}
		if !s.Closed {
			m.open = append(m.open, openShard{s.ID, first})
		}
	}
	sort.Slice(m.open, func(i, j int) bool { return m.open[i].first.Compare(m.open[j].first) < 0 })
	return m, nil
}

// of is the open shard of a hash key; empty if the list has none.
func (m *shardMap) of(h lease.HashKey) string {
	above := sort.Search(len(m.open), func(i int) bool { return h.Compare(m.open[i].first) < 0 })
	if above == 0 {
		return ""
	}
	return m.open[above-1].id
}

// aggregate is an aggregated record in the making. Once it is full it takes no further entry, though a smaller one had
// room: its key's order.
type aggregate struct {
	*kpl.Aggregator
	parcel
	full bool
}

// aggregates chooses what goes into the next request: for each shard one record, of the oldest of its entries. With unordered
// a shard can have several.
func (p *putter) aggregates() []parcel {
	var all []*aggregate
	filling := map[string]*aggregate{} // by shard
	size, left := 0, p.most()
	for i := 0; i < len(p.pending) && left > 0; i++ {
		e := &p.pending[i]
		more := e.size() + maxOverhead
		if size+more > maxBatchBytes && len(all) > 0 {
			break
		}
		shard := p.shards.of(e.hash)
		a := filling[shard]
		if a == nil || a.full && p.unordered {
			if len(all) == maxBatch {
				break
			}
			a = &aggregate{Aggregator: kpl.NewAggregator(0), parcel: parcel{shard: shard}}
			all, filling[shard] = append(all, a), a
		}
		if !a.full && a.add(p, i) {
			size += more
			left--
		}
	}
	parcels := make([]parcel, len(all))
	for i, a := range all {
		parcels[i] = a.finish(p)
	}
	return parcels
}

// add adds an entry, if there is room. One that no aggregated record has room for is alone.
func (a *aggregate) add(p *putter, i int) (added bool) {
	e := &p.pending[i]
	full, err := a.Add(e.key, aws.ToString(p.hashKey), e.data)
	if a.full = full || err != nil; a.full && len(a.entries) > 0 {
		return false
	}
	a.entries = append(a.entries, i)
	return true
}

// finish is what is put: an entry that is alone as a plain record, as the KPL does.
func (a *aggregate) finish(p *putter) parcel {
	if len(a.entries) == 1 {
		return p.plain(a.entries[0])
	}
	key, hashKey := a.Keys()
	a.record = types.PutRecordsRequestEntry{PartitionKey: &key, ExplicitHashKey: &hashKey, Data: a.Finish()}
	return a.parcel
}

// landed are the entries of a parcel that was put into a shard which belong there. All do, unless the stream was
// resharded: then the shards are listed anew, and those that missed theirs stay in the queue, to be put once more (as
// the KPL does). So a consumer that skips strays still sees each key in order.
func (p *putter) landed(ctx context.Context, put parcel, shard string) ([]int, error) {
	if put.shard == "" || put.shard == shard {
		return put.entries, nil
	}
	for {
		shards, err := p.list(ctx)
		if err != nil {
			return put.entries, fmt.Errorf("after a reshard: %w", err)
		}
		p.shards = shards
		if keys, known := shards.keys[shard]; known {
			return slices.DeleteFunc(put.entries, func(i int) bool { return !keys.Has(p.pending[i].hash) }), nil
		}
		if err := p.pause(ctx, fmt.Errorf("shard %s is not listed", shard)); err != nil {
			return put.entries, err
		}
	}
}
