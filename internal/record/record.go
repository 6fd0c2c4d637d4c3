// Package record holds the one value that every step of leat passes on: a record of a stream. The
// readers make it, the lanes order it, the handler gets it.
package record

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/leatstream/leat/lease"
)

// Record is one record of a stream, or one user record out of an aggregated record.
//
// The public package has a struct with the same fields in the same order and converts pointers; a
// test there breaks when they differ.
type Record struct {
	Stream            string    // the stream's name
	Shard             string    // the shard's id
	SequenceNumber    string    // decimal, 1 to 129 digits, unique in the stream
	SubSequenceNumber int64     // the place inside an aggregated record, from 0; 0 for a plain record
	PartitionKey      string    // 1 to 256 characters
	ExplicitHashKey   string    // empty if the producer gave none, and always for a plain record
	Data              []byte    // the payload; owned by the record
	ArrivalTime       time.Time // when the service took the record, by its clock; not monotonic
	Attempt           int       // which call of the handler this is, from 1; 0 before the first
	Aggregated        bool      // it came out of an aggregated record
	Token             int64     // the lease counter when the shard was taken: a fencing token for sinks
}

// Position returns the place just after the record: the checkpoint to write once it is handled. A
// sequence number that is not 1 to 129 decimal digits is an error.
func (r *Record) Position() (lease.Position, error) {
	p, err := lease.AfterSequence(r.SequenceNumber, r.SubSequenceNumber)
	if err != nil {
		return lease.Position{}, fmt.Errorf("record of shard %s: %w", r.Shard, err)
	}
	return p, nil
}

// overhead is what a record pins besides its own payload and strings: its struct.
const overhead = int64(unsafe.Sizeof(Record{}))

// Size returns the bytes of memory that the record pins: its payload (the whole array behind it),
// its strings and its struct. It does not change while the record lives.
//
// The stream's and the shard's name are not counted: all records of a shard share them.
func (r *Record) Size() int64 {
	return overhead + int64(cap(r.Data)) +
		int64(len(r.SequenceNumber)) + int64(len(r.PartitionKey)) + int64(len(r.ExplicitHashKey))
}
