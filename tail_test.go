package leat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"

	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// pond is a stream on the embedded server, in a synctest bubble: its clock is virtual.
type pond struct {
	t      *testing.T
	server *local.Server
	client *kinesis.Client
	cfg    TailConfig
}

func newPond(t *testing.T, config local.Config, shards int32) *pond {
	server := local.New(config)
	c := server.AWSConfig()
	p := &pond{t: t, server: server, client: kinesis.NewFromConfig(c, func(o *kinesis.Options) { o.RetryMaxAttempts = 20 }), cfg: TailConfig{Stream: "pond", AWS: &c}}
	p.create(shards)
	return p
}

func (p *pond) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pond) create(shards int32) {
	_, err := p.client.CreateStream(p.t.Context(), &kinesis.CreateStreamInput{StreamName: &p.cfg.Stream, ShardCount: &shards})
	p.must(err)
}

func (p *pond) delete() {
	_, err := p.client.DeleteStream(p.t.Context(), &kinesis.DeleteStreamInput{StreamName: &p.cfg.Stream})
	p.must(err)
}

func (p *pond) put(key, data string) (sequence string) {
	out, err := p.client.PutRecord(p.t.Context(), &kinesis.PutRecordInput{
		StreamName: &p.cfg.Stream, PartitionKey: &key, Data: []byte(data)})
	p.must(err)
	return *out.SequenceNumber
}

// open lists the open shards in the order of their hash keys.
func (p *pond) open() []types.Shard {
	out, err := p.client.ListShards(p.t.Context(), &kinesis.ListShardsInput{
		StreamName: &p.cfg.Stream, ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtLatest}})
	p.must(err)
	slices.SortFunc(out.Shards, func(a, b types.Shard) int { return starts(a).Cmp(starts(b)) })
	return out.Shards
}

func starts(s types.Shard) *big.Int {
	n, _ := new(big.Int).SetString(*s.HashKeyRange.StartingHashKey, 10)
	return n
}

func (p *pond) split(s types.Shard) {
	middle, _ := new(big.Int).SetString(*s.HashKeyRange.EndingHashKey, 10)
	middle.Add(middle, starts(s)).Rsh(middle, 1)
	_, err := p.client.SplitShard(p.t.Context(), &kinesis.SplitShardInput{
		StreamName: &p.cfg.Stream, ShardToSplit: s.ShardId, NewStartingHashKey: aws.String(middle.String())})
	p.must(err)
}

func (p *pond) merge(a, b types.Shard) {
	_, err := p.client.MergeShards(p.t.Context(), &kinesis.MergeShardsInput{
		StreamName: &p.cfg.Stream, ShardToMerge: a.ShardId, AdjacentShardToMerge: b.ShardId})
	p.must(err)
}

// read takes n records out of a tail; it fails on an error and on an early end.
func (p *pond) read(ctx context.Context, n int) (got []string) {
	p.t.Helper()
	for r, err := range Tail(ctx, p.cfg) {
		p.must(err)
		got = append(got, string(r.Data))
		if len(got) == n {
			return got
		}
	}
	p.t.Fatalf("the loop ended after %q, want %d records", got, n)
	return nil
}

// all reads to the end and returns the last error.
func (p *pond) all(ctx context.Context) (got []string, last error) {
	for r, err := range Tail(ctx, p.cfg) {
		if err != nil {
			last = err
			continue
		}
		got = append(got, string(r.Data))
	}
	return got, last
}

// Leaving the loop, and the end of its context, leave no goroutine behind: the bubble would panic.
func TestTailReadsAndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 3)
		for i := range 20 {
			p.put(fmt.Sprint("key", i), fmt.Sprint(i))
		}
		got := p.read(t.Context(), 20)
		slices.Sort(got)
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprint(i))
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("read %q", got)
		}
		if got := p.read(t.Context(), 5); len(got) != 5 {
			t.Errorf("read %q", got)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got, err := p.all(ctx)
		if len(got) != 20 || err != nil {
			t.Errorf("%d records, %v: want 20, and no error when the context ends", len(got), err)
		}
	})
}

// An outage of minutes is waited for.
func TestTailOutlivesOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 1)
		p.put("a", "one")
		p.server.SetFaults(1, local.Fault{Kind: local.Error, Op: "GetRecords", Share: 1})
		time.AfterFunc(5*time.Minute, func() { p.server.SetFaults(1) })
		if got := p.read(t.Context(), 1); got[0] != "one" {
			t.Errorf("read %q", got)
		}
	})
}

func TestTailLatestFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 2)
		p.put("a", "old")
		time.Sleep(time.Minute)
		p.cfg.From = Latest()
		go func() {
			time.Sleep(10 * time.Second)
			p.put("a", "new")
		}()
		if got := p.read(t.Context(), 1); got[0] != "new" {
			t.Errorf("read %q", got)
		}
	})
}

// Whatever is split and merged, before and while it is read, under faults: every record comes once and in
// the order of its key.
func TestTailKeepsOrderAcrossResharding(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				config := local.Config{Unlimited: true, EndWithRecords: random.IntN(2) == 0}
				early, late, fromTime := random.IntN(40), random.IntN(40), random.IntN(2) == 0
				p := newPond(t, config, int32(1+random.IntN(4)))
				want, total := map[string][]string{}, 0
				step := func() {
					time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
					open := p.open()
					i := random.IntN(len(open))
					switch random.IntN(5) {
					case 0:
						p.split(open[i])
					case 1:
						if i > 0 {
							p.merge(open[i-1], open[i])
						}
					default:
						key := fmt.Sprint("key", random.IntN(8))
						p.put(key, fmt.Sprint(total))
						want[key] = append(want[key], fmt.Sprint(total))
						total++
					}
				}
				for range early {
					step()
				}
				if fromTime {
					clear(want)
					total = 0
					time.Sleep(time.Second)
					p.cfg.From = AtTimestamp(time.Now())
				}
				p.server.SetFaults(seed,
					local.Fault{Kind: local.Throttle, Op: "GetRecords", Share: 0.1},
					local.Fault{Kind: local.DropAnswer, Op: "GetRecords", Share: 0.1},
					local.Fault{Kind: local.DropAnswer, Op: "GetShardIterator", Share: 0.1},
					local.Fault{Kind: local.ExpireIterator, Share: 0.1},
					local.Fault{Kind: local.Error, Op: "ListShards", Share: 0.1})
				// The writer's calls meet faults, too, and the SDK's pauses can be long.
				p.cfg.To = time.Now().Add(time.Duration(late)*2*time.Second + 3*time.Minute)
				p.cfg.PollInterval = 2 * time.Second
				go func() {
					for range late {
						step()
					}
					p.put("last", "last")
				}()
				got := map[string][]string{}
				n := 0
				for r, err := range Tail(t.Context(), p.cfg) {
					p.must(err)
					got[r.PartitionKey] = append(got[r.PartitionKey], string(r.Data))
					n++
				}
				if len(got["last"]) != 1 {
					t.Errorf("the last record came %d times", len(got["last"]))
				}
				for key := range want {
					if !slices.Equal(got[key], want[key]) {
						t.Errorf("%s: got %v, want %v", key, got[key], want[key])
					}
				}
				if n != total+1 {
					t.Errorf("%d records, want %d", n, total+1)
				}
			})
		})
	}
}

// A tail with To ends by itself: in the past, at once; in the future, then; whether the shards are idle
// or not. It tells what arrived before To and nothing else.
func TestTailEndsAtTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 2)
		p.put("a", "1")
		time.Sleep(time.Minute)
		middle := time.Now()
		p.put("a", "2") // arrives at To itself
		time.Sleep(time.Minute)

		end := func(within time.Duration, want ...string) {
			t.Helper()
			began := time.Now()
			got, err := p.all(t.Context())
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
			if took := time.Since(began); took > within {
				t.Errorf("took %v, want at most %v", took, within)
			}
		}
		p.cfg.To = middle
		end(time.Second, "1")
		p.cfg.To = middle.Add(time.Millisecond)
		end(time.Second, "1", "2")
		p.cfg.From = AtTimestamp(middle)
		end(time.Second, "2")
		p.cfg.From = Latest()
		p.cfg.To = time.Now().Add(10 * time.Second)
		end(14 * time.Second)

		go func() {
			time.Sleep(9900 * time.Millisecond)
			p.put("a", "3")
			time.Sleep(200 * time.Millisecond)
			p.put("a", "4")
		}()
		p.cfg.To = time.Now().Add(10 * time.Second)
		end(14*time.Second, "3")

		// Children of a shard that was split before To are read, too.
		go func() {
			time.Sleep(time.Second)
			for _, s := range p.open() {
				p.split(s)
			}
			p.put("a", "5")
		}()
		p.cfg.To = time.Now().Add(10 * time.Second)
		end(15*time.Second, "5")
	})
}

