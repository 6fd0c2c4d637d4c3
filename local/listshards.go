package local

import (
	"encoding/base64"
	"encoding/json"
	"time"
)

// pageTokenLife is how long a NextToken can be used (ListShards' API page:
// "Tokens expire after 300 seconds").
const pageTokenLife = 300 * time.Second

// The types of shard filters.
const (
	filterAfterShardID    = "AFTER_SHARD_ID"
	filterAtTrimHorizon   = "AT_TRIM_HORIZON"
	filterFromTrimHorizon = "FROM_TRIM_HORIZON"
	filterAtLatest        = "AT_LATEST"
	filterAtTimestamp     = "AT_TIMESTAMP"
	filterFromTimestamp   = "FROM_TIMESTAMP"
)

type listShardsRequest struct {
	target
	NextToken               string
	ExclusiveStartShardId   string
	MaxResults              *int32
	StreamCreationTimestamp *epoch
	ShardFilter             *shardFilter
}

type shardFilter struct {
	Type      string
	ShardId   string
	Timestamp *epoch
}

type listShardsAnswer struct {
	NextToken string `json:",omitempty"`
	Shards    []shardDescription
}

type shardDescription struct {
	ShardId               string
	ParentShardId         string `json:",omitempty"`
	AdjacentParentShardId string `json:",omitempty"`
	HashKeyRange          hashKeyRange
	SequenceNumberRange   sequenceNumberRange
}

type sequenceNumberRange struct {
	StartingSequenceNumber string
	EndingSequenceNumber   string `json:",omitempty"` // of closed shards only
}

// page is what a NextToken encodes: the question as it was first asked, and
// where the next answer goes on.
type page struct {
	Stream  string
	Created int64 // Unix milliseconds
	After   string
	Filter  *filter
	Issued  int64 // Unix milliseconds
}

func (p page) String() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of strings and integers
	}
	return base64.StdEncoding.EncodeToString(b)
}

func parsePage(token string) (p page, ok bool) {
	b, err := base64.StdEncoding.DecodeString(token)
	return p, err == nil && json.Unmarshal(b, &p) == nil && p.Stream != ""
}

// filter is a shard filter with its time made definite.
type filter struct {
	Type string
	At   int64 // Unix milliseconds
}

func (s *Server) listShards(r *listShardsRequest) (*listShardsAnswer, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	now := s.now()
	p, err := s.pageOf(r, now)
	if err != nil {
		return nil, err
	}
	m, err := s.find(target{p.Stream, r.StreamARN}, now)
	if err != nil {
		return nil, err
	}
	if m.created.UnixMilli() != p.Created {
		return nil, s.noStream(m.name)
	}
	if m.status == creating {
		return nil, s.notActive(m)
	}

	m.forget(m.horizon(now))
	limit := 1000 // the API page: the default, and the most of a page
	if r.MaxResults != nil {
		limit = min(limit, int(*r.MaxResults))
	}
	answer := &listShardsAnswer{Shards: []shardDescription{}}
	for _, h := range m.shards {
		if h.id <= p.After || !p.Filter.takes(h) {
			continue
		}
		if len(answer.Shards) == limit {
			p.After = answer.Shards[limit-1].ShardId
			p.Issued = now.UnixMilli()
			answer.NextToken = p.String()
			break
		}
		answer.Shards = append(answer.Shards, h.description())
	}
	return answer, nil
}

