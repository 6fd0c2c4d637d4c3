package local

import (
	"slices"
	"sort"
	"strings"
	"time"
)

type stream struct {
	name          string
	arn           string
	mode          string
	created       time.Time
	maxRecordSize int // bytes, data and key together

	retention time.Duration
	floor     time.Time         // never a horizon before this: see stream.horizon
	tags      map[string]string // never nil
	rescaled  []time.Time       // when UpdateShardCount was called, within a day

	status  string
	settles time.Time       // when a status other than ACTIVE ends
	change  func(time.Time) // what happens at the end of UPDATING

	shards []*shard // in order of their numbers; forgotten ones are absent
	routes []*shard // the open ones, in order of their hash keys
	number uint32   // of the next shard

	// lastIndex numbers the records of all shards, as the service seems to: the
	// numbers within one shard have gaps.
	lastIndex uint64
}

// addShard appends a shard with the next number.
func (m *stream) addShard(now time.Time, created int64, start, end hashKey) *shard {
	h := &shard{stream: m, number: m.number, id: shardID(m.number), start: start, end: end, created: created, opened: now}
	m.number++
	m.shards = append(m.shards, h)
	return h
}

// route renews the routing table after shards were opened or closed.
func (m *stream) route() {
	m.routes = nil
	for _, h := range m.shards {
		if h.open() {
			m.routes = append(m.routes, h)
		}
	}
	sort.Slice(m.routes, func(i, j int) bool { return m.routes[i].start.less(m.routes[j].start) })
}

// shardFor is the open shard that takes the key.
func (m *stream) shardFor(key hashKey) *shard {
	i := sort.Search(len(m.routes), func(i int) bool { return key.less(m.routes[i].start) })
	return m.routes[i-1]
}

// shard finds a shard by its id; nil if there is none (any more).
func (m *stream) shard(id string) *shard {
	i := sort.Search(len(m.shards), func(i int) bool { return m.shards[i].id >= id })
	if i < len(m.shards) && m.shards[i].id == id {
		return m.shards[i]
	}
	return nil
}

// maxStreamName is the longest name of a stream, in characters (API reference, CreateStream).
const maxStreamName = 128

// target names the stream that a request is about, by name, ARN or both.
type target struct {
	StreamName string
	StreamARN  string
}

func (t target) check(v *violations) {
	v.matches(t.StreamName, "streamName", namePattern)
	v.atMost(t.StreamName, "streamName", maxStreamName)
	v.matches(t.StreamARN, "streamARN", arnPattern)
}

// name is the stream's name, by whichever way the target tells it.
func (t target) name() string {
	if t.StreamARN == "" {
		return t.StreamName
	}
	_, name, _ := strings.Cut(t.StreamARN, ":stream/")
	return name
}

// find returns the stream, with all changes that are due by now, in any status.
func (s *Server) find(t target, now time.Time) (*stream, error) {
	name := t.name()
	if t.StreamName != "" && t.StreamName != name {
		return nil, invalidArgument("StreamName %s does not match StreamARN %s.", t.StreamName, t.StreamARN)
	}
	if name == "" {
		return nil, invalidArgument("Either StreamName or StreamARN should be provided.")
	}
	if m := s.streams[name]; m != nil {
		s.settleStream(m, now) // which may delete it
	}
	m := s.streams[name]
	if m == nil || t.StreamARN != "" && t.StreamARN != m.arn {
		return nil, s.noStream(name)
	}
	return m, nil
}

func (s *Server) noStream(name string) error {
	return notFound("Stream %s under account %s not found.", name, s.config.Account)
}

// noShard is the answer about a shard that never was or is forgotten.
func (s *Server) noShard(m *stream, id string) error {
	return notFound("Shard %s in stream %s under account %s does not exist", id, m.name, s.config.Account)
}

// findReady is find for reads and writes of records: a stream that is being
// created does not exist yet for them, one that is being deleted still does.
func (s *Server) findReady(t target, now time.Time) (*stream, error) {
	m, err := s.find(t, now)
	if err == nil && m.status == creating {
		return nil, s.noStream(m.name)
	}
	return m, err
}

// forget drops closed shards all of whose records are past the retention.
func (m *stream) forget(horizon time.Time) {
	m.shards = slices.DeleteFunc(m.shards, func(h *shard) bool {
		return !h.open() && h.closed.Before(horizon)
	})
}
