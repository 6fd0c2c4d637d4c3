package local

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func drawSequence(t *rapid.T, name string) sequence {
	return sequence{
		created: rapid.Int64Range(0, 1<<36-1).Draw(t, name+".created"),
		shard:   rapid.Uint32().Draw(t, name+".shard"),
		index:   rapid.Uint64().Draw(t, name+".index"),
		arrived: rapid.Int64Range(0, 1<<36-1).Draw(t, name+".arrived"),
	}
}

func TestSequenceIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := drawSequence(t, "q")
		text := q.String()
		n, _ := new(big.Int).SetString(text, 10)
		if len(text) != 56 || n.BitLen() != 186 {
			t.Fatalf("%s has %d digits and %d bits", text, len(text), n.BitLen())
		}
		if back, ok := parseSequence(text); !ok || back != q {
			t.Fatalf("%+v came back as %+v, %v", q, back, ok)
		}
	})
}

func TestSequenceOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawSequence(t, "p"), drawSequence(t, "q")
		child := p
		child.created, child.index = p.created+1, 0
		if p.created < 1<<36-1 && p.String() >= child.String() {
			t.Fatalf("parent %s is not below its child %s", p, child)
		}
		q.created, q.shard = p.created, p.shard
		if p.index != q.index && (p.index < q.index) != (p.String() < q.String()) {
			t.Fatalf("%d and %d are not in the order of %s and %s", p.index, q.index, p, q)
		}
	})
}

func TestParseSequenceRefuses(t *testing.T) {
	t.Parallel()
	real := sequence{created: 1_700_000_000, shard: 3, index: 9, arrived: 1_700_000_001}.String()
	for _, text := range []string{
		"", "0", "1", "-" + real, "+" + real, "0" + real, real[1:], real + "0", "x" + real[1:],
		real[:55] + string(real[55]^1), // another version
	} {
		if q, ok := parseSequence(text); ok {
			t.Errorf("%q was read as %+v", text, q)
		}
	}
}

func TestHashKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]hashKey{
		"0":                    {},
		"18446744073709551616": {1, 0},
		"340282366920938463463374607431768211455": lastHashKey,
	} {
		if k, ok := parseHashKey(text); !ok || k != want || k.String() != text {
			t.Errorf("%s was read as %v (%v), %v", text, k, k.String(), ok)
		}
	}
	for _, text := range []string{"", "-1", "1.5", "340282366920938463463374607431768211456"} {
		if k, ok := parseHashKey(text); ok {
			t.Errorf("%q was read as %v", text, k)
		}
	}
	// The MD5 of "" is d41d8cd98f00b204e9800998ecf8427e (RFC 1321).
	if got := hashOf(""); got != (hashKey{0xd41d8cd98f00b204, 0xe9800998ecf8427e}) {
		t.Errorf("hash of the empty key: %x", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		k := hashKey{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")}
		if back, ok := parseHashKey(k.String()); !ok || back != k {
			t.Fatalf("%v came back as %v", k, back)
		}
		if k != lastHashKey && (k.next().previous() != k || !k.less(k.next())) {
			t.Fatalf("%v, %v are no neighbours", k, k.next())
		}
	})
}