// check applies the rules that need no state.
func (r *listShardsRequest) check() error {
	var v violations
	r.target.check(&v)
	v.between(r.MaxResults, "maxResults", 1, 10000)
	v.matches(r.ExclusiveStartShardId, "exclusiveStartShardId", namePattern)
	v.atMost(r.ExclusiveStartShardId, "exclusiveStartShardId", 128)
	f := r.ShardFilter
	if f != nil {
		v.required(f.Type, "shardFilter.type")
		v.oneOf(f.Type, "shardFilter.type", filterAfterShardID, filterAtTrimHorizon, filterFromTrimHorizon,
			filterAtLatest, filterAtTimestamp, filterFromTimestamp)
	}
	if err := v.err(); err != nil {
		return err
	}
	if r.NextToken != "" {
		// The token holds them all already (the API page on each member).
		clash := ""
		switch {
		case r.StreamName != "":
			clash = "StreamName"
		case r.StreamCreationTimestamp != nil:
			clash = "StreamCreationTimestamp"
		case r.ExclusiveStartShardId != "":
			clash = "ExclusiveStartShardId"
		case f != nil:
			clash = "ShardFilter"
		default:
			return nil
		}
		return invalidArgument("NextToken and %s cannot be provided together.", clash)
	}
	if r.StreamName == "" && r.StreamARN == "" {
		return invalidArgument("Either NextToken or StreamName should be provided.")
	}
	if f == nil {
		return nil
	}
	timed := f.Type == filterAtTimestamp || f.Type == filterFromTimestamp
	switch {
	case timed && f.Timestamp == nil:
		return invalidArgument("Timestamp must be provided in ShardFilter for type %s.", f.Type)
	case !timed && f.Timestamp != nil:
		return invalidArgument("Timestamp cannot be provided in ShardFilter for type %s.", f.Type)
	case f.Type == filterAfterShardID && f.ShardId == "":
		return invalidArgument("ShardId must be provided in ShardFilter for type %s.", f.Type)
	case f.Type != filterAfterShardID && f.ShardId != "":
		return invalidArgument("ShardId cannot be provided in ShardFilter for type %s.", f.Type)
	}
	return nil
}

// pageOf is the page that the request asks for: its token's, or the first.
func (s *Server) pageOf(r *listShardsRequest, now time.Time) (page, error) {
	if r.NextToken != "" {
		p, ok := parsePage(r.NextToken)
		if !ok {
			return page{}, invalidArgument("Invalid NextToken.")
		}
		if now.Sub(time.UnixMilli(p.Issued)) > pageTokenLife {
			return page{}, failure("ExpiredNextTokenException", "NextToken expired: it was issued more than %d seconds ago.",
				int(pageTokenLife.Seconds()))
		}
		return p, nil
	}
	m, err := s.find(r.target, now)
	if err != nil {
		return page{}, err
	}
	p := page{Stream: m.name, Created: m.created.UnixMilli(), After: r.ExclusiveStartShardId}
	if t := r.StreamCreationTimestamp; t != nil && t.UnixMilli() != p.Created {
		return page{}, s.noStream(m.name)
	}
	if f := r.ShardFilter; f != nil {
		p.After = max(p.After, f.ShardId)
		// Pages of one listing share one horizon, or a shard could drop out of
		// the middle of AT_TRIM_HORIZON.
		at := m.horizon(now)
		if f.Timestamp != nil && f.Timestamp.After(at) {
			// An earlier time means the horizon: said of FROM_TIMESTAMP, and with
			// AT_TIMESTAMP nothing else can be answered.
			at = f.Timestamp.Time
		}
		p.Filter = &filter{f.Type, at.UnixMilli()}
	}
	return p, nil
}

// takes says whether the shard passes; the bounds are those of ShardFilter's API
// page, equal times included.
func (f *filter) takes(h *shard) bool {
	if f == nil {
		return true
	}
	begun := h.opened.UnixMilli() <= f.At
	lasted := h.open() || h.closed.UnixMilli() >= f.At
	switch f.Type {
	case filterAtLatest:
		return h.open()
	case filterAtTrimHorizon, filterAtTimestamp:
		return begun && lasted
	case filterFromTimestamp:
		return lasted
	}
	return true
}

func (h *shard) description() shardDescription {
	d := shardDescription{
		ShardId:               h.id,
		ParentShardId:         h.parent,
		AdjacentParentShardId: h.adjacent,
		HashKeyRange:          h.hashKeyRange(),
		SequenceNumberRange:   sequenceNumberRange{StartingSequenceNumber: h.firstSequence()},
	}
	if !h.open() {
		d.SequenceNumberRange.EndingSequenceNumber = h.lastSequence()
	}
	return d
}
