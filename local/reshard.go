package local

import "time"

type splitShardRequest struct {
	target
	ShardToSplit       string
	NewStartingHashKey string
}

func (s *Server) splitShard(r *splitShardRequest) (*none, error) {
	var v violations
	r.check(&v)
	v.required(r.ShardToSplit, "shardToSplit")
	v.matches(r.ShardToSplit, "shardToSplit", namePattern)
	v.required(r.NewStartingHashKey, "newStartingHashKey")
	v.matches(r.NewStartingHashKey, "newStartingHashKey", hashKeyPattern)
	if err := v.err(); err != nil {
		return nil, err
	}
	m, parents, err := s.toReshard("SplitShard", r.target, r.ShardToSplit)
	if err != nil {
		return nil, err
	}
	parent := parents[0]
	key, ok := parseHashKey(r.NewStartingHashKey)
	// Either child needs more than one key (the service's rule, by its message).
	if !ok || !parent.start.next().less(key) || !key.less(parent.end) {
		return nil, invalidArgument("NewStartingHashKey %s used in SplitShard() on shard %s in stream %s under account %s "+
			"is not both greater than one plus the shard's StartingHashKey %s and less than the shard's EndingHashKey %s.",
			r.NewStartingHashKey, parent.id, m.name, s.config.Account, parent.start, parent.end)
	}
	if err := s.roomFor(1); err != nil {
		return nil, err
	}
	s.startChange(m, func(at time.Time) {
		m.replace(at, parents, parent.start, key.previous())
		m.replace(at, parents, key, parent.end)
		m.route()
	})
	return &none{}, nil
}

type mergeShardsRequest struct {
	target
	ShardToMerge         string
	AdjacentShardToMerge string
}

func (s *Server) mergeShards(r *mergeShardsRequest) (*none, error) {
	var v violations
	r.check(&v)
	v.required(r.ShardToMerge, "shardToMerge")
	v.matches(r.ShardToMerge, "shardToMerge", namePattern)
	v.required(r.AdjacentShardToMerge, "adjacentShardToMerge")
	v.matches(r.AdjacentShardToMerge, "adjacentShardToMerge", namePattern)
	if err := v.err(); err != nil {
		return nil, err
	}
	m, parents, err := s.toReshard("MergeShards", r.target, r.ShardToMerge, r.AdjacentShardToMerge)
	if err != nil {
		return nil, err
	}
	// The service wants the one with the lower keys first (kinesalite's tests, which ran against it, too).
	low, high := parents[0], parents[1]
	if low.end == lastHashKey || low.end.next() != high.start {
		return nil, invalidArgument("Shards %s and %s in stream %s under account %s "+
			"are not an adjacent pair of shards eligible for merging",
			r.ShardToMerge, r.AdjacentShardToMerge, m.name, s.config.Account)
	}
	s.startChange(m, func(at time.Time) {
		m.replace(at, parents, low.start, high.end)
		m.route()
	})
	return &none{}, nil
}

// toReshard finds an active, provisioned stream and open shards of it.
func (s *Server) toReshard(operation string, t target, ids ...string) (*stream, []*shard, error) {
	now := s.now()
	m, err := s.find(t, now)
	if err != nil {
		return nil, nil, err
	}
	if m.status != active {
		return nil, nil, s.notActive(m)
	}
	if m.mode == onDemand {
		return nil, nil, failure("ValidationException", "%s is not supported for stream %s under account %s: it is in %s mode.",
			operation, m.name, s.config.Account, onDemand)
	}
	m.forget(m.horizon(now))
	var shards []*shard
	for _, id := range ids {
		h := m.shard(id)
		if h == nil {
			return nil, nil, notFound("Could not find shard %s in stream %s under account %s.", id, m.name, s.config.Account)
		}
		shards = append(shards, h)
	}
	for _, h := range shards {
		if !h.open() {
			return nil, nil, invalidArgument("Shard %s in stream %s under account %s has already been merged or split, "+
				"and thus is not eligible for merging or splitting.", h.id, m.name, s.config.Account)
		}
	}
	return m, shards, nil
}

// startChange makes a change at the end of UPDATING: until then all is as it was,
// so that the parents in a resharding take records.
func (s *Server) startChange(m *stream, change func(time.Time)) {
	now := s.now()
	m.change = change
	m.enter(updating, now.Add(s.config.Transition))
	s.settleStream(m, now)
}

// replace closes the parents and opens one child of them, which it returns.
func (m *stream) replace(at time.Time, parents []*shard, start, end hashKey) *shard {
	created := at.Unix()
	for _, p := range parents {
		p.closed = at
		created = max(created, p.created)
	}
	// A second later than any parent: the child's numbers are above theirs.
	child := m.addShard(at, created+1, start, end)
	child.parent = parents[0].id
	if len(parents) > 1 {
		child.adjacent = parents[1].id
	}
	for _, p := range parents {
		p.children = append(p.children, child)
	}
	return child
}
