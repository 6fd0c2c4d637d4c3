package leat

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// jsonRecord is a record as JSON: a contract, see MarshalJSON.
type jsonRecord struct {
	Stream            string  `json:"stream"`
	Shard             string  `json:"shard"`
	SequenceNumber    string  `json:"sequenceNumber"`
	SubSequenceNumber *int64  `json:"subSequenceNumber,omitempty"`
	PartitionKey      string  `json:"partitionKey"`
	ExplicitHashKey   string  `json:"explicitHashKey,omitempty"`
	ArrivalTime       string  `json:"arrivalTime"`
	Data              *string `json:"data,omitempty"`
	DataBase64        *string `json:"dataBase64,omitempty"`
}

// MarshalJSON returns the record as leat tail prints it, on one line: stream, shard, sequenceNumber, partitionKey,
// arrivalTime (RFC 3339, UTC, milliseconds), and either data, if that is valid UTF-8, or dataBase64;
// subSequenceNumber only of a record out of an aggregated one, explicitHashKey only where it is known. More fields may
// come; these stay.
func (r Record) MarshalJSON() ([]byte, error) {
	line := jsonRecord{
		Stream: r.Stream, Shard: r.Shard, SequenceNumber: r.SequenceNumber,
		PartitionKey: r.PartitionKey, ExplicitHashKey: r.ExplicitHashKey,
		ArrivalTime: r.ArrivalTime.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
	}
	if r.Aggregated {
		line.SubSequenceNumber = &r.SubSequenceNumber
	}
	if utf8.Valid(r.Data) {
		text := string(r.Data)
		line.Data = &text
	} else {
		text := base64.StdEncoding.EncodeToString(r.Data)
		line.DataBase64 = &text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(line)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
