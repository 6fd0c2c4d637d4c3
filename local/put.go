package local

import (
	"fmt"
	"time"
)

const (
	// The most that one PutRecords call takes (its API page).
	maxPutRecords = 500
	maxPutBytes   = 10 << 20

	// maxDataBytes is the model's bound of a record's data, whatever the stream
	// allows (API reference, PutRecord).
	maxDataBytes = 10 << 20

	maxPartitionKey = 256 // characters (API reference, PutRecord)
)

type putRecordRequest struct {
	target
	putEntry
	SequenceNumberForOrdering string
	DryRun                    bool
}

type putEntry struct {
	Data            []byte
	PartitionKey    string
	ExplicitHashKey string
}

type putRecordAnswer struct {
	ShardId        string
	SequenceNumber string
	EncryptionType string
}

func (s *Server) putRecord(r *putRecordRequest) (*putRecordAnswer, error) {
	var v violations
	r.target.check(&v)
	r.putEntry.check(&v, "")
	v.matches(r.SequenceNumberForOrdering, "sequenceNumberForOrdering", sequencePattern)
	if err := v.err(); err != nil {
		return nil, err
	}
	now := s.now()
	m, err := s.findReady(r.target, now)
	if err != nil {
		return nil, err
	}
	// Numbers always grow here, so the wish is met if the number is one.
	if n := r.SequenceNumberForOrdering; n != "" {
		if _, ok := parseSequence(n); !ok {
			return nil, invalidArgument("ExclusiveMinimumSequenceNumber %s used in PutRecord on stream %s under account %s is invalid.",
				n, m.name, s.config.Account)
		}
	}
	h, err := m.accept(&r.putEntry)
	if err != nil {
		return nil, err
	}
	if r.DryRun {
		return nil, dryRun()
	}
	number, err := s.write(h, &r.putEntry, now)
	if err != nil {
		return nil, err
	}
	return &putRecordAnswer{h.id, number, "NONE"}, nil
}

type putRecordsRequest struct {
	target
	Records []putEntry
	DryRun  bool
}

type putRecordsAnswer struct {
	FailedRecordCount int
	Records           []putResult
	EncryptionType    string
}

// putResult has either the first two or the last two members.
type putResult struct {
	ShardId        string `json:",omitempty"`
	SequenceNumber string `json:",omitempty"`
	ErrorCode      string `json:",omitempty"`
	ErrorMessage   string `json:",omitempty"`
}

func (s *Server) putRecords(r *putRecordsRequest) (*putRecordsAnswer, error) {
	var v violations
	r.check(&v)
	v.want(len(r.Records) > 0, r.Records, "records", "Member must have length greater than or equal to 1")
	v.want(len(r.Records) <= maxPutRecords, "[...]", "records",
		fmt.Sprintf("Member must have length less than or equal to %d", maxPutRecords))
	size := 0
	for i := range r.Records {
		r.Records[i].check(&v, fmt.Sprintf("records.%d.member.", i+1))
		size += r.Records[i].size()
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	if size > maxPutBytes {
		return nil, invalidArgument("Records size exceeds %d MB limit", maxPutBytes>>20)
	}
	now := s.now()
	m, err := s.findReady(r.target, now)
	if err != nil {
		return nil, err
	}
	// An entry that can never be stored fails the request before any is stored;
	// what depends on the moment fails its entry only.
	shards := make([]*shard, len(r.Records))
	for i := range r.Records {
		if shards[i], err = m.accept(&r.Records[i]); err != nil {
			return nil, err
		}
	}
	if r.DryRun {
		return nil, dryRun()
	}
	answer := &putRecordsAnswer{Records: make([]putResult, len(r.Records)), EncryptionType: "NONE"}
	for i, h := range shards {
		number, err := s.write(h, &r.Records[i], now)
		if err != nil {
			failed := err.(*apiError)
			answer.FailedRecordCount++
			answer.Records[i] = putResult{ErrorCode: failed.kind, ErrorMessage: failed.message}
			continue
		}
		answer.Records[i] = putResult{ShardId: h.id, SequenceNumber: number}
	}
	return answer, nil
}

func (e *putEntry) size() int { return len(e.Data) + len(e.PartitionKey) }

// check validates the members of an entry; at is the path to them.
func (e *putEntry) check(v *violations, at string) {
	v.want(e.Data != nil, nil, at+"data", "Member must not be null")
	n := len(e.Data)
	v.want(n <= maxDataBytes, fmt.Sprintf("java.nio.HeapByteBuffer[pos=0 lim=%d cap=%d]", n, n), at+"data",
		fmt.Sprintf("Member must have length less than or equal to %d", maxDataBytes))
	v.required(e.PartitionKey, at+"partitionKey")
	v.atMost(e.PartitionKey, at+"partitionKey", maxPartitionKey)
	v.matches(e.ExplicitHashKey, at+"explicitHashKey", hashKeyPattern)
}

// accept checks an entry against the stream and returns the shard it goes to.
func (m *stream) accept(e *putEntry) (*shard, error) {
	if e.size() > m.maxRecordSize {
		return nil, invalidArgument("Record of %d bytes exceeds the maximum record size of stream %s: %d KiB.",
			e.size(), m.name, m.maxRecordSize>>10)
	}
	if e.ExplicitHashKey == "" {
		return m.shardFor(hashOf(e.PartitionKey)), nil
	}
	key, ok := parseHashKey(e.ExplicitHashKey)
	if !ok {
		return nil, invalidArgument("Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. "+
			"Specified value was %s", e.ExplicitHashKey)
	}
	return m.shardFor(key), nil
}

// write stores an entry within the shard's quota and returns its number.
func (s *Server) write(h *shard, e *putEntry, now time.Time) (string, error) {
	h.trim(h.stream.horizon(now))
	if !s.config.Unlimited && !h.writes.take(now, e.size()) {
		return "", s.rateExceeded(h)
	}
	return h.append(now, e.PartitionKey, e.Data), nil
}
