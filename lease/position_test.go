package lease

import (
	"cmp"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyPosition draws positions of every kind, numbers of every length among them.
func anyPosition() *rapid.Generator[Position] {
	return rapid.Custom(func(t *rapid.T) Position {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return TrimHorizon()
		case 1:
			return Latest()
		case 2:
			return ShardEnd()
		case 3:
			return AtTimestamp(time.UnixMilli(rapid.Int64Range(0, 9).Draw(t, "at")))
		}
		// Few digits and short numbers, so that equal ones and equal beginnings come up.
		digits := rapid.StringMatching(`[019]{1,4}|[0-9]{120,129}`).Draw(t, "sequence")
		p, err := AfterSequence(digits, rapid.Int64Range(0, 2).Draw(t, "sub"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// slowCompare is Compare as its documentation says it, with math/big.
func slowCompare(p, q Position) int {
	place := func(p Position) int {
		for i, kind := range []positionKind{kindAtTimestamp, kindTrimHorizon, kindLatest, kindSequence, kindShardEnd} {
			if p.kind == kind {
				return i
			}
		}
		panic("unknown kind")
	}
	if c := cmp.Compare(place(p), place(q)); c != 0 {
		return c
	}
	pt, _ := p.Timestamp()
	qt, _ := q.Timestamp()
	if c := pt.Compare(qt); c != 0 {
		return c
	}
	ps, psub, ok := p.Sequence()
	qs, qsub, _ := q.Sequence()
	if !ok {
		return 0
	}
	pn, _ := new(big.Int).SetString(ps, 10)
	qn, _ := new(big.Int).SetString(qs, 10)
	return cmp.Or(pn.Cmp(qn), cmp.Compare(psub, qsub))
}

func TestPositionOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, q := anyPosition().Draw(t, "p"), anyPosition().Draw(t, "q")
		want := slowCompare(p, q)
		if got := p.Compare(q); got != want {
			t.Fatalf("%s compared with %s is %d, want %d", p, q, got, want)
		}
		if (p == q) != (want == 0) {
			t.Fatalf("%s == %s is %t, but they compare as %d", p, q, p == q, want)
		}
		if back := q.Compare(p); back != -want {
			t.Fatalf("%s compared with %s is %d, but the other way round %d", p, q, want, back)
		}
		if r := anyPosition().Draw(t, "r"); want <= 0 && q.Compare(r) <= 0 && p.Compare(r) > 0 {
			t.Fatalf("%s <= %s <= %s, but not %s <= %s", p, q, r, p, r)
		}
	})
}

// The Java KCL's order of what is no sequence number, and where those lie (ExtendedSequenceNumber.bigIntegerValue).
func TestPositionsInTheKCLsOrder(t *testing.T) {
	t.Parallel()
	order := []Position{AtTimestamp(time.UnixMilli(1)), AtTimestamp(time.UnixMilli(2)), TrimHorizon(), Latest()}
	for _, s := range []string{"0", "1", "9", "10", "99", "100", strings.Repeat("9", maxSequenceDigits)} {
		for sub := range int64(3) {
			p, err := AfterSequence(s, sub)
			if err != nil {
				t.Fatal(err)
			}
			order = append(order, p)
		}
	}
	order = append(order, ShardEnd())
	for i, p := range order {
		for j, q := range order {
			if got, want := p.Compare(q), cmp.Compare(i, j); got != want {
				t.Errorf("%s compared with %s is %d, want %d", p, q, got, want)
			}
		}
	}
}

func TestPositionParts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 15, 4, 5, 678_999_999, time.FixedZone("east", 3600))
	number := func(s string, sub int64) Position {
		p, err := AfterSequence(s, sub)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	cases := []struct {
		position Position
		text     string
		begun    bool
	}{
		{Position{}, "TRIM_HORIZON", false},
		{TrimHorizon(), "TRIM_HORIZON", false},
		{Latest(), "LATEST", false},
		{AtTimestamp(at), "AT_TIMESTAMP 2026-01-02T14:04:05.678Z", false},
		{AtTimestamp(time.Time{}), "AT_TIMESTAMP 1970-01-01T00:00:00.000Z", false},
		{ShardEnd(), "SHARD_END", true},
		{number("0", 0), "0", true},
		{number("000", 0), "0", true},
		{number("0049", 0), "49", true},
		{number("49", 3), "49/3", true},
	}
	for _, c := range cases {
		p := c.position
		if p.String() != c.text || p.Begun() != c.begun {
			t.Errorf("position %s, begun %t; want %s, begun %t", p, p.Begun(), c.text, c.begun)
		}
		if p.IsLatest() != (c.text == "LATEST") || p.IsShardEnd() != (c.text == "SHARD_END") {
			t.Errorf("%s: latest %t, shard end %t", p, p.IsLatest(), p.IsShardEnd())
		}
		if _, isTime := p.Timestamp(); isTime != strings.HasPrefix(c.text, "AT_") {
			t.Errorf("%s: has a time: %t", p, isTime)
		}
	}
	for _, bad := range []string{"", "-1", "+1", "1.0", " 1", "1e3", "0x1", "\u0661", "SHARD_END", "1" + strings.Repeat("0", maxSequenceDigits)} {
		if p, err := AfterSequence(bad, 0); err == nil {
			t.Errorf("sequence number %q passes as %s", bad, p)
		}
	}
	if p, err := AfterSequence("1", -1); err == nil {
		t.Errorf("sub-sequence number -1 passes as %s", p)
	}
	if p := number(strings.Repeat("0", 10)+"1"+strings.Repeat("0", maxSequenceDigits-1), 0); len(p.seq) != maxSequenceDigits {
		t.Errorf("the longest sequence number comes back with %d digits", len(p.seq))
	}
}

func TestCheckpointRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyPosition().Draw(t, "position")
		_, sub, _ := p.Sequence()
		var at int64
		if when, ok := p.Timestamp(); ok {
			at = when.UnixMilli()
		}
		back, err := parseCheckpoint(p.checkpointText(), sub, at)
		if err != nil || back != p {
			t.Fatalf("%s comes back as %s (%v)", p, back, err)
		}
	})
}
