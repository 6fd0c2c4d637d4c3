package kpl

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/leatstream/leat/internal/record"
)

// most is small, so that the fuzzer finds too many.
const most = 50

// against compares Open with the slow decoder.
func against(t *testing.T, data []byte) {
	before := bytes.Clone(data)
	want, faults := slowDecode(data, most)
	a, err := Open(data, most)
	if err != nil {
		bad, ok := errors.AsType[*Error](err)
		if !ok || !faults[bad.Reason] || bad.Offset < 0 || bad.Offset > len(data) {
			t.Fatalf("%v, want one of %v", err, faults)
		}
		return
	}
	if faults != nil {
		t.Fatalf("good, want one of %v", faults)
	}
	for sub := int64(-1); sub <= int64(len(want)); sub++ {
		b := a
		b.SkipThrough(sub)
		left := want[min(len(want), int(sub+1)):]
		if b.Left() != len(left) {
			t.Fatalf("after %d: %d left, want %d", sub, b.Left(), len(left))
		}
		if got := all(&b); len(got) != len(left) || len(got) > 0 && !reflect.DeepEqual(got, left) {
			t.Fatalf("after %d: got\n%+v, want\n%+v", sub, got, left)
		}
	}
	for r := (record.Record{}); a.Next(&r); {
		if cap(r.Data) != len(r.Data) {
			t.Fatalf("user record %d: %d bytes, capacity %d", r.SubSequenceNumber, len(r.Data), cap(r.Data))
		}
	}
	if !bytes.Equal(data, before) {
		t.Fatal("the data were written to")
	}
}

func addMessages(f *testing.F, wrapped bool) {
	ten, first, data := bytesField(1, "ten"), varintField(1, 0), bytesField(3, "x")
	for _, message := range [][]byte{
		nil, ten, slowEncode(some(1)), slowEncode(some(20)), []byte("text"),
		recordField(varintField(1, 5), bytesField(3, "abcd")),
		join(recordField(first, data), ten),
		join(ten, recordField(first, varintField(2, 0), data)),
		join(ten, recordField(first, data, bytesField(4, "tag")), []byte{1<<3 | 3, 1<<3 | 4}),
		join(ten, bytes.Repeat(recordField(first, data), most+1)),
		join(varintField(9, 1<<63), ten, []byte{10<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 11<<3 | 5, 1, 2, 3, 4}, recordField(first, data)),
		bytesField(1, string(bytes.Repeat([]byte("k"), maxKey+1))),
	} {
		if wrapped {
			message = wrap(message)
		}
		f.Add(message)
	}
}

// FuzzOpen: whatever the data, Open says the same as the slow decoder.
func FuzzOpen(f *testing.F) {
	addMessages(f, true)
	f.Fuzz(func(t *testing.T, data []byte) { against(t, data) })
}

// FuzzMessage is the same, past the MD5, which no fuzzer finds.
func FuzzMessage(f *testing.F) {
	addMessages(f, false)
	f.Fuzz(func(t *testing.T, message []byte) { against(t, wrap(message)) })
}

// FuzzRoundTrip: what an Aggregator took comes out again, by both decoders. Each three bytes of script are a
// user record: partition key, explicit hash key, length of its data.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("abcabdxyz\x00\x00\x00\xff\xff\xff"), uint16(200))
	f.Add(bytes.Repeat([]byte{7, 0, 0}, most), uint16(2000))
	f.Add([]byte{1, 2, 130, 3, 4, 255}, uint16(30))
	f.Fuzz(func(t *testing.T, script []byte, limit uint16) {
		a := NewAggregator(int(limit))
		var want userRecords
		for ; len(script) >= 3 && len(want) < most; script = script[3:] {
			u := record.Record{
				SubSequenceNumber: int64(len(want)),
				PartitionKey:      string(bytes.Repeat(script[:1], 1+int(script[0])%9)),
				Data:              bytes.Repeat(script[2:3], int(script[2])),
				Aggregated:        true,
			}
			if script[1] != 0 {
				u.ExplicitHashKey = string('0' + rune(script[1]%10))
			}
			size, before := a.Size(), a.Len()
			full, err := a.Add(u.PartitionKey, u.ExplicitHashKey, u.Data)
			switch {
			case full || err != nil:
				if a.Size() != size || a.Len() != before || full && before == 0 {
					t.Fatalf("%v, %v: %d bytes, %d user records; before %d, %d", full, err, a.Size(), a.Len(), size, before)
				}
				if !full && !errors.Is(err, ErrTooLarge) {
					t.Fatal(err)
				}
			default:
				want = append(want, u)
			}
		}
		size := a.Size()
		data := a.Finish()
		if len(want) == 0 {
			if data != nil {
				t.Fatalf("%q of nothing", data)
			}
			return
		}
		if len(data)+1 != size || limit > 0 && size > int(limit) {
			t.Fatalf("%d bytes, size %d, limit %d", len(data), size, limit)
		}
		if slow, faults := slowDecode(data, most); faults != nil || !reflect.DeepEqual(slow, want) {
			t.Fatalf("the slow decoder: %v\n%+v, want\n%+v", faults, slow, want)
		}
		against(t, data)
	})
}
