package lease

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bigHashKey is ParseHashKey with math/big.
func bigHashKey(s string) (*big.Int, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return nil, false
	}
	n, ok := new(big.Int).SetString(s, 10)
	return n, ok && n.BitLen() <= 128
}

func (h HashKey) big() *big.Int {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(h.Hi), 64)
	return n.Or(n, new(big.Int).SetUint64(h.Lo))
}

// anyHashKey draws hash keys of every length, those at the edges of the halves among them.
func anyHashKey() *rapid.Generator[HashKey] {
	half := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 9, 10, 1e19 - 1, 1e19, math.MaxUint64}))
	return rapid.Custom(func(t *rapid.T) HashKey { return HashKey{half.Draw(t, "hi"), half.Draw(t, "lo")} })
}

func TestHashKeyAgainstMathBig(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, k := anyHashKey().Draw(t, "h"), anyHashKey().Draw(t, "k")
		if got, want := h.String(), h.big().String(); got != want {
			t.Fatalf("%#v is written %s, want %s", h, got, want)
		}
		if back, err := ParseHashKey(h.String()); err != nil || back != h {
			t.Fatalf("%s comes back as %#v (%v)", h, back, err)
		}
		if got, want := h.Compare(k), h.big().Cmp(k.big()); got != want {
			t.Fatalf("%s compared with %s is %d, want %d", h, k, got, want)
		}
	})
}

func FuzzParseHashKey(f *testing.F) {
	const most = "340282366920938463463374607431768211455"
	for _, s := range []string{"", "0", "00", "18446744073709551615", "18446744073709551616", most, "000" + most,
		"340282366920938463463374607431768211456", "3402823669209384634633746074317682114550", strings.Repeat("9", 39),
		"-1", "+1", " 1", "1e3", "0x1", "1_0", "\u0661"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHashKey(s)
		n, ok := bigHashKey(s)
		if ok != (err == nil) || ok && h.big().Cmp(n) != 0 {
			t.Fatalf("%q is %v (%v), want %v (%t)", s, h, err, n, ok)
		}
		if !ok && len(err.Error()) > 400 {
			t.Fatalf("the error has %d bytes", len(err.Error()))
		}
	})
}

// Shards cut the hash keys up: each key is in one of them. So it stays when one is split and when two are merged, and
// only shards that have a key in common overlap.
func TestHashRanges(t *testing.T) {
	t.Parallel()
	one := big.NewInt(1)
	text := func(from, below *big.Int) HashRange {
		return HashRange{Start: from.String(), End: new(big.Int).Sub(below, one).String()}
	}
	rapid.Check(t, func(t *rapid.T) {
		cuts := []*big.Int{big.NewInt(0), new(big.Int).Lsh(one, 128)}
		for _, h := range rapid.SliceOfN(anyHashKey(), 0, 8).Draw(t, "cuts") {
			cuts = append(cuts, h.big())
		}
		slices.SortFunc(cuts, (*big.Int).Cmp)
		cuts = slices.CompactFunc(cuts, func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
		var shards []HashRange
		for i := range len(cuts) - 1 {
			shards = append(shards, text(cuts[i], cuts[i+1]))
		}
		key := anyHashKey().Draw(t, "key")
		in := 0
		for _, s := range shards {
			start, end, err := s.Bounds()
			if err != nil {
				t.Fatal(err)
			}
			if start.Compare(key) <= 0 && key.Compare(end) <= 0 {
				in++
			}
		}
		if in != 1 {
			t.Fatalf("key %s is in %d of %v", key, in, shards)
		}
		i := rapid.IntRange(0, len(shards)-1).Draw(t, "i")
		j := rapid.IntRange(0, len(shards)-1).Draw(t, "j")
		if shards[i].overlaps(shards[j]) != (i == j) {
			t.Fatalf("%v overlaps %v: %t", shards[i], shards[j], i != j)
		}
		if i > 0 { // the two are merged, or came from the split of this one
			merged := text(cuts[i-1], cuts[i+1])
			for k, s := range shards {
				if want := k == i || k == i-1; merged.overlaps(s) != want || s.overlaps(merged) != want {
					t.Fatalf("%v overlaps %v: %t", merged, s, !want)
				}
			}
		}
		if !(HashRange{}).overlaps(shards[i]) || !shards[i].overlaps(HashRange{}) {
			t.Fatal("an unknown range does not overlap all others")
		}
		if back := (HashRange{Start: shards[i].End, End: shards[i].Start}); back.Start != back.End {
			if _, _, err := back.Bounds(); err == nil {
				t.Fatalf("%v passes", back)
			}
		}
	})
}
