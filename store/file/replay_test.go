package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/lease/leasetest"
	"pgregory.net/rapid"
)

// emptyLog is the beginning of a log, up to what FuzzReplay adds.
func emptyLog(t testing.TB) []byte {
	t.Helper()
	text, err := logText(header{ID: "fuzz", Log: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// FuzzReplay feeds a log in one piece and in two. Whatever is in it, nothing panics; and a log without
// damage adds up to the same in whatever pieces it was read: two processes never disagree.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"group":"g","key":"worker/a","now":"1","item":{"heartbeat":{"N":"0"},"state":{"S":"alive"}}}`), 20)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		text := append(emptyLog(t), data...)
		first := len(text) - len(data) // the header was complete before anybody saw the log
		if cut < 0 || cut > len(data) {
			cut = len(data) / 2
		}
		cut += first
		wholeLog, wholeErr := replayed(t, text)
		if wholeErr != nil {
			return
		}
		var l log
		used, err := l.feed(text[:cut], true)
		if err == nil {
			_, err = l.feed(text[used:], true)
		}
		if err != nil {
			t.Fatalf("in two pieces: %v, in one piece there is no damage", err)
		}
		whole, err1 := wholeLog.snapshot()
		parts, err2 := l.snapshot()
		if err1 != nil || err2 != nil || !bytes.Equal(whole, parts) || wholeLog.ended != l.ended {
			t.Fatalf("in one piece (%v):\n%s\nin two (%v):\n%s", err1, whole, err2, parts)
		}
		// What a log adds up to begins the next one, which adds up to the same.
		again, err := replayed(t, whole)
		if err != nil {
			t.Fatalf("the next log cannot be read: %v\n%s", err, whole)
		}
		again.header.Log--
		if next, err := again.snapshot(); err != nil || !bytes.Equal(next, whole) {
			t.Fatalf("the next log adds up to (%v):\n%s\nwant\n%s", err, next, whole)
		}
	})
}

func replayed(t testing.TB, text []byte) (*log, error) {
	var l log
	used, err := l.feed(text, true)
	if used > len(text) || l.bytes != int64(used) {
		t.Fatalf("fed %d bytes, used %d, counted %d", len(text), used, l.bytes)
	}
	return &l, err
}

// Every item comes back from its line as it was, and every beginning of a line is known as one.
func TestLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]lease.Key{testKey, lease.WorkerKey("a/b\n<&>\u4e16"), lease.ControlKey()}).Draw(t, "key")
		item := leasetest.RandomItem(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), key)
		raw, err := attributes{"colour": json.RawMessage(`{"Z":[1]}`)}.with(lease.Write{Op: lease.Create, Item: item})
		if err == nil {
			raw, err = raw.with(lease.Write{Op: lease.SetHold, Item: item})
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := encode(line{Group: "g\"\n", Key: key.String(), Was: "1", Now: "2", Item: raw})
		if err != nil || bytes.ContainsAny(text, "\n\r") {
			t.Fatalf("%s (%v)", text, err)
		}
		var got line
		if err := decode(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		back, err := lease.DecodeItem(key, got.Item.known())
		if err != nil || !back.Equal(item) || got.Key != key.String() || got.Group != "g\"\n" || string(got.Item["colour"]) != `{"Z":[1]}` {
			t.Fatalf("%s came back as %+v (%v), want %+v", text, back, err, item)
		}
		for cut := range len(text) - 1 {
			if err := decode(text[:1+cut], new(line)); err != errUnfinished {
				t.Fatalf("%s: %v, want that it is unfinished", text[:1+cut], err)
			}
		}
	})
}

// Keys that only a later leat knows are kept, also in the next log, and are nobody's member or lease.
func TestLaterKeysAreKept(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir(), small)
	create(t, s)
	for _, key := range []string{"hold/orders/shardId-000000000000", "lease/a/b/c", "worker/"} {
		appendText(t, s.log.path, fmt.Sprintf("\n"+`{"group":%q,"key":%q,"now":"1","item":{"a":{"S":"b"}}}`, testGroup, key))
	}
	fill(t, s, 3)
	text, err := os.ReadFile(s.log.path)
	if err != nil || bytes.Count(text, []byte(`"item":{"a":{"S":"b"}}`)) != 3 {
		t.Errorf("of three keys of a later leat there are, in the newest log (%v):\n%s", err, text)
	}
	members, err := s.Members(t.Context(), testGroup, true)
	if err != nil || len(members) != 1 {
		t.Errorf("members %+v (%v), want the filler alone", members, err)
	}
	for item, err := range s.Leases(t.Context(), testGroup, "orders") {
		if err != nil || item.Key != testKey {
			t.Errorf("lease %v (%v), want %s alone", item.Key, err, testKey)
		}
	}
}
