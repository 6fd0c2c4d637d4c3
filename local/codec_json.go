package local

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// codec translates between the wire and the operations' types.
type codec interface {
	// decode fills a request; it keeps nothing of body.
	decode(body []byte, request any) error
	// append adds an answer to b; it changes nothing in answer.
	append(b []byte, answer any) ([]byte, error)
	// appendError adds an error to b.
	appendError(b []byte, e *apiError) []byte
}

// codecs are the protocols spoken, by content type.
var codecs = map[string]codec{
	jsonType:           jsonCodec{},
	cborType:           cborCodec{},
	"application/json": jsonCodec{},
}

const jsonType = "application/x-amz-json-1.1"

// jsonCodec is AWS JSON 1.1. The request and answer types have the names of the
// API's members, so encoding/json does for all but records.
type jsonCodec struct{}

func (jsonCodec) decode(body []byte, request any) error {
	if len(body) == 0 {
		return nil
	}
	return json.Unmarshal(body, request)
}

func (jsonCodec) append(b []byte, answer any) ([]byte, error) {
	switch a := answer.(type) {
	case *none:
		return b, nil // such operations answer without a body
	case *getRecordsAnswer:
		return appendRecordsJSON(b, a)
	}
	encoded, err := json.Marshal(answer)
	return append(b, encoded...), err
}

func (jsonCodec) appendError(b []byte, e *apiError) []byte {
	b = append(b, `{"__type":`...)
	b = appendStringJSON(b, e.kind)
	b = append(b, `,"message":`...)
	b = appendStringJSON(b, e.message)
	return append(b, '}')
}

// appendRecordsJSON is the one encoder that has to be fast: a server that is
// slower than its clients measures itself.
func appendRecordsJSON(b []byte, a *getRecordsAnswer) ([]byte, error) {
	b = append(b, `{"MillisBehindLatest":`...)
	b = strconv.AppendInt(b, a.MillisBehindLatest, 10)
	b = append(b, `,"NextShardIterator":`...)
	if a.NextShardIterator == "" {
		b = append(b, "null"...)
	} else {
		b = appendStringJSON(b, a.NextShardIterator)
	}
	if a.ChildShards != nil {
		children, err := json.Marshal(a.ChildShards)
		if err != nil {
			return b, err
		}
		b = append(b, `,"ChildShards":`...)
		b = append(b, children...)
	}
	b = append(b, `,"Records":[`...)
	for i := range a.Records {
		r := &a.Records[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"SequenceNumber":"`...)
		b = append(b, r.sequence...)
		b = append(b, `","ApproximateArrivalTimestamp":`...)
		b = appendEpochJSON(b, r.arrival)
		b = append(b, `,"Data":"`...)
		b = base64.StdEncoding.AppendEncode(b, r.data)
		b = append(b, `","PartitionKey":`...)
		b = appendStringJSON(b, r.key)
		b = append(b, '}')
	}
	return append(b, "]}"...), nil
}

// appendEpochJSON adds Unix milliseconds as seconds, with a fraction if needed.
func appendEpochJSON(b []byte, ms int64) []byte {
	if ms < 0 {
		return strconv.AppendFloat(b, float64(ms)/1000, 'f', -1, 64)
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	if ms %= 1000; ms != 0 {
		b = append(b, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	}
	return b
}

// appendStringJSON adds a quoted string. Nearly all are plain ASCII, which needs
// a look at each byte and no more.
func appendStringJSON(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // no string is beyond encoding/json
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func (t epoch) MarshalJSON() ([]byte, error) {
	return appendEpochJSON(nil, t.UnixMilli()), nil
}

func (t *epoch) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	seconds, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return err
	}
	t.Time = time.UnixMilli(int64(math.Round(seconds * 1000)))
	return nil
}
