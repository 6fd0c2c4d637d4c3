package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leatstream/leat/internal/kpl"
)

// The bounds of an answer of GetRecords (Kinesis API reference).
const (
	maxRecords = 10_000
	maxBytes   = 10 << 20
)

// The records of all answers: keys as UUIDs are long, arrival times of one hour.
const (
	keys         = 5000
	firstArrival = 1_700_000_000_123 // milliseconds since 1970

	// aggregatedSize is that of an aggregated record: the KPL's default (AggregationMaxSize).
	aggregatedSize = 50 << 10
)

// sequenceBase and the number of a record, in countedDigits, are its sequence number: 56 digits, as the service's.
const (
	sequenceBase  = "49590338271490256608559692538361571095921575"
	countedDigits = 12
)

// canned is the longest answer there is, and where its records end. Shorter ones are parts of it.
type canned struct {
	cbor    bool
	records []byte // all of them, with what stands between
	ends    []int  // of each record
	digits  []int  // where the counted digits of each record's sequence number stand
}

// newCanned makes an answer whose payloads have size bytes: of records, or of the user records in aggregated ones.
func newCanned(cbor, aggregated bool, size int) (*canned, error) {
	random := rand.New(rand.NewPCG(1, 2))
	c := &canned{cbor: cbor}
	payload := make([]byte, size)
	for i, total := 0, 0; i < maxRecords; i++ {
		data := payload
		fill(random, payload)
		if aggregated {
			var err error
			if data, err = aggregate(random, payload); err != nil {
				return nil, err
			}
		}
		key := keyOf(random)
		if total += len(data) + len(key); total > maxBytes {
			break
		}
		c.add(key, data, firstArrival+int64(i))
	}
	return c, nil
}

func fill(random *rand.Rand, payload []byte) {
	for i := range payload {
		payload[i] = byte(random.Uint32())
	}
}

func keyOf(random *rand.Rand) string {
	return fmt.Sprintf("%08x-0000-4000-8000-00000000beef", random.IntN(keys))
}

func aggregate(random *rand.Rand, payload []byte) ([]byte, error) {
	a := kpl.NewAggregator(aggregatedSize)
	for {
		fill(random, payload)
		full, err := a.Add(keyOf(random), "", payload)
		if err != nil {
			return nil, err
		}
		if full {
			return a.Finish(), nil
		}
	}
}

// add writes a record as the service writes it: in CBOR, maps of unknown length, and milliseconds with tag 1.
func (c *canned) add(key string, data []byte, arrival int64) {
	number := sequenceBase + fmt.Sprintf("%0*d", countedDigits, len(c.ends))
	if c.cbor {
		b := append(c.records, 0xbf)
		b = appendText(b, "ApproximateArrivalTimestamp")
		b = binary.BigEndian.AppendUint64(append(b, 0xc1, 0x1b), uint64(arrival))
		b = appendText(b, "Data")
		b = append(appendHead(b, 2, len(data)), data...)
		b = appendText(b, "PartitionKey")
		b = appendText(b, key)
		b = appendText(b, "SequenceNumber")
		b = appendText(b, number)
		c.digits = append(c.digits, len(b)-countedDigits)
		c.records = append(b, 0xff)
	} else {
		b := c.records
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"ApproximateArrivalTimestamp":%d.%03d,"Data":"`, arrival/1000, arrival%1000)
		b = base64.StdEncoding.AppendEncode(b, data)
		b = fmt.Appendf(b, `","PartitionKey":%q,"SequenceNumber":%q}`, key, number)
		c.digits = append(c.digits, len(b)-len(`"}`)-countedDigits)
		c.records = b
	}
	c.ends = append(c.ends, len(c.records))
}

func appendText(b []byte, s string) []byte { return append(appendHead(b, 3, len(s)), s...) }

// appendHead writes the beginning of an item of CBOR (RFC 8949).
func appendHead(b []byte, major byte, n int) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n < 1<<8:
		return append(b, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
}

// contentType is that of the answers.
func (c *canned) contentType() string {
	if c.cbor {
		return "application/x-amz-cbor-1.1"
	}
	return "application/x-amz-json-1.1"
}

// answer appends an answer with at most limit records, numbered from a number on. The reader is a second behind.
func (c *canned) answer(to []byte, from, limit int) []byte {
	limit = max(1, min(limit, len(c.ends)))
	next := iteratorAt(from + limit)
	if c.cbor {
		to = appendText(append(to, 0xbf), "MillisBehindLatest")
		to = appendText(appendHead(to, 0, 1000), "NextShardIterator")
		to = appendText(appendText(to, next), "Records")
		to = append(to, 0x9f)
	} else {
		to = fmt.Appendf(to, `{"MillisBehindLatest":1000,"NextShardIterator":%q,"Records":[`, next)
	}
	begin := len(to)
	to = append(to, c.records[:c.ends[limit-1]]...)
	for i, at := range c.digits[:limit] {
		writeDigits(to[begin+at:begin+at+countedDigits], from+i)
	}
	if c.cbor {
		return append(to, 0xff, 0xff)
	}
	return append(to, "]}"...)
}

func writeDigits(to []byte, n int) {
	for i := range slices.Backward(to) {
		to[i] = byte('0' + n%10)
		n /= 10
	}
}

// iteratorMark begins an iterator: the rest is the number of the record to read first.
const iteratorMark = "iterator-"

// iteratorAt is as long as the service's are, about.
func iteratorAt(n int) string { return fmt.Sprintf("%s%0180d", iteratorMark, n) }

// question is what GetRecords asks for, in either format: nothing else in it looks alike.
func question(body []byte) (from, limit int) {
	limit = maxRecords
	if _, after, ok := bytes.Cut(body, []byte(iteratorMark)); ok {
		from = number(after)
	}
	if _, after, ok := bytes.Cut(body, []byte(`"Limit":`)); ok {
		limit = number(after)
	} else if _, after, ok := bytes.Cut(body, []byte("\x65Limit")); ok && len(after) >= 3 {
		switch after[0] {
		case 24:
			limit = int(after[1])
		case 25:
			limit = int(binary.BigEndian.Uint16(after[1:]))
		default:
			limit = int(after[0])
		}
	}
	return from, limit
}

func number(digits []byte) (n int) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}
