package local

import (
	"math"
	"time"
)

// The states of a stream.
const (
	creating = "CREATING"
	active   = "ACTIVE"
	updating = "UPDATING"
	deleting = "DELETING"
)

const (
	provisioned = "PROVISIONED"
	onDemand    = "ON_DEMAND"

	// onDemandShards is what a new on-demand stream starts with (AWS, "Choose
	// the right mode": 4 MB/s of writes, hence four shards).
	onDemandShards = 4

	// The bounds of a stream's largest record (API reference, CreateStream).
	leastRecordSizeKiB = 1024
	mostRecordSizeKiB  = 10240
)

type streamMode struct {
	StreamMode string
}

type createStreamRequest struct {
	StreamName         string
	ShardCount         *int32
	StreamModeDetails  *streamMode
	MaxRecordSizeInKiB *int32
	Tags               map[string]string
	// USER_PARTITION_KEY is the only strategy here.
	RecordDistributionStrategy string
}

func (s *Server) createStream(r *createStreamRequest) (*none, error) {
	var v violations
	v.required(r.StreamName, "streamName")
	v.matches(r.StreamName, "streamName", namePattern)
	v.atMost(r.StreamName, "streamName", maxStreamName)
	v.between(r.ShardCount, "shardCount", 1, math.MaxInt32)
	v.between(r.MaxRecordSizeInKiB, "maxRecordSizeInKiB", leastRecordSizeKiB, mostRecordSizeKiB)
	mode := provisioned
	if r.StreamModeDetails != nil {
		mode = r.StreamModeDetails.StreamMode
		v.required(mode, "streamModeDetails.streamMode")
		v.oneOf(mode, "streamModeDetails.streamMode", provisioned, onDemand)
	}
	v.oneOf(r.RecordDistributionStrategy, "recordDistributionStrategy", "USER_PARTITION_KEY")
	checkTags(&v, r.Tags)
	if err := v.err(); err != nil {
		return nil, err
	}

	count := onDemandShards
	switch {
	case mode == onDemand && r.ShardCount != nil:
		return nil, invalidArgument("ShardCount must not be specified for a stream in %s mode.", onDemand)
	case mode == provisioned && r.ShardCount == nil:
		return nil, invalidArgument("ShardCount must be specified for a stream in %s mode.", provisioned)
	case r.ShardCount != nil:
		count = int(*r.ShardCount)
	}

	now := s.now()
	s.settle(now)
	if s.streams[r.StreamName] != nil {
		return nil, inUse("Stream %s under account %s already exists.", r.StreamName, s.config.Account)
	}
	if err := s.roomFor(count); err != nil {
		return nil, err
	}
	busy := 0
	for _, m := range s.streams {
		if m.status == creating {
			busy++
		}
	}
	if busy >= 5 { // CreateStream's API page: "more than five streams in the CREATING state"
		return nil, limitExceeded("Too many streams are in the %s state: the limit is 5.", creating)
	}

	seconds := now.Unix()
	if p, ok := s.predecessors[r.StreamName]; ok {
		now = time.UnixMilli(s.passed(p.created.UnixMilli() + 1))
		seconds = max(seconds, p.seconds+1)
	}
	m := &stream{
		name:          r.StreamName,
		arn:           s.arn(r.StreamName),
		mode:          mode,
		created:       now,
		maxRecordSize: s.config.MaxRecordSize,
		retention:     s.config.Retention,
		floor:         now,
		tags:          make(map[string]string),
	}
	if err := s.tag(m, r.Tags); err != nil {
		return nil, err
	}
	if r.MaxRecordSizeInKiB != nil {
		m.maxRecordSize = int(*r.MaxRecordSizeInKiB) << 10
	}
	for i := range count {
		last := lastHashKey
		if i+1 < count {
			last = hashRangeStart(i+1, count).previous()
		}
		m.addShard(now, seconds, hashRangeStart(i, count), last)
	}
	m.route()
	s.streams[m.name] = m
	m.enter(creating, now.Add(s.config.Transition))
	s.settle(now)
	return &none{}, nil
}

// predecessor is what is kept of a deleted stream: its successor of the same name
// must differ, even if it is created within the same millisecond.
type predecessor struct {
	created time.Time
	seconds int64 // the creation time in the sequence numbers of its youngest shard
}

// openShards counts the open shards of all streams.
func (s *Server) openShards() int {
	open := 0
	for _, m := range s.streams {
		open += len(m.routes)
	}
	return open
}

// roomFor checks that count more open shards are within the account's limit.
func (s *Server) roomFor(count int) error {
	open := s.openShards()
	if open+count <= s.config.ShardLimit {
		return nil
	}
	return limitExceeded("This request would exceed the shard limit for the account %s in %s. "+
		"Current shard count for the account: %d. Limit: %d. "+
		"Number of additional shards that would have resulted from this request: %d. "+
		"Refer to the AWS Service Limits page (http://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) "+
		"for current limits and how to request higher limits.",
		s.config.Account, s.config.Region, open, s.config.ShardLimit, count)
}

type deleteStreamRequest struct {
	target
}

func (s *Server) deleteStream(r *deleteStreamRequest) (*none, error) {
	var v violations
	r.check(&v)
	if err := v.err(); err != nil {
		return nil, err
	}
	now := s.now()
	m, err := s.find(r.target, now)
	if err != nil {
		return nil, err
	}
	if m.status != active {
		return nil, s.notActive(m)
	}
	m.enter(deleting, now.Add(s.config.Transition))
	s.settleStream(m, now)
	return &none{}, nil
}

// enter sets a status that ends by itself.
func (m *stream) enter(status string, until time.Time) { m.status, m.settles = status, until }

// notActive is the refusal of a change while another is under way.
func (s *Server) notActive(m *stream) error {
	return inUse("Stream %s under account %s not ACTIVE, instead in state %s", m.name, s.config.Account, m.status)
}

// settle completes the changes that are due. Streams move on when they are
// looked at, not by timers: on a virtual clock nothing has to run in between.
func (s *Server) settle(now time.Time) {
	for _, m := range s.streams {
		s.settleStream(m, now)
	}
}

func (s *Server) settleStream(m *stream, now time.Time) {
	if m.status == active || now.Before(m.settles) {
		return
	}
	switch m.status {
	case deleting:
		delete(s.streams, m.name)
		p := predecessor{created: m.created}
		for _, h := range m.shards {
			p.seconds = max(p.seconds, h.created)
		}
		s.predecessors[m.name] = p
		return
	case updating:
		m.change(m.settles)
		m.change = nil
	}
	m.status = active
}
