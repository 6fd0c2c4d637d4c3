package kpl

import (
	"bytes"
	"crypto/fips140"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

func open(t testing.TB, data []byte) Aggregate {
	t.Helper()
	a, err := Open(data, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// all takes out what is left.
func all(a *Aggregate) (users userRecords) {
	for r := (record.Record{}); a.Next(&r); {
		users = append(users, r)
	}
	return users
}

func some(n int) (users userRecords) {
	for i := range n {
		u := record.Record{SubSequenceNumber: int64(i), PartitionKey: fmt.Sprint("key", i%3), Data: fmt.Append(nil, "data ", i), Aggregated: true}
		if i%2 == 1 {
			u.ExplicitHashKey = fmt.Sprint(i % 4)
		}
		users = append(users, u)
	}
	return users
}

func TestOpen(t *testing.T) {
	ten := bytesField(1, "ten")
	hash := bytesField(2, "10")
	first, second := varintField(1, 0), varintField(1, 1)
	data := bytesField(3, "x")
	one := userRecords{{PartitionKey: "ten", Data: []byte("x"), Aggregated: true}}
	nested := wrap(slowEncode(some(3)))
	for name, c := range map[string]struct {
		message []byte
		want    userRecords
	}{
		"as the KPL writes it":     {slowEncode(some(10)), some(10)},
		"one":                      {join(ten, recordField(first, data)), one},
		"tables after the records": {join(recordField(first, data), ten), one},
		"tables in pieces": {join(ten, recordField(second, data), hash, bytesField(1, "eleven"), recordField(first, varintField(2, 0), data)),
			userRecords{{PartitionKey: "eleven", Data: []byte("x"), Aggregated: true},
				{SubSequenceNumber: 1, PartitionKey: "ten", ExplicitHashKey: "10", Data: []byte("x"), Aggregated: true}}},
		"fields of a record in any order": {join(ten, recordField(data, first)), one},
		"the last one counts":             {join(ten, recordField(data, varintField(1, 99), first, bytesField(3, "y"), data)), one},
		"tags":                            {join(ten, recordField(first, data, bytesField(4, string(join(bytesField(1, "name"), bytesField(2, "value")))))), one},
		"fields that nobody knows": {join(varintField(9, 1<<63), ten, bytesField(536870911, "?"), []byte{10<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 11<<3 | 5, 1, 2, 3, 4},
			recordField(first, bytesField(7, ""), data)), one},
		"known numbers, other wire types":    {join(varintField(1, 7), varintField(3, 7), ten, recordField(bytesField(1, "?"), first, data, varintField(3, 7))), one},
		"a number in more bytes than needed": {join(ten, recordField([]byte{1 << 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, data)), one},
		"no data":                            {join(ten, recordField(first, bytesField(3, ""))), userRecords{{PartitionKey: "ten", Data: []byte{}, Aggregated: true}}},
		"empty key":                          {join(bytesField(1, ""), recordField(first, data)), userRecords{{Data: []byte("x"), Aggregated: true}}},
		"longest key":                        {join(bytesField(1, strings.Repeat("k", maxKey)), recordField(first, data)), userRecords{{PartitionKey: strings.Repeat("k", maxKey), Data: []byte("x"), Aggregated: true}}},
		"keys not in use":                    {join(hash, bytesField(1, "nobody's"), ten, recordField(second, data)), one},
		"not UTF-8":                          {join(bytesField(1, "\xff"), recordField(first, data)), userRecords{{PartitionKey: "\xff", Data: []byte("x"), Aggregated: true}}},
		"one inside of one":                  {join(ten, recordField(first, bytesField(3, string(nested)))), userRecords{{PartitionKey: "ten", Data: nested, Aggregated: true}}},
	} {
		a, err := Open(wrap(c.message), 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a.Len() != len(c.want) {
			t.Errorf("%s: %d user records, want %d", name, a.Len(), len(c.want))
		}
		if got := all(&a); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got\n%+v, want\n%+v", name, got, c.want)
		}
	}
}

// golden was put together by hand: partition key "ten", explicit hash key "42", data "abc" and "de".
const golden = "\xf3\x89\x9a\xc2" +
	"\x0a\x03ten" + "\x12\x0242" +
	"\x1a\x07\x08\x00\x1a\x03abc" + "\x1a\x08\x08\x00\x10\x00\x1a\x02de" +
	"\x28\xe1\x1d\x20\x2e\xa6\x14\x8b\x9d\x13\x63\x65\xf5\x93\x29\x92"

// TestGolden holds too where Go's FIPS mode forbids MD5: it is run once more in a process of that mode.
func TestGolden(t *testing.T) {
	users := userRecords{
		{PartitionKey: "ten", Data: []byte("abc"), Aggregated: true},
		{SubSequenceNumber: 1, PartitionKey: "ten", ExplicitHashKey: "42", Data: []byte("de"), Aggregated: true},
	}
	a := open(t, []byte(golden))
	if got := all(&a); !reflect.DeepEqual(got, users) {
		t.Errorf("got %+v", got)
	}
	g := NewAggregator(0)
	for _, u := range users {
		if full, err := g.Add(u.PartitionKey, u.ExplicitHashKey, u.Data); full || err != nil {
			t.Fatal(full, err)
		}
	}
	if data := g.Finish(); string(data) != golden {
		t.Errorf("wrote %q", data)
	}
	if fips140.Enforced() {
		t.Log("MD5 was forbidden")
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestGolden$", "-test.v")
	command.Env = append(os.Environ(), "GODEBUG=fips140=only")
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "MD5 was forbidden") {
		t.Errorf("in FIPS mode: %v\n%s", err, out)
	}
}

func TestBad(t *testing.T) {
	ten, data, first := bytesField(1, "ten"), bytesField(3, "x"), varintField(1, 0)
	good := wrap(slowEncode(some(3)))
	damaged := bytes.Clone(good)
	damaged[7] ^= 1
	for _, c := range []struct {
		data   []byte
		reason Reason
		text   string
	}{
		{nil, NotAggregated, "no magic bytes, or nothing after them"},
		{[]byte("plain"), NotAggregated, "no magic bytes, or nothing after them"},
		{wrap(nil), NotAggregated, "no magic bytes, or nothing after them"},
		{append([]byte("no"), good...), NotAggregated, "no magic bytes, or nothing after them"},
		{damaged, BadChecksum, "the MD5 is another one"},
		{good[:len(good)-1], BadChecksum, "the MD5 is another one"},
		{append(good[:len(good):len(good)], 0), BadChecksum, "the MD5 is another one"},
		{wrap(ten), Empty, "at byte 4: no user record in it"},
		{wrap([]byte("text")), Malformed, "at byte 4: not a field of a protobuf message"},
		{wrap(join(ten, recordField(first, data), []byte{0})), Malformed, "at byte 16: not a field of a protobuf message"},
		{wrap(join(ten, recordField(first, data), []byte{0<<3 | 2, 1, 'x'})), Malformed, "at byte 16: not a field of a protobuf message"},
		{wrap(join(ten, recordField(first, data), []byte{1<<3 | 3, 1<<3 | 4})), Malformed, "at byte 16: not a field of a protobuf message"},
		{wrap(join(ten, recordField(first, data), bytesField(7, "cut")[:3])), Malformed, "at byte 16: not a field of a protobuf message"},
		{wrap(join(ten, []byte{3<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})), Malformed, "at byte 9: not a field of a protobuf message"},
		{wrap(join(ten, []byte{9 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2})), Malformed, "at byte 9: not a field of a protobuf message"},
		{wrap(join(ten, []byte{9<<3 | 1, 1, 2, 3})), Malformed, "at byte 9: not a field of a protobuf message"},
		{wrap(join(ten, []byte{0x80, 0x80, 0x80, 0x80, 0x10, 0})), Malformed, "at byte 9: not a field of a protobuf message"},
		{wrap(join(ten, recordField(first, data), recordField(first))), Malformed, "at byte 16: user record 1 has no data"},
		{wrap(join(ten, recordField(data))), Malformed, "at byte 9: user record 0 has no partition key"},
		{wrap(join(ten, recordField())), Malformed, "at byte 9: user record 0 has no partition key"},
		{wrap(join(ten, recordField([]byte("?")))), Malformed, "at byte 9: user record 0 cannot be read"},
		{wrap(join(ten, recordField(varintField(1, 1), data), recordField(first, data))), BadIndex, "at byte 9: user record 0 names partition key 1 of 1"},
		{wrap(join(recordField(varintField(1, math.MaxUint64), data), ten)), BadIndex, "at byte 4: user record 0 names partition key 18446744073709551615 of 1"},
		{wrap(join(ten, recordField(first, varintField(2, 0), data))), BadIndex, "at byte 9: user record 0 names explicit hash key 0 of 0"},
		{wrap(join(bytesField(2, strings.Repeat("1", maxKey+1)), ten, recordField(first, data))), LongKey, "at byte 4: a key of 1025 bytes, where 1024 are allowed"},
		{wrap(join(ten, bytes.Repeat(recordField(first, data), 11))), TooMany, "at byte 79: more than 10 user records, or keys in a table"},
		{wrap(join(bytes.Repeat(ten, 11), recordField(first, data))), TooMany, "at byte 54: more than 10 user records, or keys in a table"},
	} {
		a, err := Open(c.data, 10)
		bad, ok := errors.AsType[*Error](err)
		if !ok || bad.Reason != c.reason || err.Error() != "aggregated record: "+c.text {
			t.Errorf("%.60q: got %v, want %s: %s", c.data, err, c.reason, c.text)
		}
		if got := all(&a); a.Len() != 0 || got != nil {
			t.Errorf("%.60q: %d user records came out", c.data, len(got))
		}
		if want := c.reason != NotAggregated; Is(c.data) != want {
			t.Errorf("%.60q: Is says %v", c.data, !want)
		}
	}
}

// TestWildIndex is the smallest one that ended every process of a Go consumer: 30 bytes with a right MD5, and
// an index past the table.
func TestWildIndex(t *testing.T) {
	data := wrap(recordField(varintField(1, 5), bytesField(3, "abcd")))
	if len(data) != 30 {
		t.Fatalf("%d bytes", len(data))
	}
	_, err := Open(data, 0)
	if bad, ok := errors.AsType[*Error](err); !ok || bad.Reason != BadIndex {
		t.Errorf("got %v", err)
	}
}

func TestSkipThrough(t *testing.T) {
	users := some(10)
	whole := open(t, wrap(slowEncode(users)))
	for from := range 10 {
		for sub := int64(-2); sub < 14; sub++ {
			a := whole
			for r := (record.Record{}); a.next < int64(from); a.Next(&r) {
			}
			a.SkipThrough(sub)
			want := users[min(len(users), max(from, int(sub+1))):]
			if a.Left() != len(want) {
				t.Errorf("at %d, after %d: %d left, want %d", from, sub, a.Left(), len(want))
			}
			if got := all(&a); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("at %d, after %d: got %v, want %v", from, sub, got, want)
			}
			if a.Left() != 0 || a.Len() != 10 {
				t.Errorf("%d of %d left at the end", a.Left(), a.Len())
			}
		}
	}
}

// A handler may append to the data that it was given, and write into them, without harm to the next ones.
func TestDataOfUserRecordsAreApart(t *testing.T) {
	users := some(10)
	a := open(t, wrap(slowEncode(users)))
	for i, r := 0, (record.Record{}); a.Next(&r); i++ {
		if !bytes.Equal(r.Data, users[i].Data) {
			t.Errorf("user record %d: %q", i, r.Data)
		}
		_ = append(r.Data, "overwritten, if there were room"...)
		clear(r.Data)
	}
}

// Next leaves alone what the aggregated record gives to all of its user records, and clears what the one before set.
func TestNextSetsOnlyItsOwn(t *testing.T) {
	a := open(t, wrap(slowEncode(userRecords{{PartitionKey: "a", ExplicitHashKey: "7"}, {PartitionKey: "b"}})))
	r := record.Record{Stream: "s", Shard: "0", SequenceNumber: "49", PartitionKey: "outer", ExplicitHashKey: "1", Attempt: 3, Token: 9}
	a.Next(&r)
	a.Next(&r)
	want := record.Record{Stream: "s", Shard: "0", SequenceNumber: "49", SubSequenceNumber: 1, PartitionKey: "b", Data: []byte{}, Attempt: 3, Token: 9, Aggregated: true}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v", r)
	}
}

// bomb is as many user records as go into 1 MiB.
func bomb(t testing.TB) []byte {
	one := recordField(varintField(1, 0), bytesField(3, ""))
	head := bytesField(1, "k")
	data := wrap(join(head, bytes.Repeat(one, (1<<20-4-16-len(head))/len(one))))
	if len(data) > 1<<20 {
		t.Fatalf("%d bytes", len(data))
	}
	return data
}

// TestBombs: whatever is in an aggregated record, it costs less than four times its bytes, and all of it comes out.
func TestBombs(t *testing.T) { // the memory of the whole process is measured: not parallel
	full := bomb(t)
	keys := join(bytes.Repeat(bytesField(1, ""), 500_000), recordField(varintField(1, 499_999), bytesField(3, "")))
	long := join(bytesField(1, strings.Repeat("k", maxKey)), bytes.Repeat(recordField(varintField(1, 0), bytesField(3, "")), 100_000))
	for name, c := range map[string]struct {
		data []byte
		most int
		want int
	}{
		"1 MiB of user records":        {full, 0, 174_758},
		"keys of no length":            {wrap(keys), 500_000, 1},
		"user records with a long key": {wrap(long), 0, 100_000},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a, err := Open(c.data, c.most)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := 0
		for r := (record.Record{}); a.Next(&r); n++ {
			if r.SubSequenceNumber != int64(n) {
				t.Fatalf("%s: sub-sequence number %d at %d", name, r.SubSequenceNumber, n)
			}
		}
		runtime.ReadMemStats(&after)
		if n != c.want || a.Len() != n {
			t.Errorf("%s: %d of %d user records, want %d", name, n, a.Len(), c.want)
		}
		if cost, bound := after.TotalAlloc-before.TotalAlloc, uint64(4*len(c.data)); cost > bound {
			t.Errorf("%s: %d bytes of memory for %d of data", name, cost, len(c.data))
		} else {
			t.Logf("%s: %d user records, %d bytes of data, %d bytes of memory", name, n, len(c.data), cost)
		}
	}
	if _, err := Open(wrap(keys), 0); !strings.Contains(fmt.Sprint(err), "more than 200000") {
		t.Errorf("half a million keys: %v", err)
	}
}

func TestAllocations(t *testing.T) { // counts those of the whole process: not parallel
	users := some(1000)
	users[0].PartitionKey = strings.Repeat("k", 256)
	data := wrap(slowEncode(users))
	lower, _ := NewRange(lease.HashRange{Start: "0", End: "99"})
	var r record.Record
	n := testing.AllocsPerRun(100, func() {
		a, _ := Open(data, 0)
		for a.Next(&r) {
			lower.Holds(&r)
		}
	})
	if n > 1 {
		t.Errorf("%v allocations for 1000 user records, want 1", n)
	}
}
