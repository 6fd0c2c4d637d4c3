package lease

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
)

// HashKey is what decides to which shard a record belongs: a number from 0 to 2^128-1, in two halves.
type HashKey struct{ Hi, Lo uint64 }

// ParseHashKey reads a decimal number from 0 to 2^128-1; anything else is an error.
func ParseHashKey(s string) (HashKey, error) {
	var h HashKey
	ok := s != ""
	for i := 0; ok && i < len(s); i++ {
		digit := uint64(s[i]) - '0'
		over, hi := bits.Mul64(h.Hi, 10)
		carry, lo := bits.Mul64(h.Lo, 10)
		lo, c := bits.Add64(lo, digit, 0)
		hi, d := bits.Add64(hi, carry, c)
		h = HashKey{hi, lo}
		ok = digit <= 9 && over+d == 0
	}
	if !ok {
		return HashKey{}, fmt.Errorf("%q is not a number from 0 to 2^128-1", clip(s))
	}
	return h, nil
}

// Compare compares h and k as numbers.
func (h HashKey) Compare(k HashKey) int {
	return cmp.Or(cmp.Compare(h.Hi, k.Hi), cmp.Compare(h.Lo, k.Lo))
}

// String is h as a decimal number, as the service writes it.
func (h HashKey) String() string {
	const chunk = 1e19 // the largest power of ten below 2^64
	digits := ""
	for {
		var rest uint64
		above := h.Hi % chunk
		h.Hi /= chunk
		h.Lo, rest = bits.Div64(above, h.Lo, chunk)
		if h == (HashKey{}) {
			return strconv.FormatUint(rest, 10) + digits
		}
		digits = fmt.Sprintf("%019d", rest) + digits
	}
}

// HashRange is the range of MD5 hashes of partition keys that a shard takes, both ends included, as
// decimal numbers from 0 to 2^128-1. The zero value is unknown.
type HashRange struct {
	Start, End string
}

// IsZero says whether the range is unknown.
func (r HashRange) IsZero() bool { return r == HashRange{} }

// Bounds returns the range as numbers. A bound that is not a number from 0 to 2^128-1, or a start
// after the end, is an error.
func (r HashRange) Bounds() (start, end HashKey, err error) {
	if start, err = ParseHashKey(r.Start); err != nil {
		return HashKey{}, HashKey{}, fmt.Errorf("starting hash key: %w", err)
	}
	if end, err = ParseHashKey(r.End); err != nil {
		return HashKey{}, HashKey{}, fmt.Errorf("ending hash key: %w", err)
	}
	if start.Compare(end) > 0 {
		return HashKey{}, HashKey{}, fmt.Errorf("hash range starts at %v after its end %v", start, end)
	}
	return start, end, nil
}

// overlaps says whether a key may be in both ranges. An unknown range may hold any.
func (r HashRange) overlaps(o HashRange) bool {
	start, end, err := r.Bounds()
	otherStart, otherEnd, otherErr := o.Bounds()
	return err != nil || otherErr != nil || start.Compare(otherEnd) <= 0 && otherStart.Compare(end) <= 0
}
