package local

import "time"

const (
	// The most that one GetRecords call returns (its API page).
	maxGetRecords = 10_000
	maxGetBytes   = 10 << 20
)

type getRecordsRequest struct {
	ShardIterator string
	StreamARN     string
	Limit         *int32
	DryRun        bool
}

type getRecordsAnswer struct {
	Records            []record
	NextShardIterator  string // empty at the end of a closed shard
	MillisBehindLatest int64
	ChildShards        []childShard // only at the end of a closed shard
}

type childShard struct {
	ShardId      string
	ParentShards []string
	HashKeyRange hashKeyRange
}

type hashKeyRange struct {
	StartingHashKey string
	EndingHashKey   string
}

func (s *Server) getRecords(r *getRecordsRequest) (*getRecordsAnswer, error) {
	var v violations
	v.required(r.ShardIterator, "shardIterator")
	v.atMost(r.ShardIterator, "shardIterator", 512)
	v.matches(r.StreamARN, "streamARN", arnPattern)
	v.between(r.Limit, "limit", 1, maxGetRecords)
	if err := v.err(); err != nil {
		return nil, err
	}
	now := s.now()
	at, ok := parseIterator(r.ShardIterator)
	if !ok {
		return nil, invalidArgument("Invalid ShardIterator.")
	}
	if now.Sub(time.UnixMilli(at.issued)) > iteratorLife {
		return nil, expiredIterator(time.UnixMilli(at.issued), now)
	}
	m, err := s.findReady(target{at.stream, r.StreamARN}, now)
	if err != nil {
		return nil, err
	}
	if m.created.UnixMilli() != at.created {
		return nil, s.noStream(m.name)
	}
	horizon := m.horizon(now)
	m.forget(horizon)
	h := m.shard(shardID(at.shard))
	if h == nil {
		return nil, s.noShard(m, shardID(at.shard))
	}
	if r.DryRun {
		return nil, dryRun()
	}
	if !s.config.Unlimited && !h.reads.allows(now) {
		return nil, s.rateExceeded(h)
	}

	h.trim(horizon)
	limit := maxGetRecords
	if r.Limit != nil {
		limit = int(*r.Limit)
	}
	answer, size := h.read(at.from, limit)
	if !s.config.Unlimited {
		h.reads.take(now, size)
	}
	s.place(answer, h, at.from, now)
	return answer, nil
}

// read returns the records from an index on, and their size in bytes.
func (h *shard) read(from uint64, limit int) (*getRecordsAnswer, int) {
	records := h.records[h.firstFrom(from):]
	n, size := 0, 0
	for n < len(records) && n < limit {
		more := len(records[n].data) + len(records[n].key)
		if size+more > maxGetBytes && n > 0 {
			break
		}
		size += more
		n++
	}
	return &getRecordsAnswer{Records: records[:n:n]}, size
}

// place tells the reader where the answer leaves it: the next iterator or the
// shard's end, and how far behind the tip.
func (s *Server) place(answer *getRecordsAnswer, h *shard, from uint64, now time.Time) {
	next := from
	if n := len(answer.Records); n > 0 {
		last := answer.Records[n-1]
		next = last.index + 1
		if h.firstFrom(next) < len(h.records) {
			// Zero would say that nothing is left, even within one millisecond.
			answer.MillisBehindLatest = max(1, now.UnixMilli()-last.arrival)
		}
	}
	ended := !h.open() && h.firstFrom(next) == len(h.records)
	if ended && (len(answer.Records) == 0 || s.config.EndWithRecords) {
		answer.ChildShards = h.childShards()
		return
	}
	answer.NextShardIterator = h.iteratorAt(next, now)
}

func (h *shard) childShards() []childShard {
	var children []childShard
	for _, c := range h.children {
		parents := []string{c.parent}
		if c.adjacent != "" {
			parents = append(parents, c.adjacent)
		}
		children = append(children, childShard{c.id, parents, c.hashKeyRange()})
	}
	return children
}

func (h *shard) hashKeyRange() hashKeyRange { return hashKeyRange{h.start.String(), h.end.String()} }

// expiredIterator has the service's wording, times in the form of Java's Date.
func expiredIterator(issued, now time.Time) error {
	const form = "Mon Jan 02 15:04:05 MST 2006"
	return failure("ExpiredIteratorException", "Iterator expired. The iterator was created at time %s "+
		"while right now it is %s which is further in the future than the tolerated delay of %d milliseconds.",
		issued.UTC().Format(form), now.UTC().Format(form), iteratorLife.Milliseconds())
}
