package local

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/leatstream/leat/local/internal/strict"
)

// maxLoadLine bounds a line that Load reads: the largest record, with each byte of its data escaped as
// JSON allows it, and room for the rest.
const maxLoadLine = 6*maxDataBytes + 1<<20

// Load creates streams and puts records into them, from JSON objects of one line each; blank lines are
// skipped. The output of leat tail can be loaded as it is.
//
// A line with partitionKey, data or dataBase64 is a record:
//
//	stream            its stream; with one shard if it does not exist
//	partitionKey      its partition key
//	data, dataBase64  its data, as text or in base64: one of them
//	explicitHashKey   optional
//	arrivalTime       optional, RFC 3339; kept if the stream can hold it, else now
//
// Other members are ignored: a record gets a sequence number, and a shard by its key, as if it were put.
// No quota holds it up. An arrival time is kept if it is within the stream's retention, not in the future and,
// where the stream had records before Load, not before the stream's creation. Within a shard times never go
// back: a record with an earlier one than the record before it gets that one's.
//
// Any other line creates a stream. Unknown members are errors here:
//
//	stream            its name
//	shards            optional, the number of its shards; default 1
//	retentionHours    optional, 24 to 8760; default Config.Retention
//	maxRecordSizeKiB  optional, 1024 to 10240; default Config.MaxRecordSize
//
// The lines take effect in their order, each at once. An error names the line and the member; the lines before
// it have had their effect. The reader is read to its end or to the first error.
func (s *Server) Load(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLoadLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := s.loadLine(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: is longer than %d MiB", n+1, maxLoadLine>>20)
	case err != nil:
		return fmt.Errorf("reading line %d: %w", n+1, err)
	}
	return nil
}

// declared is a line that creates a stream.
type declared struct {
	Stream           string `json:"stream"`
	Shards           *int32 `json:"shards"`
	RetentionHours   *int32 `json:"retentionHours"`
	MaxRecordSizeKiB *int32 `json:"maxRecordSizeKiB"`
}

// loaded is a line with a record.
type loaded struct {
	Stream          string  `json:"stream"`
	PartitionKey    *string `json:"partitionKey"`
	ExplicitHashKey string  `json:"explicitHashKey"`
	ArrivalTime     *string `json:"arrivalTime"`
	Data            *string `json:"data"`
	DataBase64      *string `json:"dataBase64"`
}

// loadLine carries out one line. Its errors begin with the member's name.
func (s *Server) loadLine(line []byte) error {
	if !utf8.Valid(line) {
		return errors.New("is not UTF-8")
	}
	var l loaded
	if err := json.Unmarshal(line, &l); err != nil {
		return strict.Problem(err)
	}
	if l.PartitionKey != nil || l.Data != nil || l.DataBase64 != nil {
		return s.loadRecord(&l)
	}
	var d declared
	if err := strict.Decode(line, &d); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.declare(&d)
}

func (s *Server) declare(d *declared) error {
	if err := checkStreamName(d.Stream); err != nil {
		return err
	}
	shards, retention := int32(1), s.config.Retention
	for _, number := range []struct {
		name        string
		value       *int32
		least, most int32
	}{
		{"shards", d.Shards, 1, 1<<31 - 1},
		{"retentionHours", d.RetentionHours, leastRetention, mostRetention},
		{"maxRecordSizeKiB", d.MaxRecordSizeKiB, leastRecordSizeKiB, mostRecordSizeKiB},
	} {
		if v := number.value; v != nil && (*v < number.least || *v > number.most) {
			return fmt.Errorf("%s: %d is not from %d to %d", number.name, *v, number.least, number.most)
		}
	}
	if d.Shards != nil {
		shards = *d.Shards
	}
	if d.RetentionHours != nil {
		retention = time.Duration(*d.RetentionHours) * time.Hour
	}
	_, err := s.createStream(&createStreamRequest{StreamName: d.Stream, ShardCount: &shards, MaxRecordSizeInKiB: d.MaxRecordSizeKiB})
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	// What is loaded is there at once, Config.Transition is for clients.
	m := s.streams[d.Stream]
	m.retention, m.status = retention, active
	return nil
}

func (s *Server) loadRecord(l *loaded) error {
	entry, err := l.entry()
	if err != nil {
		return err
	}
	var arrival *time.Time
	if l.ArrivalTime != nil {
		t, err := time.Parse(time.RFC3339, *l.ArrivalTime)
		if err != nil {
			return fmt.Errorf("arrivalTime: %q is not a time such as 2026-01-02T15:04:05.000Z", *l.ArrivalTime)
		}
		arrival = &t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	m, err := s.find(target{StreamName: l.Stream}, now)
	if err != nil {
		if err := s.declare(&declared{Stream: l.Stream}); err != nil {
			return err
		}
		m = s.streams[l.Stream]
	}
	// A stream that never had a record, nor another shard, may as well be as old as its retention.
	if m.lastIndex == 0 && int(m.number) == len(m.routes) {
		m.backdate(now.Add(-m.retention))
	}
	h, err := m.accept(entry)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	at := now
	if arrival != nil && !arrival.After(now) && !arrival.Before(m.horizon(now)) {
		at = *arrival
	}
	if n := len(h.records); n > 0 && at.UnixMilli() < h.records[n-1].arrival {
		at = time.UnixMilli(h.records[n-1].arrival)
	}
	h.append(at, entry.PartitionKey, entry.Data)
	return nil
}

// entry checks the members that PutRecord has, too.
func (l *loaded) entry() (*putEntry, error) {
	if err := checkStreamName(l.Stream); err != nil {
		return nil, err
	}
	e := &putEntry{ExplicitHashKey: l.ExplicitHashKey}
	switch {
	case l.PartitionKey == nil || *l.PartitionKey == "":
		return nil, errors.New("partitionKey: is missing")
	case utf8.RuneCountInString(*l.PartitionKey) > maxPartitionKey:
		return nil, fmt.Errorf("partitionKey: has more than %d characters", maxPartitionKey)
	case l.Data != nil && l.DataBase64 != nil:
		return nil, errors.New("dataBase64: there is data, too")
	case l.Data != nil:
		e.Data = []byte(*l.Data)
	case l.DataBase64 != nil:
		var err error
		if e.Data, err = base64.StdEncoding.DecodeString(*l.DataBase64); err != nil {
			return nil, fmt.Errorf("dataBase64: %w", err)
		}
	default:
		return nil, errors.New("data: is missing, and dataBase64")
	}
	e.PartitionKey = *l.PartitionKey
	if k := l.ExplicitHashKey; k != "" {
		if _, ok := parseHashKey(k); !ok {
			return nil, fmt.Errorf("explicitHashKey: %q is not a number from 0 to 2^128-1", k)
		}
	}
	return e, nil
}

func checkStreamName(name string) error {
	switch {
	case name == "":
		return errors.New("stream: is missing")
	case !namePattern.re.MatchString(name) || len(name) > maxStreamName:
		return fmt.Errorf("stream: %q is not a name of up to %d letters, digits, _ . and -", name, maxStreamName)
	}
	return nil
}

// backdate lets a stream without records have existed since then.
func (m *stream) backdate(since time.Time) {
	m.floor = since
	for _, h := range m.shards {
		h.opened = since
	}
}
