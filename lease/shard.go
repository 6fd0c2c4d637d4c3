package lease

import (
	"fmt"
	"math/big"
)

// Shard is a shard as ListShards or the end of its parent shows it.
type Shard struct {
	ID        string
	Parents   []string // sorted: none, one (split) or two (merge); parents past retention stay named
	HashRange HashRange
	Closed    bool // takes no further records
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
func (r HashRange) Bounds() (start, end *big.Int, err error) {
	if start, err = parseHash(r.Start); err != nil {
		return nil, nil, fmt.Errorf("starting hash key: %w", err)
	}
	if end, err = parseHash(r.End); err != nil {
		return nil, nil, fmt.Errorf("ending hash key: %w", err)
	}
	if start.Cmp(end) > 0 {
		return nil, nil, fmt.Errorf("hash range starts at %s after its end %s", r.Start, r.End)
	}
	return start, end, nil
}

// overlaps says whether a key may be in both ranges. An unknown range may hold any.
func (r HashRange) overlaps(o HashRange) bool {
	start, end, err := r.Bounds()
	otherStart, otherEnd, otherErr := o.Bounds()
	return err != nil || otherErr != nil || start.Cmp(otherEnd) <= 0 && otherStart.Cmp(end) <= 0
}

// maxHashDigits is the length of 2^128-1.
const maxHashDigits = 39

func parseHash(s string) (*big.Int, error) {
	if len(s) <= maxHashDigits { // a longer one would take long to parse
		if n, ok := new(big.Int).SetString(s, 10); ok && n.Sign() >= 0 && n.BitLen() <= 128 {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%q is not a number from 0 to 2^128-1", clip(s))
}
