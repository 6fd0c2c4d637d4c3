package fetch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// answered turns an answer into a batch. all are its records; taken bytes have been taken for it.
func (r *Reader) answered(ctx context.Context, out *kinesis.GetRecordsOutput, all []record.Record, memory *record.Memory, began time.Time, taken int64) (Batch, bool, error) {
	batch, err := r.judge(out, all)
	batch.Memory = memory
	if err != nil {
		r.cfg.Credit.Give(taken)
		return r.failed(err)
	}
	if err := r.settle(ctx, taken, batch.Size); err != nil {
		if ctx.Err() != nil {
			return Batch{}, false, context.Cause(ctx)
		}
		return r.failed(fmt.Errorf("waiting for memory: %w", err))
	}
	r.learn(max(taken, batch.Size), len(all))

	// The place moves only now: a failure up to here reads the same records again.
	r.advance(all)
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

// judge makes a batch of an answer, without the records up to the place.
func (r *Reader) judge(out *kinesis.GetRecordsOutput, all []record.Record) (Batch, error) {
	if out.NextShardIterator == nil && out.MillisBehindLatest == nil && len(out.ChildShards) == 0 {
		// An empty body or "{}", as a proxy may send, decodes to this. It is not the end of the shard: an
		// answer of the service always says how far behind it is.
		return Batch{}, fmt.Errorf("shard %s: the answer has neither an iterator nor an end", r.cfg.Shard)
	}
	batch := Batch{Behind: time.Duration(max(0, aws.ToInt64(out.MillisBehindLatest))) * time.Millisecond}
	if !r.place.reached && len(all) > 0 {
		first, err := r.position(&all[0])
		if err != nil {
			return Batch{}, err
		}
		if batch.Trimmed, err = r.place.first(r.cfg.Shard, first); err != nil {
			return Batch{}, err
		}
		for len(all) > 0 {
			at, err := r.position(&all[0])
			if err != nil {
				return Batch{}, err
			}
			if !r.place.passed(at) || !r.place.told && r.place.at(at) && kpl.Check(all[0].Data, 0) == nil {
				break // for the caller to take what is left of it
			}
			all = all[1:]
		}
	}
	if len(all) == 0 {
		return batch, nil
	}
	last := &all[len(all)-1]
	if _, err := r.position(last); err != nil {
		return Batch{}, err
	}
	// The last number becomes the reader's place and, when all is handled, the checkpoint. It must not keep the
	// other records' strings in memory for as long as the shard is idle.
	last.SequenceNumber = strings.Clone(last.SequenceNumber)
	batch.Records = all
	for i := range all {
		batch.Size += all[i].Size()
		if !kpl.Is(all[i].Data) {
			continue
		}
		if kpl.Check(all[i].Data, 0) == nil {
			all[i].Aggregated = true
		} else {
			batch.Malformed++
		}
	}
	return batch, nil
}

// template is what all records of the shard have in common.
func (r *Reader) template() record.Record {
	return record.Record{Stream: r.cfg.Stream.Name, Shard: r.cfg.Shard, Token: r.cfg.Token}
}

// recordsOf makes records of what an API without wire.Protocol has answered.
func (r *Reader) recordsOf(out *kinesis.GetRecordsOutput) []record.Record {
	all := make([]record.Record, len(out.Records))
	for i, in := range out.Records {
		all[i] = r.template()
		all[i].SequenceNumber = aws.ToString(in.SequenceNumber)
		all[i].PartitionKey = aws.ToString(in.PartitionKey)
		all[i].Data = in.Data
		all[i].ArrivalTime = aws.ToTime(in.ApproximateArrivalTimestamp)
	}
	return all
}

// position is the place of a record as the service numbers it.
func (r *Reader) position(in *record.Record) (lease.Position, error) {
	p, err := lease.AfterSequence(in.SequenceNumber, 0)
	if err != nil {
		return p, fmt.Errorf("answer of shard %s: %w", r.cfg.Shard, err)
	}
	return p, nil
}

// advance moves the place to the last record that came. judge has shown that it can be read.
func (r *Reader) advance(all []record.Record) {
	if len(all) == 0 {
		return
	}
	last, _ := r.position(&all[len(all)-1])
	r.place.advance(last)
}

// dataSize is what the service counts against a shard's read quota: data and partition keys.
func dataSize(all []record.Record) int64 {
	var n int
	for i := range all {
		n += len(all[i].Data) + len(all[i].PartitionKey)
	}
	return int64(n)
}

// passed says whether a record at this position has been told already.
func (p *place) passed(at lease.Position) bool {
	_, _, known := p.after.Sequence()
	return known && at.Compare(p.after) <= 0
}

// at says whether the place lies at or in the record that ends at this position.
func (p *place) at(record lease.Position) bool {
	here, _, known := p.after.Sequence()
	there, _, _ := record.Sequence()
	return known && here == there
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
	p.reached, p.told, p.doubt = true, true, nil
}