// A stream that was split in the very millisecond of the start lists the parent with its children. These wait for it.
func TestTailStartsAtAReshard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 1)
		began := time.Now()
		var want []string
		put := func() {
			for i := range 20 {
				want = append(want, fmt.Sprint(len(want)))
				p.put(fmt.Sprint("key-", i), want[len(want)-1])
			}
		}
		put()
		p.split(p.open()[0])
		put()
		got := p.read(t.Context(), 40)
		if !slices.Equal(got[:20], want[:20]) {
			t.Errorf("the first 20 are %q, want those of the parent", got[:20])
		}
		p.cfg.From = AtTimestamp(began)
		if got := p.read(t.Context(), 40); !slices.Equal(got[:20], want[:20]) {
			t.Errorf("from that time: the first 20 are %q, want those of the parent", got[:20])
		}
	})
}

func TestTailOneShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 1)
		first := p.put("a", "1")
		p.put("a", "2")
		parent := p.open()[0]
		p.split(parent)
		p.put("a", "3")

		// Without a time to end it ends with its shard.
		p.cfg.Shard = *parent.ShardId
		if got, err := p.all(t.Context()); err != nil || !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("got %q, %v", got, err)
		}
		after, err := lease.AfterSequence(first, 0)
		p.must(err)
		p.cfg.From = after
		if got, err := p.all(t.Context()); err != nil || !slices.Equal(got, []string{"2"}) {
			t.Errorf("after %s: got %q, %v", first, got, err)
		}
	})
}

func TestTailErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 2)
		p.put("a", "1")
		only := func(what string) error {
			t.Helper()
			got, err := p.all(t.Context())
			if len(got) > 0 || err == nil || !strings.HasPrefix(err.Error(), "leat: ") {
				t.Errorf("%s: got %q, %v", what, got, err)
			}
			return err
		}
		good := p.cfg

		p.cfg.Stream = "puddle"
		if err := only("no stream"); !errors.Is(err, ErrStreamNotFound) {
			t.Error(err)
		}
		p.cfg = good
		p.server.SetFaults(1, local.Fault{Kind: local.Error, Share: 1})
		if err := only("no answer"); strings.Count(err.Error(), "describing stream") != 1 {
			t.Errorf("%v does not say once what was being done", err)
		}
		p.server.SetFaults(1)
		p.cfg.Shard = "shardId-000000000007"
		if err := only("no shard"); !errors.Is(err, ErrShardNotFound) {
			t.Error(err)
		}
		p.cfg.Shard = *p.open()[0].ShardId
		p.cfg.From, _ = lease.AfterSequence("12345", 0)
		err := only("foreign sequence number")
		if _, ok := errors.AsType[*types.InvalidArgumentException](err); !ok {
			t.Error(err)
		}
		p.cfg = TailConfig{Stream: "no stream", AWS: good.AWS, Endpoint: "localhost:4567", From: lease.ShardEnd(), PollInterval: 1}
		err = only("faults")
		for _, field := range []string{"Stream: ", "Endpoint: ", "From: ", "PollInterval: "} {
			if !strings.Contains(err.Error(), field) {
				t.Errorf("%v does not name %s", err, field)
			}
		}
	})
}

// A stream that goes away under the loop ends it; another one of its name is not taken for it.
func TestTailStreamGoesAway(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPond(t, local.Config{}, 2)
			go func() {
				time.Sleep(time.Minute)
				p.delete()
				if again {
					time.Sleep(time.Millisecond)
					p.create(2)
				}
			}()
			want := ErrStreamNotFound
			if again {
				want = ErrStreamRecreated
			}
			if got, err := p.all(t.Context()); len(got) > 0 || !errors.Is(err, want) {
				t.Errorf("again=%v: got %q, %v", again, got, err)
			}
		})
	}
}

// Records that passed the retention are told as an error, and the loop goes on with what is left.
func TestTailTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{Retention: 24 * time.Hour}, 1)
		p.cfg.Shard = *p.open()[0].ShardId
		p.cfg.From, _ = lease.AfterSequence(p.put("a", "1"), 0)
		p.put("a", "2")
		time.Sleep(25 * time.Hour)
		p.put("a", "3")
		p.cfg.To = time.Now().Add(time.Second)
		got, err := p.all(t.Context())
		if !slices.Equal(got, []string{"3"}) || !errors.Is(err, ErrTrimmed) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// refusing is a service that a person has to look after.
