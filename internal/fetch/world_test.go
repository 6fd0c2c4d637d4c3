package fetch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/internal/wire"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

const (
	streamName = "orders"
	firstShard = "shardId-000000000000"
)

// world is a Kinesis in process, in the bubble's time, and a client of it as leat makes one.
type world struct {
	t      *testing.T
	server *local.Server
	client *kinesis.Client
	credit *account
	shards int
}

func newWorld(t *testing.T, config local.Config, shards int) *world {
	t.Helper()
	w := &world{t: t, server: local.New(config), credit: &account{room: 64 << 20}, shards: shards}
	w.client = kinesis.NewFromConfig(w.server.AWSConfig(), func(o *kinesis.Options) {
		o.HTTPClient = MeteredHTTP(w.server.HTTPClient())
		o.Protocol = wire.New(o.Protocol, wire.Auto, func(reason string) { t.Errorf("CBOR was given up: %s", reason) })
	})
	_, err := w.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String(streamName), ShardCount: aws.Int32(int32(shards)),
	})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// put writes records "key-i" with these payload sizes to the shard of the lowest hash keys and
// returns their sequence numbers.
func (w *world) put(from, n, size int) []string {
	w.t.Helper()
	var sequences []string
	for i := from; i < from+n; i++ {
		out, err := w.client.PutRecord(w.t.Context(), &kinesis.PutRecordInput{
			StreamName: aws.String(streamName), Data: make([]byte, size),
			PartitionKey: aws.String(fmt.Sprintf("key-%d", i)), ExplicitHashKey: aws.String("0"),
		})
		w.must(err)
		sequences = append(sequences, *out.SequenceNumber)
	}
	return sequences
}

func (w *world) split(shard, at string) {
	w.t.Helper()
	_, err := w.client.SplitShard(w.t.Context(), &kinesis.SplitShardInput{
		StreamName: aws.String(streamName), ShardToSplit: aws.String(shard), NewStartingHashKey: aws.String(at),
	})
	w.must(err)
}

// config is a reader's of the first shard, with the middle for every random number.
func (w *world) config(start lease.Position) Config {
	return Config{
		Stream: Stream{Name: streamName}, Shard: firstShard, Start: start, Token: 7,
		Credit: w.credit, Random: func() float64 { return 0.5 },
	}
}

// read collects what the reader tells until enough says so, and pays for it.
func (w *world) read(r *Reader, enough func(Batch, []record.Record) bool) []record.Record {
	w.t.Helper()
	var all []record.Record
	for {
		b, err := r.Next(w.t.Context())
		w.must(err)
		all = append(all, b.Records...)
		w.credit.Give(b.Size)
		if enough(b, all) {
			return all
		}
	}
}

func atEnd(b Batch, _ []record.Record) bool { return b.End }
func count(n int) func(Batch, []record.Record) bool {
	return func(_ Batch, all []record.Record) bool { return len(all) >= n }
}

func (w *world) sequences(records []record.Record) []string {
	var all []string
	for _, r := range records {
		all = append(all, r.SequenceNumber)
	}
	return all
}

func after(t *testing.T, sequence string) lease.Position {
	t.Helper()
	p, err := lease.AfterSequence(sequence, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// account is a Credit that only counts.
type account struct {
	mu    sync.Mutex
	held  int64
	takes []int64
	room  int64
	gate  chan struct{} // if set, a Take waits for it
}

func (a *account) Take(ctx context.Context, n int64) error {
	a.mu.Lock()
	gate := a.gate
	a.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held += n
	a.takes = append(a.takes, n)
	return nil
}

func (a *account) Give(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held -= n
	if a.held < 0 {
		panic("more given than taken")
	}
}

func (a *account) Room() int64 { return a.room }

func (a *account) balance() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

// hooked is an API whose calls a test can answer itself; a nil hook calls through.
type hooked struct {
	API
	iterator func(*kinesis.GetShardIteratorInput) (*kinesis.GetShardIteratorOutput, error)
	records  func(*kinesis.GetRecordsInput) (*kinesis.GetRecordsOutput, error)
	list     func(*kinesis.ListShardsInput) (*kinesis.ListShardsOutput, error)

	mu    sync.Mutex
	calls []time.Time // of GetRecords
	asked []*kinesis.GetShardIteratorInput
	limit []int32
}

func (h *hooked) GetShardIterator(ctx context.Context, in *kinesis.GetShardIteratorInput, o ...func(*kinesis.Options)) (*kinesis.GetShardIteratorOutput, error) {
	h.mu.Lock()
	h.asked = append(h.asked, in)
	h.mu.Unlock()
	if h.iterator != nil {
		if out, err := h.iterator(in); out != nil || err != nil {
			return out, err
		}
	}
	return h.API.GetShardIterator(ctx, in, o...)
}

func (h *hooked) GetRecords(ctx context.Context, in *kinesis.GetRecordsInput, o ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error) {
	h.mu.Lock()
	h.calls = append(h.calls, time.Now())
	h.limit = append(h.limit, aws.ToInt32(in.Limit))
	h.mu.Unlock()
	if h.records != nil {
		if out, err := h.records(in); out != nil || err != nil {
			return out, err
		}
	}
	return h.API.GetRecords(ctx, in, o...)
}

func (h *hooked) ListShards(ctx context.Context, in *kinesis.ListShardsInput, o ...func(*kinesis.Options)) (*kinesis.ListShardsOutput, error) {
	if h.list != nil {
		if out, err := h.list(in); out != nil || err != nil {
			return out, err
		}
	}
	return h.API.ListShards(ctx, in, o...)
}

func (h *hooked) callTimes() []time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]time.Time(nil), h.calls...)
}

func (h *hooked) iteratorTypes() []types.ShardIteratorType {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []types.ShardIteratorType
	for _, in := range h.asked {
		all = append(all, in.ShardIteratorType)
	}
	return all
}
