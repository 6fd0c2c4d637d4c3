package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/internal/kpl"
)

// The most that one request takes (Kinesis API reference, PutRecords).
const (
	maxBatch      = 500
	maxBatchBytes = 10 << 20
)

// The most that waits to be put. It is more than a batch, so that a batch finds other keys than
// those that are waiting.
const (
	maxPending      = 5000
	maxPendingBytes = 2 * maxBatchBytes
)

// Failures are tried again with pauses from retryBase, doubling to retryCap, each by chance between
// none and all of it. If nothing could be put for giveUp, put fails.
const (
	retryBase = 100 * time.Millisecond
	retryCap  = 5 * time.Second
	giveUp    = time.Minute
)

// requestTimeout bounds a request, the SDK's own tries included.
const requestTimeout = 30 * time.Second

// putAPI is the part of Kinesis that a putter calls: *kinesis.Client has it.
type putAPI interface {
	PutRecords(context.Context, *kinesis.PutRecordsInput, ...func(*kinesis.Options)) (*kinesis.PutRecordsOutput, error)
}

// putter puts entries into a stream, in the order of each key.
//
// A request can fail for one of its records and succeed for a later one. So a request holds at most one
// record of a key, the oldest that is not put yet, and there is one request at a time: a record that
// failed stays where it is in the queue, and no later one of its key can overtake it. With
// unordered, keys are not looked at.
//
// With list it aggregates: a request holds at most one record of a shard, with many entries.
type putter struct {
	api       putAPI
	stream    string
	hashKey   *string
	unordered bool
	rate      float64 // entries a second; 0: no limit
	list      func(context.Context) (*shardMap, error)

	shards  *shardMap // with list
	pending []entry   // in the order of the input
	size    int       // of pending, in bytes

	failures int       // requests in a row that put nothing
	failing  time.Time // when the first of them failed
	due      time.Time // no request before, by rate

	records, bytes, retried int64 // put; tried again
}

// full says whether the queue takes no more.
func (p *putter) full() bool { return len(p.pending) >= maxPending || p.size >= maxPendingBytes }

func (p *putter) add(e entry) {
	if p.list != nil {
		e.hash, _ = kpl.HashKeyOf(e.key, aws.ToString(p.hashKey)) // the flag was checked
	}
	p.pending = append(p.pending, e)
	p.size += e.size()
}

// parcel is a record of a request.
type parcel struct {
	record  types.PutRecordsRequestEntry
	entries []int  // of pending
	shard   string // that an aggregated record is for; empty for a plain one
}

func (p *putter) plain(i int) parcel {
	e := &p.pending[i]
	return parcel{types.PutRecordsRequestEntry{PartitionKey: aws.String(e.key), Data: e.data, ExplicitHashKey: p.hashKey}, []int{i}, ""}
}

// most is how many entries a request may have by the rate.
func (p *putter) most() int {
	if p.rate > 0 {
		return max(1, int(p.rate/10)) // ten requests a second keep an even rate
	}
	return math.MaxInt
}

// batch chooses what goes into the next request.
func (p *putter) batch() []parcel {
	if p.list != nil {
		return p.aggregates()
	}
	most := min(maxBatch, p.most())
	var chosen []parcel
	taken := map[string]bool{} // keys that have a record in the request, or one that stays behind
	size := 0
	for i, e := range p.pending {
		if len(chosen) == most {
			break
		}
		if !p.unordered {
			if taken[e.key] {
				continue
			}
			taken[e.key] = true
		}
		if size+e.size() > maxBatchBytes {
			break
		}
		chosen = append(chosen, p.plain(i))
		size += e.size()
	}
	return chosen
}

