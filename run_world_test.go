package leat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/memory"
)

// river is a stream, a lease store and what the handlers of a group did, all in one bubble.
type river struct {
	t      *testing.T
	server *local.Server
	client *kinesis.Client
	store  *memory.Store
	began  time.Time

	mu    sync.Mutex
	puts  map[string]int // records, by key
	calls []*call        // in the order of their starts
}

// call is one call of a handler.
type call struct {
	worker, shard, key string
	n                  int // which record of its key, from 1
	sequence           string
	token              int64
	attempt            int
	start, end         time.Time // end is zero while it runs
	err                error
}

const riverName = "orders"

func newRiver(t *testing.T, config local.Config, shards int32) *river {
	r := &river{t: t, server: local.New(config), store: memory.New(), began: time.Now(), puts: map[string]int{}}
	r.client = kinesis.NewFromConfig(r.server.AWSConfig(), func(o *kinesis.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.RateLimiter = 50, ratelimit.None })
	})
	r.create(shards)
	return r
}

func (r *river) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *river) create(shards int32) {
	r.t.Helper()
	_, err := r.client.CreateStream(r.t.Context(), &kinesis.CreateStreamInput{StreamName: aws.String(riverName), ShardCount: aws.Int32(shards)})
	r.must(err)
}

func (r *river) drop() {
	r.t.Helper()
	_, err := r.client.DeleteStream(r.t.Context(), &kinesis.DeleteStreamInput{StreamName: aws.String(riverName)})
	r.must(err)
}

// put writes the next record of a key.
func (r *river) put(key string, size int) {
	r.t.Helper()
	r.mu.Lock()
	r.puts[key]++
	data := fmt.Appendf(nil, "%s %d", key, r.puts[key])
	r.mu.Unlock()
	_, err := r.client.PutRecord(r.t.Context(), &kinesis.PutRecordInput{
		StreamName: aws.String(riverName), PartitionKey: aws.String(key), Data: append(data, make([]byte, size)...),
	})
	r.must(err)
}

// putMany writes the next record of each of at most 500 keys, in one call.
func (r *river) putMany(keys []string, size int) {
	r.t.Helper()
	in := &kinesis.PutRecordsInput{StreamName: aws.String(riverName)}
	r.mu.Lock()
	for _, key := range keys {
		r.puts[key]++
		in.Records = append(in.Records, types.PutRecordsRequestEntry{
			PartitionKey: aws.String(key), Data: append(fmt.Appendf(nil, "%s %d", key, r.puts[key]), make([]byte, size)...),
		})
	}
	r.mu.Unlock()
	out, err := r.client.PutRecords(r.t.Context(), in)
	r.must(err)
	if *out.FailedRecordCount != 0 {
		r.t.Fatalf("%d records were not taken", *out.FailedRecordCount)
	}
}

// fill writes n records to each of so many keys, with a pause after each round.
func (r *river) fill(keys, n int, pause time.Duration) {
	r.t.Helper()
	for range n {
		for k := range keys {
			r.put(fmt.Sprintf("key-%d", k), 0)
		}
		time.Sleep(pause)
	}
}

// note is a handler that only keeps the books, around what does the work.
func (r *river) note(worker string, work func(context.Context, *Record) error) HandlerFunc {
	return func(ctx context.Context, record *Record) error {
		c := &call{
			worker: worker, shard: record.Shard, key: record.PartitionKey, sequence: record.SequenceNumber,
			token: record.Token, attempt: record.Attempt, start: time.Now(),
		}
		fmt.Sscan(strings.TrimPrefix(string(record.Data), record.PartitionKey), &c.n)
		r.mu.Lock()
		r.calls = append(r.calls, c)
		r.mu.Unlock()
		err := errUnfinished // stays so if the work panics
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			c.end, c.err = time.Now(), err
		}()
		if work == nil {
			err = nil
		} else {
			err = work(ctx, record)
		}
		return err
	}
}

var errUnfinished = errors.New("the handler has not returned")

// log returns the calls so far that the filter lets through.
func (r *river) log(keep func(call) bool) (calls []call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if keep == nil || keep(*c) {
			calls = append(calls, *c)
		}
	}
	return calls
}

func (r *river) count() int { return len(r.log(nil)) }

func since(at time.Time) func(call) bool { return func(c call) bool { return !c.start.Before(at) } }
func byWorker(name string) func(call) bool {
	return func(c call) bool { return c.worker == name }
}

