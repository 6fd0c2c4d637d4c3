package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// read is an answer, decoded by somebody else.
type read struct {
	NextShardIterator  string
	MillisBehindLatest int
	Records            []struct {
		SequenceNumber, PartitionKey string
		Data                         []byte
	}
}

// The static server's answers are what the service's are: cut to what was asked for, numbers that grow from answer to answer,
// payloads of the size.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		cbor, aggregated bool
		size, most       int
	}{
		{false, false, 128, maxRecords}, {true, false, 128, maxRecords}, {false, false, 1024, 9892}, {true, true, 128, 205},
	} {
		canned, err := newCanned(c.cbor, c.aggregated, c.size)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{3, maxRecords} {
			const from = 123_456
			var got read
			body := canned.answer(nil, from, limit)
			if c.cbor {
				err = cbor.Unmarshal(body, &got)
			} else {
				err = json.Unmarshal(body, &got)
			}
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			if want := min(limit, c.most); len(got.Records) != want || got.MillisBehindLatest == 0 {
				t.Errorf("%+v: %d records of %d", c, len(got.Records), want)
			}
			for i, r := range got.Records {
				if want := fmt.Sprintf("%s%012d", sequenceBase, from+i); r.SequenceNumber != want || len(r.PartitionKey) != 36 {
					t.Fatalf("%+v: record %d has number %s and key %q", c, i, r.SequenceNumber, r.PartitionKey)
				}
				if !c.aggregated && len(r.Data) != c.size {
					t.Fatalf("%+v: %d bytes", c, len(r.Data))
				}
			}
			next, _ := question([]byte(got.NextShardIterator))
			if next != from+len(got.Records) {
				t.Errorf("%+v: goes on at %d", c, next)
			}
		}
	}
}

// Both ways to ask are understood.
func TestQuestion(t *testing.T) {
	at := iteratorAt(77)
	inCBOR, err := cbor.Marshal(map[string]any{"ShardIterator": at, "Limit": 1234})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]int{
		`{"Limit":1234,"ShardIterator":"` + at + `"}`: 1234,
		`{"ShardIterator":"` + at + `"}`:              maxRecords,
		string(inCBOR):                                1234,
	} {
		if from, limit := question([]byte(body)); from != 77 || limit != want {
			t.Errorf("%q asks for %d from %d", body, limit, from)
		}
	}
}

func TestTable(t *testing.T) {
	got := table{columns: []string{"MB/CPU s", "x bare"}, rows: []row{{"leat", []float64{1234567, -1}}, {"bare", []float64{12.345, 0.01}}}}.String()
	const want = "" +
		"|      | MB/CPU s | x bare |\n" +
		"|------|---------:|-------:|\n" +
		"| leat |    1.23M |      - |\n" +
		"| bare |     12.3 | 0.0100 |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
