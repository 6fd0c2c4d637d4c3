package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/wire"
)

// step makes one call: for an iterator if there is none, else for records. tell says whether there
// is something for the caller of Next.
func (r *Reader) step(ctx context.Context) (batch Batch, tell bool, err error) {
	if r.iterator == "" {
		return r.open(ctx)
	}
	if err := r.waitForRoom(ctx); ctx.Err() != nil {
		return Batch{}, false, context.Cause(ctx)
	} else if err != nil {
		return r.failed(fmt.Errorf("waiting for memory: %w", err))
	}
	limit := r.limit()
	account := &meter{credit: r.cfg.Credit, limit: int(limit), waiting: r.waiting}
	into := &wire.Batch{Template: r.template()}
	began := time.Now()
	r.status.set("reading", time.Time{})
	out, err := r.api.GetRecords(wire.WithBatch(context.WithValue(ctx, meterKey{}, account), into), &kinesis.GetRecordsInput{
		ShardIterator: aws.String(r.iterator),
		StreamARN:     r.cfg.Stream.arn(),
		Limit:         aws.Int32(limit),
	}, once)
	taken := account.close()
	all := into.Records
	if err == nil && !into.Filled {
		all = r.recordsOf(out)
	}
	r.reads = r.reads.Charge(began, dataSize(all))
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, wire.ErrNoCBOR):
		err = nil // the next call is made in JSON, and this one tells nothing about the shard
	case err != nil:
		batch, tell, err = r.failed(err)
	default:
		return r.answered(ctx, out, all, into.Memory, began, taken)
	}
	// Whatever ended the call: no record of it is kept, nor a byte.
	r.cfg.Credit.Give(taken)
	return batch, tell, err
}

// waitForRoom waits until another answer like the last one would find room, and keeps none of it. To
// ask before that would only leave an answer, and its connection, standing at the door.
func (r *Reader) waitForRoom(ctx context.Context) error {
	n := min(r.lastTaken, r.cfg.Credit.Room())
	if n <= 0 {
		return nil
	}
	r.waiting(true)
	err := r.cfg.Credit.Take(ctx, n)
	if err == nil {
		r.cfg.Credit.Give(n)
	}
	return err
}

func (r *Reader) waiting(yes bool) {
	if yes {
		r.status.set("waiting for memory: unhandled records fill the byte budget", time.Time{})
	} else {
		r.status.set("reading", time.Time{})
	}
}

// unknownRecord is the size that a record is taken for before the first has been seen: large, so
// that the first answer is small rather than too large.
const unknownRecord = 256 << 10

// limit is how many records to ask for: as many as probably fit.
func (r *Reader) limit() int32 {
	size := r.perRecord
	if size == 0 {
		size = unknownRecord
	}
	return int32(max(1, min(maxRecords, r.cfg.Credit.Room()/size)))
}

// learn keeps an average of what a record costs. It rises at once and falls slowly: too small a
// guess overruns the budget, too large a one only costs a call.
func (r *Reader) learn(taken int64, records int) {
	r.lastTaken = taken
	if records == 0 || taken == 0 {
		return
	}
	size := max(1, taken/int64(records))
	if r.perRecord == 0 || size > r.perRecord {
		r.perRecord = size
	} else {
		r.perRecord -= (r.perRecord - size) / 4
	}
}

// open gets an iterator at the place.
func (r *Reader) open(ctx context.Context) (Batch, bool, error) {
	began := time.Now()
	r.status.set("opening the shard", time.Time{})
	out, err := r.api.GetShardIterator(ctx, r.place.iterator(r.cfg.Stream, r.cfg.Shard), once)
	r.opens = r.opens.Charge(began, 0)
	switch {
	case ctx.Err() != nil:
		return Batch{}, false, context.Cause(ctx)
	case err == nil && aws.ToString(out.ShardIterator) == "":
		err = fmt.Errorf("the answer has no iterator")
	}
	if err != nil {
		return r.refused(err)
	}
	date, _ := middleware.GetServerTime(out.ResultMetadata)
	r.place.opened(date)
	r.iterator = *out.ShardIterator
	return Batch{}, false, nil
}