type refusing struct{ fetch.HTTPClient }

func (r refusing) Do(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.Header.Get("X-Amz-Target"), ".GetRecords") {
		return r.HTTPClient.Do(request)
	}
	io.Copy(io.Discard, request.Body)
	const body = `{"__type":"AccessDeniedException","message":"not for you"}`
	return &http.Response{
		StatusCode: 400, Request: request, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}},
		Body:   io.NopCloser(strings.NewReader(body)),
	}, nil
}

func TestTailDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{}, 3)
		p.cfg.AWS.HTTPClient = refusing{p.server.HTTPClient()}
		_, err := p.all(t.Context())
		if answer, ok := errors.AsType[smithy.APIError](err); !ok || answer.ErrorCode() != "AccessDeniedException" {
			t.Errorf("got %v", err)
		}
	})
}

// However much there is to read, and however slow the loop is: the bytes in memory are bounded, and given
// back.
func TestTailMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(t, local.Config{Unlimited: true}, 16)
		const records = 100
		for i := range records {
			p.put(fmt.Sprint(i), strings.Repeat("x", 1<<20-8))
		}
		p.cfg.To = time.Now().Add(time.Millisecond)
		tail, err := openTail(t.Context(), p.cfg)
		p.must(err)
		defer tail.close()
		n := 0
		p.must(tail.run(func(_ *Record, err error) bool {
			p.must(err)
			time.Sleep(100 * time.Millisecond)
			n++
			return true
		}))
		// An answer of 10 MiB is 40 MiB while it is decoded; the budget lets one in over the bound.
		const most = defaultMaxBuffered + 40<<20
		if peak := tail.budget.Peak(); n != records || peak > most || peak < 1<<20 {
			t.Errorf("%d records, peak %d bytes", n, peak)
		}
		if used := tail.budget.Used(); used != 0 {
			t.Errorf("%d bytes still taken", used)
		}
	})
}

// A child waits for both parents, also for one that is only known of through the list.
func TestFamily(t *testing.T) {
	shard := func(id string, parents ...string) lease.Shard { return lease.Shard{ID: id, Parents: parents} }
	// Before the tail began: "old" was split into x and y. Then x is split, and its right half merged with y.
	all := []lease.Shard{
		shard("old"), shard("x", "old"), shard("y", "old"),
		shard("x1", "x"), shard("x2", "x"), shard("m", "x2", "y"), shard("n", "gone", "m"),
	}
	f := newFamily()
	f.begin("x")
	f.begin("y")
	steps := []struct{ end, ready string }{
		{"y", ""}, // m waits for x2, which has not begun
		{"x", "x1 x2"},
		{"x1", ""},
		{"x2", "m"},
		{"m", "n"}, // its other parent is not listed any more
	}
	for _, s := range steps {
		got := f.end(s.end, all)
		if strings.Join(got, " ") != s.ready {
			t.Fatalf("after the end of %s: %v may begin, want %q", s.end, got, s.ready)
		}
		for _, id := range got {
			f.begin(id)
		}
	}
}

// The list may lag behind the end of a shard.
func TestFollowed(t *testing.T) {
	shard := func(id string, start, end string, parents ...string) lease.Shard {
		return lease.Shard{ID: id, Parents: parents, HashRange: lease.HashRange{Start: start, End: end}}
	}
	p, left, right := shard("p", "0", "99"), shard("left", "0", "49", "p"), shard("right", "50", "99", "p")
	tests := []struct {
		name         string
		told, listed []lease.Shard
		want         bool
	}{
		{"told and listed", []lease.Shard{left, right}, []lease.Shard{p, left, right}, true},
		{"told, one missing", []lease.Shard{left, right}, []lease.Shard{p, left}, false},
		{"not told, both listed", nil, []lease.Shard{p, left, right}, true},
		{"not told, one missing", nil, []lease.Shard{p, right}, false},
		{"not told, none listed", nil, []lease.Shard{p}, false},
		{"merged", nil, []lease.Shard{p, shard("m", "0", "199", "p", "q")}, true},
		{"passed its retention", nil, nil, true},
	}
	for _, test := range tests {
		if got := followed("p", test.told, test.listed); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
