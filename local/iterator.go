package local

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"time"
)

// iteratorLife is how long a shard iterator can be used (GetShardIterator's API
// page: "expires 5 minutes after it is returned").
const iteratorLife = 5 * time.Minute

// The types of shard iterators.
const (
	atSequenceNumber    = "AT_SEQUENCE_NUMBER"
	afterSequenceNumber = "AFTER_SEQUENCE_NUMBER"
	atTimestamp         = "AT_TIMESTAMP"
	trimHorizon         = "TRIM_HORIZON"
	latest              = "LATEST"
)

// iterator is what a shard iterator encodes. It holds all that GetRecords needs:
// the server keeps nothing for an iterator.
type iterator struct {
	stream  string
	created int64  // the stream's creation: a recreated stream is another one
	shard   uint32 // number
	from    uint64 // index of the first record to read
	issued  int64  // Unix milliseconds
}

const (
	iteratorVersion = 1
	iteratorHeader  = 1 + 8 + 4 + 8 + 8
)

func (i iterator) String() string {
	b := []byte{iteratorVersion}
	b = binary.BigEndian.AppendUint64(b, uint64(i.created))
	b = binary.BigEndian.AppendUint32(b, i.shard)
	b = binary.BigEndian.AppendUint64(b, i.from)
	b = binary.BigEndian.AppendUint64(b, uint64(i.issued))
	b = append(b, i.stream...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.StdEncoding.EncodeToString(b)
}

// parseIterator undoes String. The checksum makes a garbled iterator an error
// instead of another position.
func parseIterator(text string) (iterator, bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < iteratorHeader+4 || b[0] != iteratorVersion {
		return iterator{}, false
	}
	b, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.ChecksumIEEE(b) != sum {
		return iterator{}, false
	}
	return iterator{
		created: int64(binary.BigEndian.Uint64(b[1:])),
		shard:   binary.BigEndian.Uint32(b[9:]),
		from:    binary.BigEndian.Uint64(b[13:]),
		issued:  int64(binary.BigEndian.Uint64(b[21:])),
		stream:  string(b[iteratorHeader:]),
	}, true
}

// iteratorAt makes an iterator that starts with the record of this index.
func (h *shard) iteratorAt(from uint64, now time.Time) string {
	return iterator{h.stream.name, h.stream.created.UnixMilli(), h.number, from, now.UnixMilli()}.String()
}

type getShardIteratorRequest struct {
	target
	ShardId                string
	ShardIteratorType      string
	StartingSequenceNumber string
	Timestamp              *epoch
	DryRun                 bool
}

type getShardIteratorAnswer struct {
	ShardIterator string
}

func (s *Server) getShardIterator(r *getShardIteratorRequest) (*getShardIteratorAnswer, error) {
	var v violations
	r.check(&v)
	v.required(r.ShardId, "shardId")
	v.matches(r.ShardId, "shardId", namePattern)
	v.atMost(r.ShardId, "shardId", 128)
	v.required(r.ShardIteratorType, "shardIteratorType")
	v.oneOf(r.ShardIteratorType, "shardIteratorType",
		afterSequenceNumber, latest, atTimestamp, atSequenceNumber, trimHorizon)
	v.matches(r.StartingSequenceNumber, "startingSequenceNumber", sequencePattern)
	if err := v.err(); err != nil {
		return nil, err
	}
	now := s.now()
	m, err := s.findReady(r.target, now)
	if err != nil {
		return nil, err
	}
	horizon := m.horizon(now)
	m.forget(horizon)
	h := m.shard(r.ShardId)
	if h == nil {
		return nil, s.noShard(m, r.ShardId)
	}
	h.trim(horizon)
	from, err := s.position(h, r, now)
	if err != nil {
		return nil, err
	}
	if r.DryRun {
		return nil, dryRun()
	}
	// GetShardIterator's API page: five calls a second per shard.
	if !s.config.Unlimited {
		if !h.iterators.allows(now) {
			return nil, s.rateExceeded(h)
		}
		h.iterators.take(now)
	}
	return &getShardIteratorAnswer{h.iteratorAt(from, now)}, nil
}

// position is the index of the first record that the request asks for.
func (s *Server) position(h *shard, r *getShardIteratorRequest, now time.Time) (uint64, error) {
	numbered := r.ShardIteratorType == atSequenceNumber || r.ShardIteratorType == afterSequenceNumber
	if r.ShardIteratorType != atTimestamp && numbered != (r.StartingSequenceNumber != "") {
		found := "no"
		if !numbered {
			found = "also a"
		}
		return 0, invalidArgument("Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and "+
			"StartingSequenceNumber or (2) TRIM_HORIZON or LATEST and no StartingSequenceNumber. "+
			"Request specified %s and %s StartingSequenceNumber.", r.ShardIteratorType, found)
	}
	if (r.ShardIteratorType == atTimestamp) != (r.Timestamp != nil) {
		return 0, invalidArgument("Must specify Timestamp with AT_TIMESTAMP, and only then. "+
			"Request specified %s.", r.ShardIteratorType)
	}
	switch r.ShardIteratorType {
	case trimHorizon:
		return 0, nil
	case latest:
		return h.stream.lastIndex + 1, nil
	case atTimestamp:
		if r.Timestamp.After(now) {
			return 0, invalidArgument("The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "+
				"timestampInMillis: %d, currentTimestampInMillis: %d", r.Timestamp.UnixMilli(), now.UnixMilli())
		}
		if i := h.firstSince(r.Timestamp.Time); i < len(h.records) {
			return h.records[i].index, nil
		}
		return h.stream.lastIndex + 1, nil
	}
	return s.numberedPosition(h, r)
}

// numberedPosition is position for the types that start from a sequence number.
func (s *Server) numberedPosition(h *shard, r *getShardIteratorRequest) (uint64, error) {
	invalid := func(why string) error {
		return invalidArgument("StartingSequenceNumber %s used in GetShardIterator on shard %s in stream %s under account %s is invalid%s.",
			r.StartingSequenceNumber, h.id, h.stream.name, s.config.Account, why)
	}
	q, ok := parseSequence(r.StartingSequenceNumber)
	switch {
	case !ok:
		return 0, invalid("")
	case q.shard != h.number:
		return 0, invalidArgument("Invalid StartingSequenceNumber. It encodes %s, while it was used in a call to a shard with %s",
			shardID(q.shard), h.id)
	case q.created != h.created:
		return 0, invalid(" because it did not come from this stream")
	case r.ShardIteratorType == atSequenceNumber:
		return q.index, nil
	}
	// The end of a closed shard has nothing after it, and the service says so. It
	// has been reported to say the same of the last record's number.
	end := q.index == endIndex
	if s.config.RefuseEnd && !h.open() {
		end = h.firstFrom(q.index+1) == len(h.records)
	}
	if end {
		return 0, invalidArgument("Invalid SequenceNumber for ShardIteratorType %s, "+
			"SequenceNumber has reached max possible value for the shard.", r.ShardIteratorType)
	}
	return q.index + 1, nil
}
