package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/leatstream/leat/internal/record"
)

// sample is an answer as a server makes it.
type sample struct {
	records []record.Record
	next    string
	behind  int64
}

// newSample has n records of size bytes, as the service makes them: numbers of 56 digits, keys of 36 characters.
func newSample(n, size int) sample {
	random := rand.New(rand.NewPCG(1, 2))
	s := sample{next: "AAAAAAAAAAE" + base64.StdEncoding.EncodeToString(make([]byte, 160)), behind: 1234}
	for i := range n {
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		s.records = append(s.records, record.Record{
			SequenceNumber: fmt.Sprintf("49590338271490256608559692538361571095921575989136%06d", i),
			PartitionKey:   fmt.Sprintf("%08x-0000-4000-8000-%012x", random.Uint32(), i),
			Data:           data, ArrivalTime: time.UnixMilli(1_700_000_000_123 + int64(i)).UTC(),
		})
	}
	return s
}

// json is the answer as the service writes it.
func (s sample) json() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"MillisBehindLatest":%d,"NextShardIterator":%q,"Records":[`, s.behind, s.next)
	for i, r := range s.records {
		if i > 0 {
			b.WriteByte(',')
		}
		ms := r.ArrivalTime.UnixMilli()
		fmt.Fprintf(&b, `{"ApproximateArrivalTimestamp":%d.%03d,"Data":%q,"PartitionKey":%q,"SequenceNumber":%q}`,
			ms/1000, ms%1000, base64.StdEncoding.EncodeToString(r.Data), r.PartitionKey, r.SequenceNumber)
	}
	b.WriteString("]}")
	return b.Bytes()
}

// cbor is the answer as the Java server writes it: maps of indefinite length, milliseconds with tag 1.
func (s sample) cbor(t testing.TB) []byte {
	var b bytes.Buffer
	e := cbor.NewEncoder(&b)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(values ...any) {
		for _, v := range values {
			must(e.Encode(v))
		}
	}
	must(e.StartIndefiniteMap())
	put("MillisBehindLatest", s.behind, "NextShardIterator", s.next, "Records")
	must(e.StartIndefiniteArray())
	for _, r := range s.records {
		must(e.StartIndefiniteMap())
		put("ApproximateArrivalTimestamp", cbor.Tag{Number: 1, Content: r.ArrivalTime.UnixMilli()},
			"Data", r.Data, "PartitionKey", r.PartitionKey, "SequenceNumber", r.SequenceNumber)
		must(e.EndIndefinite())
	}
	must(e.EndIndefinite())
	must(e.EndIndefinite())
	return b.Bytes()
}

func (s sample) payload() (n int64) {
	for _, r := range s.records {
		n += int64(len(r.Data))
	}
	return n
}

// decode reads bytes with a window of this size, their length known or not.
func decode(body []byte, known bool, size int) (*reading, error) {
	length := int64(-1)
	if known {
		length = int64(len(body))
	}
	var reader io.Reader = bytes.NewReader(body)
	r, _, err := read(struct{ io.Reader }{reader}, length, size, record.Record{})
	return r, err
}

func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}
