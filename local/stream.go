package local

import (
	"math"
	"slices"
	"sort"
	"strings"
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
)

type stream struct {
	name          string
	arn           string
	mode          string
	created       time.Time
	maxRecordSize int // bytes, data and key together

	status  string
	settles time.Time       // when a status other than ACTIVE ends
	reshard func(time.Time) // what happens at the end of UPDATING

	shards []*shard // in order of their numbers; forgotten ones are absent
	routes []*shard // the open ones, in order of their hash keys
	number uint32   // of the next shard

	// lastIndex numbers the records of all shards, as the service seems to: the
	// numbers within one shard have gaps.
	lastIndex uint64
}

// epoch is a time on the wire: what each codec makes of it is its business.
type epoch struct{ time.Time }

type streamMode struct {
	StreamMode string
}

type createStreamRequest struct {
	StreamName         string
	ShardCount         *int32
	StreamModeDetails  *streamMode
	MaxRecordSizeInKiB *int32
	// USER_PARTITION_KEY is the only strategy here.
	RecordDistributionStrategy string
}

func (s *Server) createStream(r *createStreamRequest) (*none, error) {
	var v violations
	v.required(r.StreamName, "streamName")
	v.matches(r.StreamName, "streamName", namePattern)
	v.atMost(r.StreamName, "streamName", 128)
	most := int32(math.MaxInt32)
	v.between(r.ShardCount, "shardCount", 1, most)
	v.between(r.MaxRecordSizeInKiB, "maxRecordSizeInKiB", 1024, 10240)
	mode := provisioned
	if r.StreamModeDetails != nil {
		mode = r.StreamModeDetails.StreamMode
		v.required(mode, "streamModeDetails.streamMode")
		v.oneOf(mode, "streamModeDetails.streamMode", provisioned, onDemand)
	}
	v.oneOf(r.RecordDistributionStrategy, "recordDistributionStrategy", "USER_PARTITION_KEY")
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

	m := &stream{
		name:          r.StreamName,
		arn:           s.arn(r.StreamName),
		mode:          mode,
		created:       now,
		maxRecordSize: s.config.MaxRecordSize,
	}
	if r.MaxRecordSizeInKiB != nil {
		m.maxRecordSize = int(*r.MaxRecordSizeInKiB) << 10
	}
	for i := range count {
		last := lastHashKey
		if i+1 < count {
			last = hashRangeStart(i+1, count).previous()
		}
		m.addShard(now, now.Unix(), hashRangeStart(i, count), last)
	}
	m.route()
	s.streams[m.name] = m
	m.enter(creating, now.Add(s.config.Transition))
	s.settle(now)
	return &none{}, nil
}

// roomFor checks that count more open shards are within the account's limit.
func (s *Server) roomFor(count int) error {
	open := 0
	for _, m := range s.streams {
		open += len(m.routes)
	}
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
		return
	case updating:
		m.reshard(m.settles)
		m.reshard = nil
	}
	m.status = active
}

// target names the stream that a request is about, by name, ARN or both.
type target struct {
	StreamName string
	StreamARN  string
}

func (t target) check(v *violations) {
	v.matches(t.StreamName, "streamName", namePattern)
	v.atMost(t.StreamName, "streamName", 128)
	v.matches(t.StreamARN, "streamARN", arnPattern)
}

