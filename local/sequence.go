package local

import (
	"encoding/binary"
	"math/big"
)

// sequence is what a sequence number encodes. The service shows it as a decimal
// number of 186 bits; the layout is observed, not documented:
//
//	bits 187-184  2
//	bits 183-148  when the shard was created, in Unix seconds
//	bits 147-144  the last four bits of the shard's number
//	bits 143-80   the index, which grows with every record
//	bits  79-72   unused here
//	bits  71-36   when the record arrived, in Unix seconds
//	bits  35-4    the shard's number
//	bits   3-0    2, the version
//
// The creation time is on top, so a child created in a later second than its
// parents has only larger numbers. The leading 2 makes all of them 56 digits
// long, so they also sort as text.
type sequence struct {
	created int64
	shard   uint32
	index   uint64
	arrived int64
}

const (
	sequenceVersion = 2

	// endIndex is the index in the number that ends a closed shard: above all
	// that records get.
	endIndex = 1<<63 - 1
)

func (q sequence) String() string {
	arrived, created := uint64(q.arrived)&(1<<36-1), uint64(q.created)&(1<<36-1)
	var b [24]byte
	binary.BigEndian.PutUint64(b[0:], sequenceVersion<<56|created<<20|uint64(q.shard&0xf)<<16|q.index>>48)
	binary.BigEndian.PutUint64(b[8:], q.index<<16|arrived>>28)
	binary.BigEndian.PutUint64(b[16:], arrived<<36|uint64(q.shard)<<4|sequenceVersion)
	return new(big.Int).SetBytes(b[:]).String()
}

// parseSequence undoes String; false if no sequence has that number.
func parseSequence(text string) (sequence, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.Sign() < 0 || n.BitLen() > 192 {
		return sequence{}, false
	}
	var b [24]byte
	n.FillBytes(b[:])
	top, middle, low := binary.BigEndian.Uint64(b[0:]), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	q := sequence{
		created: int64(top >> 20 & (1<<36 - 1)),
		shard:   uint32(low >> 4),
		index:   top<<48 | middle>>16,
		arrived: int64((middle<<28 | low>>36) & (1<<36 - 1)),
	}
	// Printing it again checks every redundant bit at once.
	return q, q.String() == text
}
