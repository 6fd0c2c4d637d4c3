package fetch

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// answered turns an answer into a batch. taken bytes have been taken for it.
func (r *Reader) answered(ctx context.Context, out *kinesis.GetRecordsOutput, began time.Time, taken int64) (Batch, bool, error) {
	batch, err := r.decode(out)
	if err != nil {
		r.cfg.Credit.Give(taken)
		return r.failed(err)
	}
	if err := r.settle(ctx, taken, batch.Size); ctx.Err() != nil {
		return Batch{}, false, context.Cause(ctx)
	} else if err != nil {
		return r.failed(fmt.Errorf("waiting for memory: %w", err))
	}
	r.learn(max(taken, batch.Size), len(out.Records))

	// The place moves only now: a failure up to here reads the same records again.
	r.advance(out.Records)
	r.iterator = aws.ToString(out.NextShardIterator)
	r.well(batch.Behind)
	if r.iterator == "" {
		// The end counts after the records of its own answer (hazard H3).
		batch.End, r.ended = true, true
		batch.Children = children(r.cfg.Shard, out.ChildShards)
		if batch.Trimmed == nil {
			batch.Trimmed = r.place.atEnd()
		}
		r.status.set("read to its end", time.Time{})
	} else {
		r.again(began, batch.Behind)
	}
	tell := len(batch.Records) > 0 || batch.End || batch.Trimmed != nil || batch.Behind != r.told
	if tell {
		r.told = batch.Behind
	}
	return batch, tell, nil
}

// settle brings what was taken for the answer to what its records pin. More is needed only where no
// meter is at work: an API without MeteredHTTP.
func (r *Reader) settle(ctx context.Context, taken, size int64) error {
	if size <= taken {
		r.cfg.Credit.Give(taken - size)
		return nil
	}
	r.cfg.Credit.Give(taken)
	return r.cfg.Credit.Take(ctx, size)
}

// decode makes records of an answer, without those up to the place.
func (r *Reader) decode(out *kinesis.GetRecordsOutput) (Batch, error) {
	if out.NextShardIterator == nil && out.MillisBehindLatest == nil && len(out.ChildShards) == 0 {
		// An empty body or "{}", as a proxy may send, decodes to this. It is not the end of the shard: an
		// answer of the service always says how far behind it is.
		return Batch{}, fmt.Errorf("shard %s: the answer has neither an iterator nor an end", r.cfg.Shard)
	}
	batch := Batch{
		Behind:  time.Duration(max(0, aws.ToInt64(out.MillisBehindLatest))) * time.Millisecond,
		Rewinds: r.seen,
	}
	answer := out.Records
	if !r.place.reached && len(answer) > 0 {
		first, err := position(answer[0].SequenceNumber)
		if err != nil {
			return Batch{}, fmt.Errorf("answer of shard %s: %w", r.cfg.Shard, err)
		}
		if batch.Trimmed, err = r.place.first(r.cfg.Shard, first); err != nil {
			return Batch{}, err
		}
		for len(answer) > 0 {
			at, err := position(answer[0].SequenceNumber)
			if err != nil {
				return Batch{}, fmt.Errorf("answer of shard %s: %w", r.cfg.Shard, err)
			}
			if !r.place.passed(at) {
				break
			}
			answer = answer[1:]
		}
	}
	if len(answer) == 0 {
		return batch, nil
	}
	if _, err := position(answer[len(answer)-1].SequenceNumber); err != nil {
		return Batch{}, fmt.Errorf("answer of shard %s: %w", r.cfg.Shard, err)
	}
	batch.Records = make([]record.Record, len(answer))
	for i := range answer {
		batch.Records[i] = r.record(&answer[i])
		batch.Size += batch.Records[i].Size()
	}
	return batch, nil
}

func (r *Reader) record(in *types.Record) record.Record {
	return record.Record{
		Stream:         r.cfg.Stream.Name,
		Shard:          r.cfg.Shard,
		SequenceNumber: aws.ToString(in.SequenceNumber),
		PartitionKey:   aws.ToString(in.PartitionKey),
		Data:           in.Data,
		ArrivalTime:    aws.ToTime(in.ApproximateArrivalTimestamp),
		Token:          r.cfg.Token,
	}
}

// advance moves the place to the last record that came. decode has shown that it can be read.
func (r *Reader) advance(answer []types.Record) {
	if len(answer) == 0 {
		return
	}
	last, _ := position(answer[len(answer)-1].SequenceNumber)
	r.place.advance(last)
}

// dataSize is what the service counts against a shard's read quota: data and partition keys.
func dataSize(out *kinesis.GetRecordsOutput) int64 {
	var n int
	for i := range out.Records {
		n += len(out.Records[i].Data) + len(aws.ToString(out.Records[i].PartitionKey))
	}
	return int64(n)
}

// passed says whether a record at this position has been told already.
func (p *place) passed(at lease.Position) bool {
	_, _, known := p.after.Sequence()
	return known && at.Compare(p.after) <= 0
}

// advance notes that all records up to last have come.
func (p *place) advance(last lease.Position) {
	was, _, known := p.after.Sequence()
	now, _, _ := last.Sequence()
	if !known || last.Compare(p.after) > 0 {
		p.after = last
	} else if now != was {
		return // only records older than the place so far
	}
	p.reached, p.doubt = true, nil
}