// find returns the stream, with all changes that are due by now, in any status.
func (s *Server) find(t target, now time.Time) (*stream, error) {
	name := t.StreamName
	if t.StreamARN != "" {
		_, named, _ := strings.Cut(t.StreamARN, ":stream/")
		if name != "" && name != named {
			return nil, invalidArgument("StreamName %s does not match StreamARN %s.", name, t.StreamARN)
		}
		name = named
	}
	if name == "" {
		return nil, invalidArgument("Either StreamName or StreamARN should be provided.")
	}
	if m := s.streams[name]; m != nil && (t.StreamARN == "" || t.StreamARN == m.arn) {
		s.settleStream(m, now)
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

// findReady is find for reads and writes of records: a stream that is being
// created does not exist yet for them, one that is being deleted still does.
func (s *Server) findReady(t target, now time.Time) (*stream, error) {
	m, err := s.find(t, now)
	if err == nil && m.status == creating {
		return nil, s.noStream(m.name)
	}
	return m, err
}

// horizon is the time of the oldest records that can be read: the retention
// back, or the stream's creation.
func (s *Server) horizon(m *stream, now time.Time) time.Time {
	horizon := now.Add(-s.config.Retention)
	if horizon.Before(m.created) {
		return m.created
	}
	return horizon
}

// forget drops closed shards all of whose records are past the retention.
func (m *stream) forget(horizon time.Time) {
	m.shards = slices.DeleteFunc(m.shards, func(h *shard) bool {
		return !h.open() && h.closed.Before(horizon)
	})
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

type describeStreamSummaryRequest struct {
	target
}

type describeStreamSummaryAnswer struct {
	StreamDescriptionSummary streamDescription
}

type streamDescription struct {
	StreamName              string
	StreamARN               string
	StreamStatus            string
	StreamModeDetails       streamMode
	RetentionPeriodHours    int
	StreamCreationTimestamp epoch
	EnhancedMonitoring      []monitoring
	EncryptionType          string
	OpenShardCount          int
	ConsumerCount           int
	MaxRecordSizeInKiB      int
}

type monitoring struct {
	ShardLevelMetrics []string
}

func (s *Server) describeStreamSummary(r *describeStreamSummaryRequest) (*describeStreamSummaryAnswer, error) {
	var v violations
	r.check(&v)
	if err := v.err(); err != nil {
		return nil, err
	}
	m, err := s.find(r.target, s.now())
	if err != nil {
		return nil, err
	}
	return &describeStreamSummaryAnswer{streamDescription{
		StreamName:              m.name,
		StreamARN:               m.arn,
		StreamStatus:            m.status,
		StreamModeDetails:       streamMode{m.mode},
		RetentionPeriodHours:    int(s.config.Retention.Hours()),
		StreamCreationTimestamp: epoch{m.created},
		EnhancedMonitoring:      []monitoring{{ShardLevelMetrics: []string{}}},
		EncryptionType:          "NONE",
		OpenShardCount:          len(m.routes),
		MaxRecordSizeInKiB:      m.maxRecordSize >> 10,
	}}, nil
}

type listStreamsRequest struct {
	ExclusiveStartStreamName string
	NextToken                string // the last name of the page before
	Limit                    *int32
}

type listStreamsAnswer struct {
	HasMoreStreams  bool
	NextToken       string `json:",omitempty"`
	StreamNames     []string
	StreamSummaries []streamSummary
}

type streamSummary struct {
	StreamName              string
	StreamARN               string
	StreamStatus            string
	StreamModeDetails       streamMode
	StreamCreationTimestamp epoch
}

func (s *Server) listStreams(r *listStreamsRequest) (*listStreamsAnswer, error) {
	var v violations
	v.between(r.Limit, "limit", 1, 10000)
	v.matches(r.ExclusiveStartStreamName, "exclusiveStartStreamName", namePattern)
	if err := v.err(); err != nil {
		return nil, err
	}
	s.settle(s.now())
	var names []string
	for name := range s.streams {
		if name > max(r.ExclusiveStartStreamName, r.NextToken) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	limit := 100 // ListStreams' API page: the default, and the most of a page
	if r.Limit != nil {
		limit = min(limit, int(*r.Limit))
	}
	answer := &listStreamsAnswer{StreamNames: []string{}, StreamSummaries: []streamSummary{}}
	if len(names) > limit {
		names = names[:limit]
		answer.HasMoreStreams, answer.NextToken = true, names[limit-1]
	}
	for _, name := range names {
		m := s.streams[name]
		answer.StreamNames = append(answer.StreamNames, name)
		answer.StreamSummaries = append(answer.StreamSummaries,
			streamSummary{m.name, m.arn, m.status, streamMode{m.mode}, epoch{m.created}})
	}
	return answer, nil
}

// noShard is the answer about a shard that never was or is forgotten.
func (s *Server) noShard(m *stream, id string) error {
	return notFound("Shard %s in stream %s under account %s does not exist", id, m.name, s.config.Account)
}
