package local

import "sort"

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
		RetentionPeriodHours:    m.retentionHours(),
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
