package local

import (
	"slices"
	"time"
)

// The quotas of UpdateShardCount (its API page).
const (
	rescalesPerDay = 10 // calls for one stream, in any 24 hours
	maxRescaled    = 10_000
)

type updateShardCountRequest struct {
	target
	TargetShardCount *int32
	ScalingType      string
}

type updateShardCountAnswer struct {
	StreamName        string
	StreamARN         string
	CurrentShardCount int
	TargetShardCount  int
}

func (s *Server) updateShardCount(r *updateShardCountRequest) (*updateShardCountAnswer, error) {
	var v violations
	r.check(&v)
	v.required(r.ScalingType, "scalingType")
	v.oneOf(r.ScalingType, "scalingType", "UNIFORM_SCALING")
	v.want(r.TargetShardCount != nil, nil, "targetShardCount", "Member must not be null")
	v.between(r.TargetShardCount, "targetShardCount", 1, 1<<31-1)
	if err := v.err(); err != nil {
		return nil, err
	}
	m, _, err := s.toReshard("UpdateShardCount", r.target)
	if err != nil {
		return nil, err
	}
	now, current, count := s.now(), len(m.routes), int(*r.TargetShardCount)
	// The API page tells the bounds and not the error. The message is the service's;
	// its type is what floci answers, where kinesis-local has InvalidArgumentException.
	switch {
	case count > 2*current:
		return nil, limitExceeded("UpdateShardCount cannot scale up over double your current open shard count. "+
			"Current open shard count: %d, Target shard count: %d", current, count)
	case 2*count < current:
		return nil, limitExceeded("UpdateShardCount cannot scale down below half your current open shard count. "+
			"Current open shard count: %d, Target shard count: %d", current, count)
	case count > maxRescaled:
		return nil, limitExceeded("UpdateShardCount cannot scale a stream to more than %d shards. Target shard count: %d",
			maxRescaled, count)
	}
	// The short-lived shards count with the service, too. Here nobody sees them
	// open, so they do not stand in the way of a stream that shrinks.
	if err := s.roomFor(max(0, count-current)); err != nil {
		return nil, err
	}
	if !s.config.Unlimited {
		m.rescaled = slices.DeleteFunc(m.rescaled, func(t time.Time) bool { return now.Sub(t) >= 24*time.Hour })
		if len(m.rescaled) >= rescalesPerDay {
			return nil, limitExceeded("UpdateShardCount cannot be called more than %d times in 24 hours for stream %s under account %s.",
				rescalesPerDay, m.name, s.config.Account)
		}
		m.rescaled = append(m.rescaled, now)
	}
	s.startChange(m, func(at time.Time) { m.rescale(at, count) })
	return &updateShardCountAnswer{m.name, m.arn, current, count}, nil
}

// rescale splits and merges until count equal shards are open. It goes over the
// hash keys once: what reaches beyond the next bound is split there, what ends
// before it is merged with what follows.
func (m *stream) rescale(at time.Time, count int) {
	open := slices.Clone(m.routes)
	split := func(h *shard, end hashKey) (low, high *shard) {
		parent := []*shard{h}
		return m.replace(at, parent, h.start, end), m.replace(at, parent, end.next(), h.end)
	}
	for _, end := range m.bounds(count) {
		h := open[0]
		open = open[1:]
		for h.end.less(end) {
			next := open[0]
			if end.less(next.end) {
				next, open[0] = split(next, end)
			} else {
				open = open[1:]
			}
			h = m.replace(at, []*shard{h, next}, h.start, next.end)
		}
		if end.less(h.end) {
			_, rest := split(h, end)
			open = slices.Insert(open, 0, rest)
		}
	}
	m.route()
}

// bounds are the last keys of count equal shards. A present bound is good enough
// if it differs only by what divisions have left over: else six shards could not
// become three by merging pairs.
func (m *stream) bounds(count int) []hashKey {
	ends := make([]hashKey, 0, count)
	present := m.routes
	for i := 1; i < count; i++ {
		end := hashRangeStart(i, count).previous()
		for len(present) > 0 && present[0].end.less(end) && !present[0].end.near(end) {
			present = present[1:]
		}
		if len(present) > 0 && present[0].end.near(end) {
			end = present[0].end
		}
		ends = append(ends, end)
	}
	return append(ends, lastHashKey)
}
