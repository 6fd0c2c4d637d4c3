package wire

import (
	"reflect"
	"testing"
)

// TestAnswer: an answer is read whole and right, whatever the window, its length known or not.
func TestAnswer(t *testing.T) {
	for _, sizes := range [][2]int{{0, 0}, {1, 0}, {1, 1}, {7, 100}, {300, 1024}, {2000, 128}, {5, 100_000}, {2, 1 << 20}} {
		s := newSample(sizes[0], sizes[1])
		for format, body := range map[string][]byte{"JSON": s.json(), "CBOR": s.cbor(t)} {
			for _, size := range []int{window, 16, 1000, 10_000_000} {
				for _, known := range []bool{true, false} {
					r, err := decode(body, known, size)
					if err != nil {
						t.Fatalf("%s %v, window %d: %v", format, sizes, size, err)
					}
					if got := r.records(); len(got) != len(s.records) || len(got) > 0 && !reflect.DeepEqual(got, s.records) {
						t.Fatalf("%s %v, window %d: got %d records:\n%s\nwant\n%s", format, sizes, size, len(got), asJSON(got[:1]), asJSON(s.records[:1]))
					}
					if *r.answer.next != s.next || *r.answer.behind != s.behind {
						t.Errorf("%s: next %q, behind %d", format, *r.answer.next, *r.answer.behind)
					}
				}
			}
		}
	}
}

// TestRecordsAreApart: what a handler appends to one record's data, or writes into it, is in no other record, nor in the
// next answer.
func TestRecordsAreApart(t *testing.T) {
	for _, size := range []int{100, 100_000} {
		s := newSample(5, size)
		for format, body := range map[string][]byte{"JSON": s.json(), "CBOR": s.cbor(t)} {
			first, err := decode(body, true, window)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range first.records() {
				clear(r.Data)
				_ = append(r.Data, make([]byte, size)...)
				if i > 0 && (r.PartitionKey != s.records[i].PartitionKey || r.SequenceNumber != s.records[i].SequenceNumber) {
					t.Errorf("%s: record %d is %q, %q", format, i, r.SequenceNumber, r.PartitionKey)
				}
				for j, next := range first.records()[i+1:] {
					if !reflect.DeepEqual(next, s.records[i+1+j]) {
						t.Fatalf("%s, %d bytes: a write to record %d changed record %d", format, size, i, i+1+j)
					}
				}
			}
			again, err := decode(body, true, window)
			if err != nil || !reflect.DeepEqual(again.records(), s.records) {
				t.Errorf("%s: the next answer has changed, %v", format, err)
			}
		}
	}
}
