package dispatch

import (
	"hash/maphash"

	"github.com/leatstream/leat/internal/record"
)

// call is one record's way to the handler, from where a worker looked at it in the queue to where the
// watermark passes it. Until the record is handled it lies in its batch; then only the call is left.
type call struct {
	record   *record.Record // nil once it is handled
	batch    *batch
	at       int        // where its record, or the aggregated one, lies in the batch
	key      uint64     // with order per key: which key it has, see keyOf
	of       *aggregate // of which it is a user record, or nil
	handle   Handle
	attempt  int   // how often it was handed out
	failures int   // how often it failed, alone or as one of many
	noticed  bool  // people hear of it, until it is handled
	late     bool  // nobody waits for it any more: see look
	turn     *turn // in which it is, or was last, handed out; nil before the first time

	older, newer  *call // in the shard
	before, after *call // of the same key, not handled
	next          *call // in the line of those that are ready

	user *record.Record // room for a user record, which lies in no batch; it stays with the call
}

// parked says whether an older record of the same key is not handled. Such a call was never handed out, unless together
// with that one.
func (c *call) parked() bool { return c.before != nil }

// calls are the calls of a shard above its watermark, in order. A key is a queue of calls: only its first
// one is handed out.
type calls struct {
	oldest, newest *call
	ofKey          map[uint64]*call // the newest one of each key that has any; nothing with order per shard

	ready, lastReady *call // those that were parked, and may be handed out: a line
	spare            *call // used up, to be used again; linked by newer
}

// keyOf is a number for a key. Two keys that have the same one count as one, and wait for each other.
func keyOf(r *record.Record) uint64 { return maphash.String(seed, r.PartitionKey) }

var seed = maphash.MakeSeed()

// add makes the call of the next record of b, or of the aggregated record a that is being taken apart there. If it is keyed, it
// comes after the one before of its key.
func (s *calls) add(b *batch, a *aggregate, keyed bool) *call {
	c := s.spare
	if c == nil {
		c = new(call)
	} else {
		s.spare = c.newer
	}
	*c = call{batch: b, at: b.next, of: a, older: s.newest, user: c.user}
	if a == nil {
		c.record = &b.records[b.next]
	} else {
		if c.user == nil {
			c.user = new(record.Record)
		}
		*c.user = a.ahead[0]
		c.record = c.user
	}
	if s.newest == nil {
		s.oldest = c
	} else {
		s.newest.newer = c
	}
	s.newest = c
	if keyed {
		c.key = keyOf(c.record)
		if before := s.ofKey[c.key]; before != nil {
			c.before, before.after = before, c
		}
		s.ofKey[c.key] = c
	}
	return c
}

// handled ends a call. The next one of its key, if there is one, is ready, unless it was handed out with it.
func (s *calls) handled(c *call) {
	switch {
	case c.after != nil:
		c.after.before = nil
		if c.after.turn == nil {
			s.push(c.after)
		}
		c.after = nil
	case s.ofKey != nil:
		delete(s.ofKey, c.key)
	}
	if c.of != nil {
		*c.user = record.Record{} // it keeps nothing in memory
	}
	c.record, c.batch, c.of, c.turn = nil, nil, nil, nil
	for s.oldest != nil && s.oldest.record == nil {
		passed := s.oldest
		s.oldest = passed.newer
		s.recycle(passed)
	}
	if s.oldest == nil {
		s.newest = nil
	} else {
		s.oldest.older = nil
	}
}

// retract forgets the newest call, which is parked: so it is not the oldest, and the last of its key.
func (s *calls) retract(c *call) {
	s.ofKey[c.key] = c.before
	c.before.after = nil
	s.newest = c.older
	s.newest.newer = nil
	if c.of != nil {
		*c.user = record.Record{}
	}
	s.recycle(c)
}

func (s *calls) recycle(c *call) {
	*c = call{newer: s.spare, user: c.user}
	s.spare = c
}

// push puts a call into the line of those that are ready.
func (s *calls) push(c *call) {
	if s.ready == nil {
		s.ready = c
	} else {
		s.lastReady.next = c
	}
	s.lastReady = c
}

// pop takes the first one that is ready, or nil.
func (s *calls) pop() *call {
	c := s.ready
	if c != nil {
		s.ready, c.next = c.next, nil
	}
	return c
}

// clear forgets all calls and returns the bytes of the records that are not handled.
func (s *calls) clear() (bytes int64) {
	for c := s.oldest; c != nil; c = c.newer {
		switch {
		case c.record == nil:
		case c.of == nil:
			bytes += c.record.Size()
		case c.of.raw != nil: // once for all of its user records, and the rest of it
			bytes += c.of.raw.Size()
			c.of.raw = nil
		}
		if c.turn != nil && c.turn.timer != nil {
			c.turn.timer.Stop()
		}
	}
	*s = calls{}
	return bytes
}
