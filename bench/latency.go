package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat"
)

// patience is what the process of the latency is told.
type patience struct {
	URL    string
	Bare   bool
	Poll   time.Duration
	Period time.Duration // of putting
}

// delays are what it says: from before a put to the handler, sorted.
type delays []time.Duration

func (d delays) at(share float64) float64 {
	return d[min(len(d)-1, int(share*float64(len(d))))].Seconds() * 1000
}

// latency measures how soon what is put comes to the handler.
func latency(ctx context.Context, o options) (table, error) {
	t := table{
		title:   "Put to handler, on leat local with the service's limits, one shard, a put every 20 ms on average; milliseconds",
		columns: []string{"p50", "p90", "p99", "max", "records"},
	}
	for _, c := range []struct {
		name string
		told patience
	}{
		{"leat, PollInterval 200 ms", patience{Poll: 200 * time.Millisecond}},
		{"leat, PollInterval 1 s (the default)", patience{Poll: time.Second}},
		{"bare loop, a call every 200 ms", patience{Poll: 200 * time.Millisecond, Bare: true}},
	} {
		url, stop, err := server(ctx, "local", localServer{Shards: 1})
		if err != nil {
			return t, err
		}
		c.told.URL, c.told.Period = url, 10*o.period
		d, err := measure[delays](ctx, "latency", c.told)
		if stopped := stop(); err == nil {
			err = stopped
		}
		if err != nil {
			return t, fmt.Errorf("%s: %w", c.name, err)
		}
		t.rows = append(t.rows, row{c.name, []float64{d.at(0.5), d.at(0.9), d.at(0.99), d.at(1), float64(len(d))}})
	}
	return t, nil
}

// arrivals are the records that are on their way, and how long the others took.
type arrivals struct {
	mu   sync.Mutex
	put  []time.Time // by number
	took delays
}

// send notes that a record is put now, and returns its payload: its number.
func (a *arrivals) send() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put = append(a.put, time.Now())
	return strconv.AppendInt(nil, int64(len(a.put)-1), 10)
}

func (a *arrivals) handle(data []byte) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, err := strconv.Atoi(string(data)); err == nil && n < len(a.put) {
		a.took = append(a.took, now.Sub(a.put[n]))
	}
}

func playLatency(told []byte, say func(any) error) error {
	var p patience
	if err := json.Unmarshal(told, &p); err != nil {
		return err
	}
	var a arrivals
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		if p.Bare {
			done <- p.poll(ctx, &a)
			return
		}
		cfg := worker(p.URL, func(r *leat.Record) { a.handle(r.Data) })
		cfg.PollInterval = p.Poll
		done <- leat.Run(ctx, cfg)
	}()
	if err := wait(done, warmUp); err != nil {
		return err
	}
	client := bareClient(p.URL)
	for began := time.Now(); time.Since(began) < p.Period; {
		_, err := client.PutRecord(ctx, &kinesis.PutRecordInput{StreamName: aws.String(streamName), PartitionKey: aws.String("key"), Data: a.send()})
		if err != nil {
			return err
		}
		if err := wait(done, time.Duration(rand.ExpFloat64()*float64(20*time.Millisecond))); err != nil {
			return err
		}
	}
	if err := wait(done, 2*p.Poll+time.Second); err != nil {
		return err
	}
	cancel()
	if err := <-done; err != nil {
		return err
	}
	if len(a.took) < len(a.put) || len(a.took) == 0 {
		return fmt.Errorf("%d records of %d have come", len(a.took), len(a.put))
	}
	slices.Sort(a.took)
	return say(a.took)
}

// poll is the bare loop at the tip of the shard.
func (p patience) poll(ctx context.Context, a *arrivals) error {
	client := bareClient(p.URL)
	opened, err := client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
		StreamName: aws.String(streamName), ShardId: aws.String(shardID), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		return err
	}
	for at := opened.ShardIterator; ; {
		next := time.Now().Add(p.Poll)
		answer, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: at, Limit: aws.Int32(maxRecords)})
		var throttled *types.ProvisionedThroughputExceededException
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			for i := range answer.Records {
				a.handle(answer.Records[i].Data)
			}
			at = answer.NextShardIterator
		case !errors.As(err, &throttled):
			return err
		}
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return nil
		}
	}
}