// judge holds the calls against the promises: every record was handled, the records of a key one at a
// time and without a gap, a record that was handled is only repeated in runs of which there may be so many for
// a key, and tokens never go back.
func (r *river) judge(replays int) (repeats int) {
	r.t.Helper()
	last, highest, replayed := map[string]int{}, map[string]int{}, map[string]int{}
	running, tokens := map[string]call{}, map[string]int64{}
	for _, c := range r.log(nil) {
		if before, ok := running[c.key]; ok && (before.end.IsZero() || c.start.Before(before.end)) {
			r.t.Errorf("%s: record %d is started while %d is being handled", c.key, c.n, before.n)
		}
		if c.token < tokens[c.shard] {
			r.t.Errorf("%s: token %d after %d", c.shard, c.token, tokens[c.shard])
		}
		running[c.key], tokens[c.shard] = c, c.token
		switch {
		case c.n == last[c.key]+1:
		case c.n <= highest[c.key]+1 && replayed[c.key] < replays && c.n <= last[c.key]:
			replayed[c.key]++
		default:
			r.t.Errorf("%s: record %d (worker %s, attempt %d, at %v) after %d", c.key, c.n, c.worker, c.attempt, c.start.Sub(r.began), last[c.key])
		}
		if c.n <= highest[c.key] {
			repeats++
		}
		if c.err != nil {
			last[c.key] = c.n - 1 // it is to come again
			continue
		}
		last[c.key] = c.n
		highest[c.key] = max(highest[c.key], c.n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, n := range r.puts {
		if highest[key] != n {
			r.t.Errorf("%s: handled up to %d of %d", key, highest[key], n)
		}
	}
	return repeats
}

// leases returns the group's lease items by shard.
func (r *river) leases() map[string]lease.Item {
	r.t.Helper()
	items := map[string]lease.Item{}
	for item, err := range r.store.Leases(r.t.Context(), "billing", riverName) {
		r.must(err)
		items[item.Key.Shard] = item
	}
	return items
}

// worker is a Consumer that runs, and its line to the store.
type worker struct {
	*Consumer
	line   *line
	cancel context.CancelFunc
	done   chan struct{}
	err    error

	mu     sync.Mutex
	events []Event
}

// prepare makes a worker. work is what its handler does beside keeping the books.
func (r *river) prepare(name string, work func(context.Context, *Record) error, change ...func(*Config)) *worker {
	r.t.Helper()
	w := &worker{line: &line{Store: r.store}, done: make(chan struct{})}
	aws := r.server.AWSConfig()
	cfg := Config{
		Group: "billing", Stream: riverName, Worker: name, AWS: &aws, Store: w.line,
		Handler: r.note(name, work), Logger: slog.New(slog.DiscardHandler),
		Events: func(ev Event) { w.mu.Lock(); w.events = append(w.events, ev); w.mu.Unlock() },
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	r.must(err)
	c.clock = func() lease.Time { return lease.Time(time.Hour).Add(time.Since(r.began)) }
	w.Consumer = c
	return w
}

// start runs a worker.
func (r *river) start(name string, work func(context.Context, *Record) error, change ...func(*Config)) *worker {
	r.t.Helper()
	w := r.prepare(name, work, change...)
	r.launch(w)
	return w
}

func (r *river) launch(w *worker) {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	r.t.Cleanup(cancel) // of a test that has failed: else the bubble waits for ever
	go func() {
		defer close(w.done)
		w.err = w.Run(ctx)
	}()
}

// stop ends Run in order and returns what it returned.
func (w *worker) stop() error {
	w.cancel()
	<-w.done
	return w.err
}

// told returns the events of these kinds so far.
func (w *worker) told(about ...EventKind) (told []Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		if slices.Contains(about, ev.Kind) {
			told = append(told, ev)
		}
	}
	return told
}

// kinds returns the kinds of the events so far.
func (w *worker) kinds(about ...EventKind) (kinds []EventKind) {
	for _, ev := range w.told(about...) {
		kinds = append(kinds, ev.Kind)
	}
	return kinds
}

// line is a worker's way to the store: it can be cut. Then calls hang until their context ends.
type line struct {
	lease.Store
	mu  sync.Mutex
	cut bool
}

func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

func (l *line) pass(ctx context.Context) error {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if !cut {
		return nil
	}
	<-ctx.Done()
	return errors.New("the line is cut")
}

func (l *line) Members(ctx context.Context, group string, consistent bool) ([]lease.Item, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	return l.Store.Members(ctx, group, consistent)
}

func (l *line) Leases(ctx context.Context, group, stream string) iter.Seq2[lease.Item, error] {
	if err := l.pass(ctx); err != nil {
		return func(yield func(lease.Item, error) bool) { yield(lease.Item{}, err) }
	}
	return l.Store.Leases(ctx, group, stream)
}

func (l *line) Get(ctx context.Context, group string, key lease.Key) (lease.Item, error) {
	if err := l.pass(ctx); err != nil {
		return lease.Item{}, err
	}
	return l.Store.Get(ctx, group, key)
}

func (l *line) Write(ctx context.Context, group string, w lease.Write) (lease.Item, error) {
	if err := l.pass(ctx); err != nil {
		return lease.Item{}, err
	}
	return l.Store.Write(ctx, group, w)
}

// elapse lets virtual time pass, and what is due then happen.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// bubble is a test on virtual time, beside the others.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}
