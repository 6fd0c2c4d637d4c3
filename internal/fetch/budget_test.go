package fetch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/internal/wire"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// consumer is one shard's way from the reader to a handler, as the engine builds it: a queue whose
// tail the budget may drop.
type consumer struct {
	reader *fetch.Reader
	share  *dispatch.Share
	start  lease.Position
	handle func(*record.Record)

	mu      sync.Mutex
	queue   []record.Record
	running lease.Position  // of the record handed out last
	rewind  *lease.Position // the reader is to go back to it
	drops   int
	more    chan struct{}
}

// drop forgets records from the tail and sends the reader back to the last one that stays.
func (c *consumer) drop(want int64) (freed int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 && freed < want {
		freed += c.queue[len(c.queue)-1].Size()
		c.queue = c.queue[:len(c.queue)-1]
	}
	if freed == 0 {
		return 0
	}
	c.drops++
	last := c.running
	if n := len(c.queue); n > 0 {
		last, _ = c.queue[n-1].Position()
	}
	c.rewind = &last
	return freed
}

func (c *consumer) read(ctx context.Context) {
	for {
		c.mu.Lock()
		if c.rewind != nil {
			c.reader.Rewind(*c.rewind)
			c.rewind = nil
		}
		c.mu.Unlock()
		b, err := c.reader.Next(ctx)
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.rewind != nil { // what comes before these was dropped meanwhile
			c.share.Give(b.Size)
		} else {
			c.queue = append(c.queue, b.Records...)
		}
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
	}
}

func (c *consumer) work(ctx context.Context) {
	for {
		c.mu.Lock()
		var next *record.Record
		if len(c.queue) > 0 {
			next = &c.queue[0]
			c.queue = c.queue[1:]
			c.running, _ = next.Position()
		}
		c.mu.Unlock()
		if next == nil {
			select {
			case <-c.more:
				continue
			case <-ctx.Done():
				return
			}
		}
		c.handle(next)
		c.share.Give(next.Size())
		if ctx.Err() != nil {
			return
		}
	}
}

// TestBudgetBoundsReaders: sixteen shards of 3 MiB each through a budget of 4 MiB, the handlers of five of
// them stuck. The others are read to their end, in order and without a gap, in about the time that
// their quota needs; the bound holds; at the end no byte is held.
func TestBudgetBoundsReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			shards  = 16
			stuck   = 5
			records = 48
			size    = 64 << 10
			bound   = 4 << 20
		)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		server := local.New(local.Config{})
		client := kinesis.NewFromConfig(server.AWSConfig(), func(o *kinesis.Options) {
			o.HTTPClient = fetch.MeteredHTTP(server.HTTPClient())
			o.Protocol = wire.New(o.Protocol, wire.Auto, nil)
		})
		name := aws.String("orders")
		if _, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: name, ShardCount: aws.Int32(shards)}); err != nil {
			t.Fatal(err)
		}
		listed, err := fetch.List(ctx, client, fetch.Stream{Name: "orders"}, nil)
		if err != nil || len(listed) != shards {
			t.Fatal(len(listed), err)
		}
		for i := range records {
			for _, s := range listed {
				if _, err := client.PutRecord(ctx, &kinesis.PutRecordInput{StreamName: name, Data: make([]byte, size),
					PartitionKey: aws.String(fmt.Sprint(i)), ExplicitHashKey: aws.String(s.HashRange.Start)}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
		}

		budget := dispatch.NewBudget(bound)
		began := time.Now()
		release := make(chan struct{})
		var group, working sync.WaitGroup
		var consumers []*consumer
		for i, s := range listed {
			c := &consumer{start: lease.TrimHorizon(), more: make(chan struct{}, 1)}
			c.share = budget.Shard(c.drop)
			next := 0
			if i >= stuck {
				working.Add(1)
			}
			c.handle = func(r *record.Record) {
				if i < stuck {
					<-release
				}
				if r.PartitionKey != fmt.Sprint(next) {
					t.Errorf("shard %d: record %s came after %d", i, r.PartitionKey, next-1)
				}
				time.Sleep(200 * time.Millisecond)
				if next++; next == records && i >= stuck {
					working.Done()
				}
			}
			c.reader = fetch.NewReader(client, fetch.Config{Stream: fetch.Stream{Name: "orders"}, Shard: s.ID, Credit: c.share})
			group.Go(func() { c.read(ctx) })
			group.Go(func() { c.work(ctx) })
			consumers = append(consumers, c)
			if i == stuck-1 { // those that will be stuck fill all that they can get
				time.Sleep(20 * time.Second)
				began = time.Now()
			}
		}
		working.Wait()
		took := time.Since(began)
		drops := 0
		for _, c := range consumers {
			drops += c.drops
		}
		t.Logf("took %v, peak %d of %d bytes, %d tails dropped", took, budget.Peak(), bound, drops)
		if drops == 0 {
			t.Error("no tail was dropped")
		}
		if took > 40*time.Second {
			t.Errorf("the shards that work took %v", took)
		}
		if budget.Peak() > bound {
			t.Errorf("peak %d", budget.Peak())
		}
		time.Sleep(30 * time.Second) // the stuck ones have filled up again
		for i, c := range consumers {
			if s := c.reader.Status(); i < stuck && !strings.HasPrefix(s, "waiting for memory") {
				t.Errorf("stuck shard %d: %q", i, s)
			}
		}
		close(release)
		time.Sleep(time.Minute)
		held := budget.Used()
		if held != 0 {
			t.Errorf("%d bytes are held when all is handled", held)
		}
		cancel()
		group.Wait()
	})
}