// refused handles the error of an open: a place that the service does not accept is looked at from
// the horizon. It is failed for all else.
func (r *Reader) refused(err error) (Batch, bool, error) {
	kind, _ := classify(err)
	_, _, sequence := r.place.after.Sequence()
	_, timestamp := r.place.after.Timestamp()
	switch {
	case kind == invalid && sequence && r.place.doubt == nil:
		r.place.doubt = err
		return Batch{}, false, nil
	case kind == invalid && timestamp:
		err = &PositionError{Shard: r.cfg.Shard, Position: r.place.after.String(), Err: err}
	}
	return r.failed(err)
}

// end is the batch of a shard that is known to be finished.
func (r *Reader) end() Batch {
	r.ended, r.iterator = true, ""
	r.status.succeeded(0)
	r.status.set("read to its end", time.Time{})
	return Batch{End: true}
}

// failed sorts an error and sets the pause before the next try. It returns an error only where the
// caller has to act.
func (r *Reader) failed(err error) (Batch, bool, error) {
	if wrong := (*PositionError)(nil); errors.As(err, &wrong) {
		r.status.failed(time.Now())
		r.close()
		r.place.doubt = nil // ask again: somebody may have put the stream right
		r.park(deniedRetry, err.Error())
		return Batch{}, false, err
	}
	kind, code := classify(err)
	if kind == ended {
		// Nothing can come after the place: the shard is finished (hazard H13). Its children were
		// not told; the caller lists them.
		r.well(0)
		return r.end(), true, nil
	}
	r.failures++
	r.status.failed(time.Now())
	pause := backoff(r.failures, r.cfg.Random())
	if kind != denied && r.noticed == "" && r.status.stalled(time.Now()) >= stalledAfter {
		r.noticed = "stalled"
		r.cfg.Notice(Notice{Shard: r.cfg.Shard, Err: err, Passing: true})
	}
	switch kind {
	case throttled:
		r.park(pause, "throttled ("+code+")")
	case denied:
		if r.noticed != code {
			r.noticed = code
			r.cfg.Notice(Notice{Shard: r.cfg.Shard, Err: err})
		}
		r.park(deniedRetry, fmt.Sprintf("access denied, tried again each minute: %v", err))
	case missing:
		r.close()
		r.park(pause, fmt.Sprintf("the service knows no such stream or shard: %v", err))
		return Batch{}, false, fmt.Errorf("reading shard %s of %s: %w: %w", r.cfg.Shard, r.cfg.Stream, ErrMissing, err)
	case expired, invalid:
		// The iterator has outlived its five minutes, with a slow handler perhaps: a new one starts
		// at the last record that came.
		r.close()
		fallthrough
	default:
		r.park(pause, fmt.Sprintf("failing: %v", err))
	}
	return Batch{}, false, nil
}

// park puts the next call off.
func (r *Reader) park(pause time.Duration, why string) {
	r.pause = time.Now().Add(pause)
	r.status.set(why, r.pause)
}

// close forgets the iterator; the next one starts at the last record that came.
func (r *Reader) close() {
	r.iterator = ""
	r.place.reopen()
}

// well notes that a call succeeded.
func (r *Reader) well(behind time.Duration) {
	r.failures = 0
	r.status.succeeded(behind)
	if r.noticed != "" {
		r.noticed = ""
		r.cfg.Notice(Notice{Shard: r.cfg.Shard})
	}
}

// again sets the time of the next call: at once while behind, within the quota; at the tip after the
// poll interval, with 5 % of jitter. When a reader has come to the tip, it is any part of the interval from when the quota
// allows: shards that were opened together, or have caught up together, would else poll together for minutes, since jitter
// takes long to part them.
func (r *Reader) again(began time.Time, behind time.Duration) {
	if behind > 0 {
		r.pause = time.Time{}
		return
	}
	share := 0.95 + 0.1*r.cfg.Random()
	if r.told != 0 { // the answer before was not from the tip, or there was none
		began, share = began.Add(r.reads.Wait(began)), r.cfg.Random()
	}
	r.pause = began.Add(time.Duration(share * float64(r.cfg.PollInterval)))
	r.status.set("waiting for the poll interval", time.Time{})
}
