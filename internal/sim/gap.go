package sim

import (
	"math/rand/v2"
	"sort"
	"time"

	"github.com/leatstream/leat/lease"
)

// S13: what passes its retention before it was read is told of before anything that comes after it is handed out.

// minRetention is how old records are at least when they go. It is a day in truth; what the protocol does about
// trimmed shards needs a minute or two.
const minRetention = 20 * time.Second

// passRetention makes all records older than t go, and the shards that were closed before it.
func (s *streamModel) passRetention(t time.Duration) {
	for _, sh := range s.shards {
		s.expireBelow(sh, sort.Search(len(sh.records), func(i int) bool { return sh.records[i].arrival >= t }))
	}
	for _, sh := range s.closed() {
		if sh.closedAt <= t {
			s.trim(sh)
		}
	}
}

func (s *streamModel) expireBelow(sh *shard, horizon int) {
	for i := sh.horizon; i < horizon; i++ {
		sh.records[i].expired = true
	}
	sh.horizon = max(sh.horizon, horizon)
	if _, found := s.w.store.lease(sh.id); !found && (sh.byHand.missing || s.w.forgot()) {
		s.w.check.told(sh, horizon) // whoever deleted the lease of unread records was asked whether he was sure
	}
}

// forgot says whether all leases were deleted by hand, and none is made again.
func (w *world) forgot() bool {
	if !w.deleted {
		return false
	}
	for _, sh := range w.stream.shards {
		if _, found := w.store.lease(sh.id); found {
			return false
		}
	}
	return true
}

// expireShard makes the group too late for the oldest shard that it has not finished.
func (s *streamModel) expireShard() bool {
	for _, sh := range s.closed() {
		if s.ready() && sh.endedAt == 0 && !sh.trimmed {
			s.passRetention(sh.closedAt)
			return true
		}
	}
	return false
}

// expireRecords makes the group too late for some records that wait, if any has waited for long.
func (s *streamModel) expireRecords(rng *rand.Rand) bool {
	if !s.ready() {
		return false
	}
	for range 5 {
		sh := s.shards[rng.IntN(len(s.shards))]
		if sh.trimmed || len(sh.records) == 0 {
			continue
		}
		i := sort.Search(len(sh.records), func(i int) bool { return !sh.records[i].acked && !sh.records[i].expired })
		last := sort.Search(len(sh.records), func(i int) bool { return sh.records[i].arrival >= s.w.now-minRetention })
		if i < last {
			s.passRetention(sh.records[i+rng.IntN(last-i)].arrival + time.Millisecond)
			return true
		}
	}
	return false
}

// ready says whether the group has its first leases: what expires before is not its loss.
func (s *streamModel) ready() bool {
	control, _ := s.w.store.get(lease.ControlKey())
	record, _ := control.Control.Stream(s.w.cfg.Stream)
	return record.Ready
}

// told notes that somebody was told of the records below some index that have passed their retention, so far as
// they were not handled. With them he was told of the ancestors that went before they had a lease: nobody knows of such
// a shard but by its child.
func (c *checks) told(sh *shard, below int) {
	c.toldRound++
	c.toldOf(sh, below)
}

func (c *checks) toldOf(sh *shard, below int) {
	sh.toldRound = c.toldRound // after splits and merges there are many ways to one ancestor
	for i := range sh.records[:below] {
		if r := &sh.records[i]; r.expired && !r.acked && !r.told {
			r.told = true
			c.w.res.Lost++
		}
	}
	for _, p := range sh.parents {
		if p.trimmed && !p.everCreated && p.toldRound != c.toldRound {
			c.toldOf(p, len(p.records))
		}
	}
}

// noGap looks at the records up to a place in a shard that is about to be passed.
func (c *checks) noGap(sh *shard, worker string, from, to int) {
	for i := from; i < to; i++ {
		if r := &sh.records[i]; r.expired && !r.finished && !r.told {
			c.w.violate("S13 gap", sh.id, worker, "record %d (key %d, number %d) has passed its retention, nobody was told, and the group goes on behind it",
				i, r.key, r.n)
			return
		}
	}
}

// skipGap goes on at the oldest record that is left, if what comes next is past its retention. A reader
// cannot know of a gap if it has no record to go on from.
func (g *grant) skipGap(horizon int) {
	if g.running || g.handed != g.fetched || g.added != g.fetched {
		return // first what was read before the gap
	}
	known := g.start.Begun() || g.handed > g.first
	if g.p.w.opt.Bug != SilentGap || !known {
		g.p.w.check.told(g.shard, horizon)
	}
	if !known {
		g.p.w.res.Untold++
	}
	for ; g.added < horizon; g.added++ {
		g.tracker.Ack(g.tracker.Add(g.shard.records[g.added].position()))
	}
	g.handed, g.fetched = horizon, horizon
}
