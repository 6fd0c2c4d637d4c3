package fetch

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/lease"
)

// place is where a reader is: plain state, without IO.
type place struct {
	after lease.Position // everything up to here has been told

	// told says that all of the record at after has been told by this reader. If not, somebody else says that he knows
	// what is up to there, and there may be more in it: it may be an aggregated record.
	told bool

	// reached says that a record has come since the place was last opened, so that after is a record
	// just read and the stream runs on from it. Until then the records up to after are dropped, and the
	// first that comes shows whether something was trimmed.
	reached bool

	// doubt is why the service refused after as a place to read from. The reader then reads from the horizon,
	// and the first record decides: if it comes after the place, the place was trimmed; else the
	// service and the checkpoint disagree about what this shard is, and no guess is made.
	doubt error

	// pin is LATEST as a point in time, once it has been opened: to open LATEST again would jump over what
	// came in between.
	pin lease.Position
}

// rewind goes back to a place that is known to have been read, or to the start.
func (p *place) rewind(to lease.Position) {
	*p = place{after: to, pin: p.pin}
	if to.IsLatest() && p.pin != (lease.Position{}) {
		p.after = p.pin
	}
}

// reopen makes ready for another iterator at the same place.
func (p *place) reopen() { p.reached = false }

// iterator is the request for an iterator at the place.
func (p *place) iterator(s Stream, shard string) *kinesis.GetShardIteratorInput {
	in := &kinesis.GetShardIteratorInput{
		StreamName: s.name(), StreamARN: s.arn(), ShardId: aws.String(shard),
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	if p.doubt != nil {
		return in
	}
	if sequence, _, ok := p.after.Sequence(); ok {
		in.ShardIteratorType, in.StartingSequenceNumber = types.ShardIteratorTypeAtSequenceNumber, aws.String(sequence)
	} else if t, ok := p.after.Timestamp(); ok {
		in.ShardIteratorType, in.Timestamp = types.ShardIteratorTypeAtTimestamp, aws.Time(t)
	} else if p.after.IsLatest() {
		in.ShardIteratorType = types.ShardIteratorTypeLatest
	}
	return in
}

// opened notes the time of the answer to a LATEST: one second earlier, by the service's own clock, as
// its Date has whole seconds.
func (p *place) opened(date time.Time) {
	if p.after.IsLatest() && !date.IsZero() {
		p.pin = lease.AtTimestamp(date.Add(-time.Second))
		p.after = p.pin
	}
}

// first judges the first record that came since the place was opened.
func (p *place) first(shard string, record lease.Position) (*Trimmed, error) {
	sequence, _, known := p.after.Sequence()
	if !known {
		return nil, nil
	}
	came, _, _ := record.Sequence()
	switch {
	case came == sequence:
		return nil, nil // nothing is missing
	case record.Compare(p.after) > 0:
		return &Trimmed{After: p.after, First: record}, nil
	case p.doubt != nil:
		return nil, &PositionError{Shard: shard, Position: "sequence number " + p.after.String(), Err: p.doubt}
	}
	return nil, nil // older than asked for: dropped
}

// atEnd judges the end of the shard.
func (p *place) atEnd() *Trimmed {
	if _, _, known := p.after.Sequence(); known && !p.reached {
		return &Trimmed{After: p.after, First: lease.ShardEnd()}
	}
	return nil
}
