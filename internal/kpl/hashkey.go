package kpl

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// HashKey is what decides to which shard a record belongs: a number from 0 to 2^128-1.
type HashKey struct{ hi, lo uint64 }

// HashKeyOf is the hash key of a record with these keys: the explicit one if there is any, else the MD5 of
// the partition key. An explicit hash key that is not a decimal number from 0 to 2^128-1 is an error.
func HashKeyOf(partitionKey, explicitHashKey string) (HashKey, error) {
	if explicitHashKey != "" {
		h, ok := parseHashKey(explicitHashKey)
		if !ok {
			return HashKey{}, fmt.Errorf("the explicit hash key is not a decimal number from 0 to 2^128-1")
		}
		return h, nil
	}
	var buffer [256]byte // without it the conversion of a key is an allocation
	return hashKeyFrom(checksum(append(buffer[:0], partitionKey...))), nil
}

func hashKeyFrom(b [md5.Size]byte) HashKey {
	return HashKey{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func parseHashKey(s string) (h HashKey, ok bool) {
	for i := range len(s) {
		digit := uint64(s[i]) - '0'
		if digit > 9 {
			return HashKey{}, false
		}
		over, hi := bits.Mul64(h.hi, 10)
		carry, lo := bits.Mul64(h.lo, 10)
		lo, c := bits.Add64(lo, digit, 0)
		hi, d := bits.Add64(hi, carry, c)
		if over+d != 0 {
			return HashKey{}, false
		}
		h = HashKey{hi, lo}
	}
	return h, s != ""
}

// Less says whether h comes before k.
func (h HashKey) Less(k HashKey) bool { return h.hi < k.hi || h.hi == k.hi && h.lo < k.lo }

// String is h as a decimal number, as an explicit hash key is written.
func (h HashKey) String() string {
	n := new(big.Int).SetUint64(h.hi)
	n.Lsh(n, 64)
	return n.Or(n, new(big.Int).SetUint64(h.lo)).String()
}

// Range is the hash keys of a shard. The zero Range holds all of them.
type Range struct {
	narrow      bool // it does not hold all
	first, last HashKey
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
	var first, last [md5.Size]byte
	start.FillBytes(first[:])
	end.FillBytes(last[:])
	to := Range{first: hashKeyFrom(first), last: hashKeyFrom(last)}
	to.narrow = to.first != HashKey{} || to.last != HashKey{1<<64 - 1, 1<<64 - 1}
	return to, nil
}

// Has says whether the range has this hash key.
func (r Range) Has(h HashKey) bool { return !r.narrow || !h.Less(r.first) && !r.last.Less(h) }

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

// HoldsAll says whether all user records of an aggregated record belong to the shard, those that have come out
// included. Where it is false the Java KCL drops the aggregated record with all that is in it, also what the KPL
// does not put again.
func (r Range) HoldsAll(a Aggregate) bool {
	if !r.narrow {
		return true
	}
	a.at, a.next = 0, 0
	for u := (record.Record{}); a.Next(&u); {
		if !r.Holds(&u) {
			return false
		}
	}
	return true
}
