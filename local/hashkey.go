package local

import (
	"crypto/md5"
	"encoding/binary"
	"math/big"
	"math/bits"
)

// hashKey is a point of the hash-key space 0 to 2^128-1, over which the open
// shards of a stream are spread.
type hashKey struct{ hi, lo uint64 }

var lastHashKey = hashKey{1<<64 - 1, 1<<64 - 1}

// hashOf is where records with this partition key go.
func hashOf(partitionKey string) hashKey {
	sum := md5.Sum([]byte(partitionKey))
	return hashKey{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])}
}

// parseHashKey reads a decimal number; false if it is none below 2^128.
func parseHashKey(text string) (hashKey, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.Sign() < 0 || n.BitLen() > 128 {
		return hashKey{}, false
	}
	var b [16]byte
	n.FillBytes(b[:])
	return hashKey{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}, true
}

func (k hashKey) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], k.hi)
	binary.BigEndian.PutUint64(b[8:], k.lo)
	return new(big.Int).SetBytes(b[:]).String()
}

func (k hashKey) less(other hashKey) bool {
	return k.hi < other.hi || k.hi == other.hi && k.lo < other.lo
}

func (k hashKey) next() hashKey {
	lo, carry := bits.Add64(k.lo, 1, 0)
	return hashKey{k.hi + carry, lo}
}

func (k hashKey) previous() hashKey {
	lo, borrow := bits.Sub64(k.lo, 1, 0)
	return hashKey{k.hi - borrow, lo}
}

// hashRangeStart is the first key of the i-th of n equal ranges. The last range
// takes what the division leaves over, as the service does it.
func hashRangeStart(i, n int) hashKey {
	width := new(big.Int).Lsh(big.NewInt(1), 128)
	width.Div(width, big.NewInt(int64(n)))
	width.Mul(width, big.NewInt(int64(i)))
	var b [16]byte
	width.FillBytes(b[:])
	return hashKey{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// leftover bounds, in keys, what divisions of the space into equal ranges leave
// over: each leaves fewer keys than there are shards in a stream.
const leftover = 1 << 20

// near says whether the keys are the same but for what divisions leave over.
func (k hashKey) near(other hashKey) bool {
	if k.less(other) {
		k, other = other, k
	}
	lo, borrow := bits.Sub64(k.lo, other.lo, 0)
	return k.hi-other.hi-borrow == 0 && lo <= leftover
}
