package local

type describeStreamRequest struct {
	target
	ExclusiveStartShardId string
	Limit                 *int32
}

type describeStreamAnswer struct {
	StreamDescription pagedDescription
}

// pagedDescription is the older description of a stream, with its shards.
type pagedDescription struct {
	StreamName              string
	StreamARN               string
	StreamStatus            string
	StreamModeDetails       streamMode
	RetentionPeriodHours    int
	StreamCreationTimestamp epoch
	EnhancedMonitoring      []monitoring
	EncryptionType          string
	Shards                  []shardDescription
	HasMoreShards           bool
}

// maxDescribedShards is the default and the most of a page, whatever the limit
// asked for (DescribeStream's API page).
const maxDescribedShards = 100

func (s *Server) describeStream(r *describeStreamRequest) (*describeStreamAnswer, error) {
	var v violations
	r.check(&v)
	v.between(r.Limit, "limit", 1, 10000)
	v.matches(r.ExclusiveStartShardId, "exclusiveStartShardId", namePattern)
	v.atMost(r.ExclusiveStartShardId, "exclusiveStartShardId", 128)
	if err := v.err(); err != nil {
		return nil, err
	}
	now := s.now()
	m, err := s.find(r.target, now)
	if err != nil {
		return nil, err
	}
	d := pagedDescription{
		StreamName:              m.name,
		StreamARN:               m.arn,
		StreamStatus:            m.status,
		StreamModeDetails:       streamMode{m.mode},
		RetentionPeriodHours:    m.retentionHours(),
		StreamCreationTimestamp: epoch{m.created},
		EnhancedMonitoring:      []monitoring{{ShardLevelMetrics: []string{}}},
		EncryptionType:          "NONE",
		Shards:                  []shardDescription{},
	}
	if m.status == creating { // its shards are not there yet
		return &describeStreamAnswer{d}, nil
	}
	limit := maxDescribedShards
	if r.Limit != nil {
		limit = min(limit, int(*r.Limit))
	}
	m.forget(m.horizon(now))
	for _, h := range m.shards {
		if h.id <= r.ExclusiveStartShardId {
			continue
		}
		if len(d.Shards) == limit {
			d.HasMoreShards = true
			break
		}
		d.Shards = append(d.Shards, h.description())
	}
	return &describeStreamAnswer{d}, nil
}

// onDemandStreamLimit is the default quota of on-demand streams (AWS, "Quotas and
// limits" of Kinesis Data Streams). It is told and not enforced.
const onDemandStreamLimit = 50

type describeLimitsRequest struct{}

type describeLimitsAnswer struct {
	ShardLimit               int
	OpenShardCount           int
	OnDemandStreamCount      int
	OnDemandStreamCountLimit int
}

func (s *Server) describeLimits(*describeLimitsRequest) (*describeLimitsAnswer, error) {
	s.settle(s.now())
	answer := &describeLimitsAnswer{
		ShardLimit:               s.config.ShardLimit,
		OpenShardCount:           s.openShards(),
		OnDemandStreamCountLimit: onDemandStreamLimit,
	}
	for _, m := range s.streams {
		if m.mode == onDemand {
			answer.OnDemandStreamCount++
		}
	}
	return answer, nil
}
