package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
)

// perSecond is how many records the producer puts. The busiest key stays well under the 1,000
// records a second that a shard takes.
const perSecond = 400

// producer puts the feed into the stream, one record after the other, so that a key's numbers enter in order.
type producer struct {
	client *kinesis.Client
	feed   *feed

	mu   sync.Mutex
	puts []put
}

// run puts records until ctx is done.
func (p *producer) run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		n, err := p.feed.record()
		if err != nil {
			return err
		}
		data, err := json.Marshal(n)
		if err != nil {
			return err
		}
		// Not cancelled in the middle: a record whose answer is lost could not be checked.
		out, err := p.client.PutRecord(context.WithoutCancel(ctx), &kinesis.PutRecordInput{
			StreamName: aws.String(streamName), PartitionKey: &n.Key, Data: data,
		})
		if err != nil {
			return fmt.Errorf("putting record %d of key %s: %w", n.N, n.Key, err)
		}
		p.mu.Lock()
		p.puts = append(p.puts, put{key: n.Key, n: n.N, shard: *out.ShardId, sequence: *out.SequenceNumber})
		p.mu.Unlock()
	}
}

func (p *producer) sofar() []put {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.puts
}
