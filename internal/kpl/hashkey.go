package kpl

import (
	"crypto/md5"
	"encoding/binary"
	"errors"
	"math"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// HashKeyOf is the hash key of a record with these keys: the explicit one if there is any, else the MD5 of
// the partition key. An explicit hash key that is not a decimal number from 0 to 2^128-1 is an error.
func HashKeyOf(partitionKey, explicitHashKey string) (lease.HashKey, error) {
	if explicitHashKey != "" {
		h, err := lease.ParseHashKey(explicitHashKey)
		if err != nil { // which does not show it: a hash key is data
			return h, errors.New("the explicit hash key is not a decimal number from 0 to 2^128-1")
		}
		return h, nil
	}
	var buffer [256]byte // without it the conversion of a key is an allocation
	return hashKeyFrom(checksum(append(buffer[:0], partitionKey...))), nil
}

func hashKeyFrom(b [md5.Size]byte) lease.HashKey {
	return lease.HashKey{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}
}

// Range is the hash keys of a shard. The zero Range holds all of them.
type Range struct {
	narrow      bool // it does not hold all
	first, last lease.HashKey
}

// NewRange is the range of a shard. One that is not known holds every hash key. Bounds that are no numbers
// from 0 to 2^128-1 are an error.
func NewRange(r lease.HashRange) (Range, error) {
	if r.IsZero() {
		return Range{}, nil
	}
	start, end, err := r.Bounds()
	if err != nil {
		return Range{}, err
	}
	whole := start == lease.HashKey{} && end == lease.HashKey{Hi: math.MaxUint64, Lo: math.MaxUint64}
	return Range{narrow: !whole, first: start, last: end}, nil
}

// Has says whether the range has this hash key.
func (r Range) Has(h lease.HashKey) bool {
	return !r.narrow || r.first.Compare(h) <= 0 && h.Compare(r.last) <= 0
}

// Holds says whether the record belongs to a shard with this range. A user record need not: the KPL puts together
// what belongs to one shard, but may be wrong just after a reshard, and then puts again those that Holds
// denies; other producers put together whatever comes, and put none of it again. One whose explicit hash key is
// no hash key is held: nothing says that it belongs elsewhere.
//
// It costs an MD5, unless the range has all hash keys or the record has an explicit one.
func (r Range) Holds(u *record.Record) bool {
	if !r.narrow {
		return true
	}
	h, err := HashKeyOf(u.PartitionKey, u.ExplicitHashKey)
	return err != nil || r.Has(h)
}
