package ondemand

import (
	"encoding/binary"
	"hash/fnv"
)

// Chance is a number in [0,1) for a fault and the n-th call of a name. It depends on nothing else, so that the fate of
// a call does not change with what goes on in between.
func Chance(seed uint64, fault int, call string, n uint64) float64 {
	var b []byte
	b = binary.LittleEndian.AppendUint64(b, seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(fault))
	b = binary.LittleEndian.AppendUint64(b, n)
	h := fnv.New64a()
	h.Write(append(b, call...))
	// FNV's high bits hardly depend on its last bytes: mix them (the finalizer of SplitMix64).
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
