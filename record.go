package leat

import (
	"strings"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// Record is one record of a stream.
//
// A Record and its Data are valid until the handler returns, or its deferred ack has come (with Tail: until the next step of the
// loop). After that the memory is used for other records: Clone what is kept. The strings are ordinary ones, which nobody changes.
type Record struct {
	Stream string // name of the stream
	Shard  string // id of the shard

	// SequenceNumber is unique in its shard, and grows: a decimal number of up to 129 digits.
	SequenceNumber string

	// SubSequenceNumber is the place inside an aggregated record, from 0.
	SubSequenceNumber int64

	PartitionKey    string // 1 to 256 characters
	ExplicitHashKey string // only known for records out of an aggregated one
	Data            []byte // may be empty; not to be changed: the next try of a record that failed gets the same bytes

	// ArrivalTime is when the service took the record, by its clock, to the millisecond. It does not
	// order records.
	ArrivalTime time.Time

	// Attempt is 1 at the first call of the handler for this record by this worker, 2 at the second.
	Attempt int

	// Aggregated tells that the record came out of an aggregated one.
	Aggregated bool

	// Token grows with every change of the shard's owner: a fencing token. A sink that keeps the highest
	// one and refuses lower ones is safe from a worker that was paused in the middle of a write.
	Token int64
}

// Clone returns a copy that stays valid, and keeps nothing else in memory: Data and the strings are copied. (A
// record's strings are parts of longer ones; a handler that keeps one of them should strings.Clone it.)
func (r *Record) Clone() *Record {
	c := *r
	c.Data = append([]byte(nil), r.Data...)
	c.SequenceNumber = strings.Clone(r.SequenceNumber)
	c.PartitionKey = strings.Clone(r.PartitionKey)
	c.ExplicitHashKey = strings.Clone(r.ExplicitHashKey)
	return &c
}

// The engine's records become the user's by converting the pointer; this line fails to compile if the
// two differ.
var _ = Record(record.Record{})
