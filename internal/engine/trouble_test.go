package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/memory"
)

// partly is a store of which one kind of calls fails for a while.
type partly struct {
	lease.Store
	fails       string
	from, until time.Time
	calls       *atomic.Int64 // if set, two of five calls succeed all the same
}

var errPartly = errors.New("not this kind")

func (s partly) failing(kind string) bool {
	now := time.Now()
	return s.fails == kind && !now.Before(s.from) && now.Before(s.until) && (s.calls == nil || s.calls.Add(1)%5 < 3)
}

func (s partly) Members(ctx context.Context, group string, consistent bool) ([]lease.Item, error) {
	if s.failing("members") {
		return nil, errPartly
	}
	return s.Store.Members(ctx, group, consistent)
}

func (s partly) Leases(ctx context.Context, group, stream string) iter.Seq2[lease.Item, error] {
	if s.failing("leases") {
		return func(yield func(lease.Item, error) bool) { yield(lease.Item{}, errPartly) }
	}
	return s.Store.Leases(ctx, group, stream)
}

func (s partly) Write(ctx context.Context, group string, w lease.Write) (lease.Item, error) {
	if s.failing("writes") {
		return lease.Item{}, errPartly
	}
	return s.Store.Write(ctx, group, w)
}

// Trouble with one kind of calls to the store is told, once, and its end, though calls of the other kinds succeed all the time, and
// also if some of that kind do, as in throttling.
func TestStoreTroubleOfOneKind(t *testing.T) {
	for _, c := range []struct {
		kind  string
		after time.Duration
		calls *atomic.Int64
	}{
		{"members", 10 * time.Second, nil}, {"leases", 0, nil}, {"writes", 10 * time.Second, nil},
		{"members", 10 * time.Second, new(atomic.Int64)}, {"writes", 10 * time.Second, new(atomic.Int64)},
	} {
		t.Run(fmt.Sprint(c.kind, c.calls != nil), func(t *testing.T) {
			kinds, last, err := performWith(t, func(cfg *Config) {
				cfg.Store = partly{memory.New(), c.kind, time.Now().Add(c.after), time.Now().Add(40 * time.Second), c.calls}
			}, nil)
			told := slices.DeleteFunc(kinds, func(k lease.ReportKind) bool { return k != StoreTrouble && k != StoreBack })
			if !slices.Equal(told, []lease.ReportKind{StoreTrouble, StoreBack}) || last.StoreErr != nil || err != nil {
				t.Errorf("events %v, at the end %v; error %v", told, last.StoreErr, err)
			}
		})
	}
}

// A worker that cannot list the stream's shards has nothing to read, or does not learn of new shards: it says so, once, and when
// it can.
func TestListingThatFails(t *testing.T) {
	kinds, last, err := performWith(t, func(c *Config) {
		list, until := c.List, time.Now().Add(20*time.Second)
		c.List = func(ctx context.Context, at *lease.Position) ([]lease.Shard, error) {
			if time.Now().Before(until) {
				return nil, errors.New("kinesis:ListShards is not allowed")
			}
			return list(ctx, at)
		}
	}, nil)
	told := slices.DeleteFunc(kinds, func(k lease.ReportKind) bool { return k != Stuck && k != Moving })
	if !slices.Equal(told, []lease.ReportKind{Stuck, Moving}) || len(last.Shards) != 1 || err != nil {
		t.Errorf("events %v, %+v; error %v", told, last.Shards, err)
	}
}
