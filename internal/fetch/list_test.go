package fetch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

func sameShard(a, b lease.Shard) bool {
	return a.ID == b.ID && slices.Equal(a.Parents, b.Parents) && a.HashRange == b.HashRange && a.Closed == b.Closed
}

// TestH18EveryPageIsListed: a stream of 2,500 shards has three pages. (H18)
func TestH18EveryPageIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 2500)
		horizon := lease.TrimHorizon()
		for _, at := range []*lease.Position{nil, &horizon} {
			shards, err := List(t.Context(), w.client, Stream{Name: streamName}, at)
			if err != nil || len(shards) != 2500 {
				t.Fatalf("%d shards, %v", len(shards), err)
			}
			ids := make(map[string]bool)
			for _, s := range shards {
				ids[s.ID] = true
				if _, _, err := s.HashRange.Bounds(); err != nil || s.Closed || s.Parents != nil {
					t.Fatalf("%+v, %v", s, err)
				}
			}
			if len(ids) != 2500 {
				t.Errorf("%d different shards", len(ids))
			}
		}
	})
}

// TestF8ExpiredNextToken: a page token that has expired starts the list again. (F8)
func TestF8ExpiredNextToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 2500)
		pages := 0
		api := &hooked{API: w.client, list: func(in *kinesis.ListShardsInput) (*kinesis.ListShardsOutput, error) {
			if pages++; pages == 3 {
				time.Sleep(301 * time.Second)
			}
			if in.NextToken != nil && (in.StreamName != nil || in.ShardFilter != nil) {
				t.Errorf("a page asks with more than its token: %+v", in)
			}
			return nil, nil
		}}
		shards, err := List(t.Context(), api, Stream{Name: streamName}, nil)
		if err != nil || len(shards) != 2500 || pages != 6 {
			t.Errorf("%d shards in %d pages, %v", len(shards), pages, err)
		}
	})
}

// TestListBacksOff: LimitExceeded and server errors on any page are waited for; if they stay, the
// answer is an error and never a part of the list. (F7)
func TestF7ListBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 2500)
		w.server.SetFaults(3, local.Fault{Kind: local.Throttle, Op: "ListShards", Share: 0.5}, local.Fault{Kind: local.Error, Op: "ListShards", Share: 0.2})
		if shards, err := List(t.Context(), w.client, Stream{Name: streamName}, nil); err != nil || len(shards) != 2500 {
			t.Errorf("%d shards, %v", len(shards), err)
		}
		for _, kind := range []local.FaultKind{local.Throttle, local.Error, local.DropAnswer} {
			w.server.SetFaults(3, local.Fault{Kind: kind, Op: "ListShards", Share: 1})
			began := time.Now()
			if shards, err := List(t.Context(), w.client, Stream{Name: streamName}, nil); err == nil || shards != nil {
				t.Errorf("%d shards, %v", len(shards), err)
			}
			if took := time.Since(began); took < time.Second || took > time.Minute {
				t.Errorf("gave up after %v", took)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("enough"))
			began = time.Now()
			if _, err := List(ctx, w.client, Stream{Name: streamName}, nil); !strings.HasSuffix(err.Error(), "enough") || time.Since(began) > 100*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			cancel()
		}
		// A failure of the second page must not return the first.
		w.server.SetFaults(0)
		api := &hooked{API: w.client, list: func(in *kinesis.ListShardsInput) (*kinesis.ListShardsOutput, error) {
			if in.NextToken != nil {
				return nil, &types.AccessDeniedException{}
			}
			return nil, nil
		}}
		if shards, err := List(t.Context(), api, Stream{Name: streamName}, nil); err == nil || shards != nil {
			t.Errorf("%d shards, %v", len(shards), err)
		}
	})
}

func TestListAtAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 2)
		before := time.Now().Add(-time.Hour)
		time.Sleep(time.Hour)
		w.split(firstShard, "1000")
		time.Sleep(time.Hour)
		between := time.Now().Add(-90 * time.Minute)
		const other, low, high = "shardId-000000000001", "shardId-000000000002", "shardId-000000000003"
		for name, c := range map[string]struct {
			at   lease.Position
			want []string
		}{
			"horizon":           {lease.TrimHorizon(), []string{firstShard, other}},
			"before the stream": {lease.AtTimestamp(before), []string{firstShard, other}},
			"before the split":  {lease.AtTimestamp(between), []string{firstShard, other}},
			"after the split":   {lease.AtTimestamp(time.Now()), []string{other, low, high}},
			"latest":            {lease.Latest(), []string{other, low, high}},
		} {
			shards, err := List(t.Context(), w.client, Stream{Name: streamName}, &c.at)
			var ids []string
			for _, s := range shards {
				ids = append(ids, s.ID)
			}
			if err != nil || !slices.Equal(ids, c.want) {
				t.Errorf("%s: %v, %v", name, ids, err)
			}
		}
		all, err := List(t.Context(), w.client, Stream{Name: streamName}, nil)
		if err != nil || len(all) != 4 || !all[0].Closed || all[1].Closed || !slices.Equal(all[2].Parents, []string{firstShard}) {
			t.Errorf("%+v, %v", all, err)
		}
		// A service that answers an early timestamp with nothing does not make the stream empty.
		api := &hooked{API: w.client, list: func(in *kinesis.ListShardsInput) (*kinesis.ListShardsOutput, error) {
			if in.ShardFilter.Type == types.ShardFilterTypeAtTimestamp {
				return &kinesis.ListShardsOutput{}, nil
			}
			return nil, nil
		}}
		at := lease.AtTimestamp(before)
		if shards, err := List(t.Context(), api, Stream{Name: streamName}, &at); err != nil || len(shards) != 2 {
			t.Errorf("%+v, %v", shards, err)
		}
		for _, at := range []lease.Position{lease.ShardEnd(), after(t, "12")} {
			if _, err := List(t.Context(), w.client, Stream{Name: streamName}, &at); err == nil {
				t.Errorf("%v is no place to list at", at)
			}
		}
	})
}

func TestMergedShardHasTwoParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 2)
		_, err := w.client.SplitShard(t.Context(), &kinesis.SplitShardInput{StreamName: aws.String(streamName),
			ShardToSplit: aws.String(firstShard), NewStartingHashKey: aws.String("7")})
		w.must(err)
		// The one with the lower keys has the higher number here.
		_, err = w.client.MergeShards(t.Context(), &kinesis.MergeShardsInput{StreamName: aws.String(streamName),
			ShardToMerge: aws.String("shardId-000000000003"), AdjacentShardToMerge: aws.String("shardId-000000000001")})
		w.must(err)
		all, err := List(t.Context(), w.client, Stream{Name: streamName}, nil)
		want := []string{"shardId-000000000001", "shardId-000000000003"}
		if err != nil || len(all) != 5 || !slices.Equal(all[4].Parents, want) {
			t.Fatalf("%+v, %v", all, err)
		}
		cfg := w.config(lease.TrimHorizon())
		cfg.Shard = "shardId-000000000003"
		b := first(t, NewReader(w.client, cfg))
		if len(b.Children) != 1 || !slices.Equal(b.Children[0].Parents, want) {
			t.Errorf("children %+v", b.Children)
		}
	})
}

// TestBadChildrenAreLeftOut: children that do not look right are not told at all: a list of the shards is.
func TestBadChildrenAreLeftOut(t *testing.T) {
	whole := &types.HashKeyRange{StartingHashKey: aws.String("0"), EndingHashKey: aws.String("9")}
	good := types.ChildShard{ShardId: aws.String("b"), ParentShards: []string{"a"}, HashKeyRange: whole}
	if got := children("a", []types.ChildShard{good}); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	for name, bad := range map[string]types.ChildShard{
		"no id":           {ParentShards: []string{"a"}, HashKeyRange: whole},
		"its own child":   {ShardId: aws.String("a"), ParentShards: []string{"a"}, HashKeyRange: whole},
		"twice":           good,
		"another's child": {ShardId: aws.String("c"), ParentShards: []string{"x"}, HashKeyRange: whole},
		"no parent":       {ShardId: aws.String("c"), HashKeyRange: whole},
		"three parents":   {ShardId: aws.String("c"), ParentShards: []string{"a", "x", "y"}, HashKeyRange: whole},
		"no range":        {ShardId: aws.String("c"), ParentShards: []string{"a"}},
		"bad range": {ShardId: aws.String("c"), ParentShards: []string{"a"},
			HashKeyRange: &types.HashKeyRange{StartingHashKey: aws.String("7"), EndingHashKey: aws.String("3")}},
	} {
		if got := children("a", []types.ChildShard{good, bad}); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		w := newWorld(t, local.Config{Retention: 48 * time.Hour}, 3)
		created := time.Now()
		time.Sleep(90 * time.Second)
		w.server.SetFaults(5, local.Fault{Kind: local.Throttle, Op: "DescribeStreamSummary", Share: 1, Count: 3})
		const arn = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
		for _, name := range []string{streamName, arn} {
			info, err := Describe(t.Context(), w.client, name)
			if err != nil || info.Stream != (Stream{streamName, arn}) || info.Retention != 48*time.Hour ||
				info.Status != "ACTIVE" || info.OpenShards != 3 || !info.Created.Equal(created) {
				t.Errorf("%+v, %v", info, err)
			}
			// The service's Date has whole seconds, cut off.
			if late := time.Since(info.Date); late < 0 || late >= time.Second {
				t.Errorf("date %v at %v", info.Date, time.Now())
			}
		}
		for _, name := range []string{"invoices", "arn:aws:kinesis:us-east-1:000000000000:stream/invoices"} {
			if _, err := Describe(t.Context(), w.client, name); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		}
		if _, err := List(t.Context(), w.client, Stream{Name: "invoices"}, nil); !errors.Is(err, ErrMissing) {
			t.Errorf("%v", err)
		}
	})
}

// TestTheARNIsUsedWhereKnown: a stream of another account has no other name.
func TestTheARNIsUsedWhereKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		want := w.put(0, 2, 10)
		info, err := Describe(t.Context(), w.client, streamName)
		w.must(err)
		api := &hooked{API: w.client}
		cfg := w.config(lease.TrimHorizon())
		cfg.Stream = info.Stream
		if got := w.sequences(w.read(NewReader(api, cfg), count(2))); !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if in := api.asked[0]; aws.ToString(in.StreamARN) != info.ARN || in.StreamName != nil {
			t.Errorf("asked for %+v", in)
		}
	})
}