// send makes one request, and pauses if it failed. It returns an error if trying again is no use.
func (p *putter) send(ctx context.Context) error {
	chosen := p.batch()
	in := &kinesis.PutRecordsInput{}
	target(p.stream, &in.StreamName, &in.StreamARN)
	entries := 0
	for _, c := range chosen {
		in.Records = append(in.Records, c.record)
		entries += len(c.entries)
	}
	if err := p.keepRate(ctx, entries); err != nil {
		return err
	}
	// A request that is under way is not broken off by an interruption: what became of it would not be
	// known.
	calling, done := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	out, err := p.api.PutRecords(calling, in)
	done()
	p.retried += int64(entries) * resent(out, err)
	if err != nil {
		if !passing(err) {
			return fmt.Errorf("putting into %s: %w", p.stream, err)
		}
		p.retried += int64(entries)
		return p.pause(ctx, err)
	}
	var failed error
	var put []int
	for n, r := range out.Records[:min(len(chosen), len(out.Records))] {
		if aws.ToString(r.ErrorCode) != "" {
			failed = fmt.Errorf("%s: %s", aws.ToString(r.ErrorCode), aws.ToString(r.ErrorMessage))
			continue
		}
		landed, unsure := p.landed(ctx, chosen[n], aws.ToString(r.ShardId))
		put = append(put, landed...)
		err = cmp.Or(err, unsure)
	}
	slices.Sort(put)
	p.remove(put)
	if len(put) > 0 {
		p.failures = 0
	}
	if err != nil || len(put) == entries {
		return err
	}
	p.retried += int64(entries - len(put))
	return p.pause(ctx, failed)
}

// resent is how often the SDK itself has sent the request again.
func resent(out *kinesis.PutRecordsOutput, err error) int64 {
	if spent, ok := errors.AsType[*retry.MaxAttemptsError](err); ok {
		return int64(spent.Attempt - 1)
	}
	if out == nil {
		return 0
	}
	attempts, _ := retry.GetAttemptResults(out.ResultMetadata)
	return max(0, int64(len(attempts.Results)-1))
}

// remove takes what was put out of the queue. The rest keeps its order.
func (p *putter) remove(put []int) {
	for _, i := range put {
		p.records++
		p.bytes += int64(len(p.pending[i].data))
		p.size -= p.pending[i].size()
	}
	kept := p.pending[:0]
	for i, e := range p.pending {
		if len(put) > 0 && put[0] == i {
			put = put[1:]
			continue
		}
		kept = append(kept, e)
	}
	clear(p.pending[len(kept):])
	p.pending = kept
}

// pause waits before the next try.
func (p *putter) pause(ctx context.Context, reason error) error {
	if p.failures == 0 {
		p.failing = time.Now()
	}
	if time.Since(p.failing) > giveUp {
		return fmt.Errorf("putting into %s: nothing could be put for %v: %w", p.stream, giveUp, reason)
	}
	most := min(retryCap, retryBase<<min(p.failures, 10))
	p.failures++
	return wait(ctx, time.Duration(rand.Float64()*float64(most)))
}

// keepRate waits until n more records are due.
func (p *putter) keepRate(ctx context.Context, n int) error {
	if p.rate <= 0 {
		return nil
	}
	now := time.Now()
	if p.due.Before(now) {
		p.due = now // what was not used is not saved up
	}
	due := p.due
	p.due = due.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return wait(ctx, due.Sub(now))
}

// wait returns ctx's cause once ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// passing says whether a failed request may succeed later: throttling, trouble of the service or of the
// network. All else is the request's own fault.
func passing(err error) bool {
	code := apiCode(err)
	return code == "" || slices.Contains([]string{
		"ProvisionedThroughputExceededException", "LimitExceededException", "ThrottlingException",
		"KMSThrottlingException", "RequestLimitExceeded", "ResourceInUseException",
		"InternalFailure", "InternalFailureException", "ServiceUnavailable", "ServiceUnavailableException",
	}, code)
}

// target sets a request's stream by name or ARN.
func target(stream string, name, arn **string) {
	if len(stream) > 4 && stream[:4] == "arn:" {
		*arn = &stream
		return
	}
	*name = &stream
}
