package kpl

import (
	"crypto/md5"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// slowHashKey is a hash key with math/big.
func slowHashKey(partitionKey, explicitHashKey string) (*big.Int, bool) {
	if explicitHashKey == "" {
		sum := md5.Sum([]byte(partitionKey))
		return new(big.Int).SetBytes(sum[:]), true
	}
	if strings.Trim(explicitHashKey, "0123456789") != "" {
		return nil, false
	}
	n, ok := new(big.Int).SetString(explicitHashKey, 10)
	return n, ok && n.BitLen() <= 128
}

func TestHashKey(t *testing.T) {
	const most = "340282366920938463463374607431768211455"
	for _, c := range []struct{ partitionKey, explicit, want string }{
		{"", "", "281949768489412648962353822266799178366"}, // MD5: d41d8cd98f00b204e9800998ecf8427e
		{"a", "", "16955237001963240173058271559858726497"}, // MD5: 0cc175b9c0f1b6a831c399e269772661
		{"a", "0", "0"},
		{"a", "18446744073709551616", "18446744073709551616"},
		{"a", most, most},
		{"a", "000" + most, most},
		{"a", "340282366920938463463374607431768211456", ""},
		{"a", "999999999999999999999999999999999999999", ""},
		{"a", strings.Repeat("9", 1000), ""},
		{"a", "-1", ""}, {"a", "+1", ""}, {"a", " 1", ""}, {"a", "1e3", ""}, {"a", "0x1", ""},
	} {
		h, err := HashKeyOf(c.partitionKey, c.explicit)
		if err == nil != (c.want != "") || err == nil && h.String() != c.want {
			t.Errorf("%q, %.50q: got %v, %v, want %s", c.partitionKey, c.explicit, h, err, c.want)
		}
	}
}

func TestRangeIsThatOfMathBig(t *testing.T) {
	number := rapid.StringMatching(`0|[1-9][0-9]{0,38}|34028236692093846346337460743176821145[3-7]|1844674407370955161[3-9]`)
	rapid.Check(t, func(t *rapid.T) {
		r := lease.HashRange{Start: number.Draw(t, "start"), End: number.Draw(t, "end")}
		u := record.Record{PartitionKey: rapid.String().Draw(t, "key")}
		if rapid.Bool().Draw(t, "explicit") {
			u.ExplicitHashKey = number.Draw(t, "hash")
		}
		_, _, err := r.Bounds()
		got, gotErr := NewRange(r)
		if (err == nil) != (gotErr == nil) {
			t.Fatalf("%v: %v, want %v", r, gotErr, err)
		}
		if err != nil {
			return
		}
		start, _ := slowHashKey("", r.Start)
		end, _ := slowHashKey("", r.End)
		h, ok := slowHashKey(u.PartitionKey, u.ExplicitHashKey)
		want := !ok || h.Cmp(start) >= 0 && h.Cmp(end) <= 0
		if got.Holds(&u) != want {
			t.Errorf("%v holds %q %q: %v", r, u.PartitionKey, u.ExplicitHashKey, !want)
		}
		key, err := HashKeyOf(u.PartitionKey, u.ExplicitHashKey)
		if (err == nil) != ok || ok && key.String() != h.String() {
			t.Errorf("%q %q: %v, %v, want %v", u.PartitionKey, u.ExplicitHashKey, key, err, h)
		}
	})
}

func TestHolds(t *testing.T) {
	lower, err := NewRange(lease.HashRange{Start: "0", End: "99"})
	if err != nil {
		t.Fatal(err)
	}
	for hashKey, want := range map[string]bool{"99": true, "100": false, "?": true} {
		u := &record.Record{PartitionKey: "k", ExplicitHashKey: hashKey}
		if got := lower.Holds(u); got != want {
			t.Errorf("%s: %v", hashKey, got)
		}
		if !(Range{}).Holds(u) {
			t.Errorf("%s: outside of all hash keys", hashKey)
		}
	}
	if _, err := NewRange(lease.HashRange{Start: "2", End: "1"}); err == nil {
		t.Error("a range that ends before its start")
	}
}
