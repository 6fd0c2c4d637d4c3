package wire

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/leatstream/leat/internal/record"
)

// TestBounds: what no answer of the service has is refused, and costs next to nothing.
func TestBounds(t *testing.T) {
	many := func(n int, begin, one, between, end string) []byte {
		return []byte(begin + strings.Repeat(one+between, n-1) + one + end)
	}
	list := string(cborOf(t, "a1{Records}9f"))
	for name, test := range map[string]struct {
		body []byte
		want string // empty: it is read
	}{
		"10,000 records, JSON": {many(10_000, `{"Records":[`, `{}`, `,`, `]}`), ""},
		"10,001 records, JSON": {many(10_001, `{"Records":[`, `{}`, `,`, `]}`), "more than 10000 records"},
		"10,000 records, CBOR": {many(10_000, list, "\xa0", "", "\xff"), ""},
		"10,001 records, CBOR": {many(10_001, list, "\xa0", "", "\xff"), "more than 10000 records"},
		"a million, JSON":      {many(1_000_000, `{"Records":[`, `{}`, `,`, `]}`), "more than 10000 records"},
		"a million, CBOR":      {many(1_000_000, list, "\xa0", "", "\xff"), "more than 10000 records"},
		"10,001, windows":      {many(10_001, `{"Records":[`, `{"SequenceNumber":"1234567890"}`, `,`, `]}`), "more than 10000 records"},
		"deep, JSON":           {many(1_000_000, `{"a":`, `[`, ``, ``), "too deeply"},
		"deep, CBOR":           {many(1_000_000, "\xa1\x00", "\x81", "", ""), "too deeply"},
		"tags, CBOR":           {many(1_000_000, "\xa1\x00", "\xc6", "", ""), "too many tags"},
		"tags of the answer":   {many(1_000_000, "", "\xc6", "", ""), "too many tags"},
		"a long list, CBOR":    {cborOf(t, "a1{Records}9bffffffffffffffff"), "entries"},
		"a promised string":    {cborOf(t, "a1{Records}81a1{Data}5a01000000"), "unexpected EOF"},
		"a long string, CBOR":  {cborOf(t, "a1{Records}81a1{Data}5bffffffffffffffff"), "a string of"},
		"a long string, JSON":  {append([]byte(`{"Records":[{"Data":"`), bytes.Repeat([]byte("A"), 40<<20)...), "an item of more than"},
		"blanks":               {append([]byte(`{"MillisBehindLatest":1`), bytes.Repeat([]byte(" "), 40<<20)...), "an item of more than"},
	} {
		for _, known := range []bool{true, false} {
			if !known && len(test.body) > maxItem {
				continue // it takes the same way as with a length
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := decode(test.body, known, window)
			runtime.ReadMemStats(&after)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s, length known %v: %v", name, known, err)
			}
			// Windows double up to the bound: twice that in all.
			if got := after.TotalAlloc - before.TotalAlloc; got > 2*maxItem+8<<20 || got > 16<<20 && !strings.Contains(test.want, "item") {
				t.Errorf("%s, length known %v: %d bytes were allocated", name, known, got)
			}
		}
	}
}

// TestCost: it is no less than what an answer of the service makes, and sane at the ends.
func TestCost(t *testing.T) {
	for _, length := range []int64{0, 1, 300, 1 << 10, 100 << 10, 28 << 20} {
		for _, limit := range []int{1, 100, maxRecords} {
			if c := Cost(length, limit); c < length || c > 4*length+1000 {
				t.Errorf("%d bytes, %d records: %d", length, limit, c)
			}
		}
	}
}

// TestTime: all the ways to say when.
func TestTime(t *testing.T) {
	for since, want := range map[float64]int64{
		0: 0, 1_700_000_000: 1_700_000_000_000, 1_700_000_000.123: 1_700_000_000_123, 1_700_000_000_123: 1_700_000_000_123,
		1_700_000_000_123.4: 1_700_000_000_123, 99_999_999_999: 99_999_999_999_000, 1e11: 1e11, -1: -1000, 0.0004: 0,
	} {
		v := view{}
		if err := v.at(since); err != nil || v.millis != want || !v.timed {
			t.Errorf("%v is %d, %v", since, v.millis, err)
		}
	}
	for _, since := range []float64{1e14, -1e14, 1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		if err := new(view).at(since); err == nil {
			t.Errorf("%v is a time", since)
		}
	}
}

// TestDecimal: the quick way to read a number gives what strconv gives.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "7": 7, "1700000000.123": 1700000000.123, "123456789012345": 123456789012345, "1234567890123456": 1234567890123456,
		"0.1": 0.1, "12345678901234.5": 12345678901234.5, "-1.5": -1.5, "1.7E9": 1.7e9, "1e-2": 0.01, "99999999999999999999": 1e20, "1e400": math.Inf(1),
	} {
		j := jsonReader{in: []byte(text + " ")}
		if got := j.number(); got != want || j.err != nil {
			t.Errorf("%s is %v, %v", text, got, j.err)
		}
	}
}

// TestAllocations: at most one for ten records.
func TestAllocations(t *testing.T) {
	for _, size := range []int{128, 1024} {
		s := newSample(1000, size)
		s.records[7].PartitionKey = `{"id":"7"}` // with escapes, in JSON
		for format, body := range map[string][]byte{"JSON": s.json(), "CBOR": s.cbor(t)} {
			var reader bytes.Reader
			n := testing.AllocsPerRun(20, func() {
				reader.Reset(body)
				if _, _, err := read(&reader, int64(len(body)), window, record.Record{}); err != nil {
					t.Fatal(err)
				}
			})
			if t.Logf("%s, %d bytes: %v allocations for 1,000 records", format, size, n); n > 100 {
				t.Errorf("%s, %d bytes: %v allocations for 1,000 records", format, size, n)
			}
		}
	}
}
