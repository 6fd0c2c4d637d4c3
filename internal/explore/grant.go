package explore

import (
	"cmp"
	"slices"

	"github.com/leatstream/leat/lease"
)

func (t *turn) open(p *process, a lease.Open) []event {
	i := t.cfg.shardIndex(a.Shard)
	truth := &t.truth[i]
	t.tell("%s opens %s after %v, token %d", p.id, a.Shard, a.Position, a.Token)
	if a.Token <= int64(truth.token) {
		t.violate("S12 token", "%s opens %s with token %d after one with token %d", p.id, a.Shard, a.Token, truth.token)
	}
	if it := t.store.get(lease.LeaseKey(stream, a.Shard)); it != nil && it.Counter == a.Token && it.Lease.Checkpoint != a.Position {
		t.violate("S11 belief", "%s opens %s after %v, but its lease, at the same counter, says %v", p.id, a.Shard, a.Position, it.Lease.Checkpoint)
	}
	truth.token = int16(a.Token)
	n := count(a.Position)
	p.grants = append(p.grants, grant{shard: uint8(i), token: int16(a.Token), start: n, handed: n, acked: n})
	return t.look(&p.grants[len(p.grants)-1])
}

// look tells the member of the end of a shard, when it is reached.
func (t *turn) look(g *grant) []event {
	spec := t.cfg.Shards[g.shard]
	var events []event
	if spec.Closed && int(g.handed) == spec.Records && !g.ended {
		g.ended = true
		events = append(events, g.event(endedEvent, 0))
	}
	if g.ended && int(g.acked) == spec.Records {
		events = append(events, g.event(ackedEvent, atEnd))
	}
	return events
}

func (g *grant) event(kind eventKind, n int) event {
	return event{eventKey: eventKey{kind: kind, what: uint64(g.shard), item: uint64(g.token), n: n}}
}

// drained tells the member that a shard is drained, as soon as nothing runs.
func (t *turn) drained(g *grant) []event {
	if g.runs || !g.draining || g.drained {
		return nil
	}
	g.drained = true
	truth := &t.truth[g.shard]
	truth.drained, truth.upTo = g.token, g.handed
	n := int(g.acked)
	switch {
	case g.ended && n == t.cfg.Shards[g.shard].Records:
		n = atEnd
	case g.acked == g.start:
		n = 0
	}
	return []event{g.event(drainedEvent, n)}
}

func (t *turn) close(p *process, a lease.Close) {
	for k, g := range p.grants {
		if g.token == int16(a.Token) && t.cfg.Shards[g.shard].ID == a.Shard {
			t.tell("%s closes %s: %v", p.id, a.Shard, a.Reason)
			if g.runs {
				p.busy |= 1 << g.shard
			}
			p.grants = slices.Delete(p.grants, k, k+1)
			return
		}
	}
	t.violate("close", "%s closes %s, token %d, which is not open", p.id, a.Shard, a.Token)
}

// mayStart is the gate before every handler, as the engine has it.
func (t *turn) mayStart(p *process, g *grant) bool {
	spec := t.cfg.Shards[g.shard]
	switch {
	case p.life != running || g.runs || int(g.handed) >= spec.Records || p.busy&(1<<g.shard) != 0:
		return false
	case g.draining && t.cfg.Bug != DeafDrain:
		return false
	case t.cfg.Bug == NoSelfFence:
		return true
	case t.cfg.Bug == ProofFromAnswer:
		return t.now < p.proved
	}
	return t.clock(p) < p.member.deadline
}

// start hands the next record out.
func (t *turn) start(i, k int) {
	p := t.proc(i)
	g := &p.grants[k]
	t.tell("%s hands out %s record %d", p.id, t.cfg.Shards[g.shard].ID, g.handed+1)
	t.started(p, g)
	g.runs = true
	g.handed++
	var events []event
	if t.cfg.Bug == AckOnHandOut {
		g.acked = g.handed
		events = append(events, g.event(ackedEvent, int(g.acked)))
	}
	t.stepAll(i, append(events, t.look(g)...))
}

// end is the return of a handler, and its acknowledgement.
func (t *turn) end(i, k int) {
	p := t.proc(i)
	g := &p.grants[k]
	t.tell("%s has handled %s record %d", p.id, t.cfg.Shards[g.shard].ID, g.handed)
	g.runs = false
	truth := &t.truth[g.shard]
	truth.handled |= 1 << g.handed
	g.acked = g.handed
	truth.acked = max(truth.acked, g.acked)
	if events := t.look(g); events != nil {
		t.stepAll(i, events)
	} else if t.cfg.LazyAcks {
		g.untold = cmp.Or(g.untold, t.now)
	} else if !g.drained {
		t.step(i, g.event(ackedEvent, int(g.acked)))
	}
	p = t.proc(i)
	if k < len(p.grants) {
		t.stepAll(i, t.drained(&p.grants[k]))
	}
}

// tick lets a process do what its timers were set for.
func (t *turn) tick(i int) {
	t.step(i, event{})
	p := t.proc(i)
	for k := range p.grants {
		if g := &p.grants[k]; g.untold > 0 && g.untold < t.now && !g.drained {
			g.untold = 0
			t.step(i, g.event(ackedEvent, int(g.acked)))
			return // the next one at the next tick; a step may end an epoch
		}
	}
}

// endLate is the return of a handler whose epoch is over.
func (t *turn) endLate(i int, shard uint8) {
	p := t.proc(i)
	t.tell("%s: a handler of %s returns after its epoch", p.id, t.cfg.Shards[shard].ID)
	p.busy &^= 1 << shard
}

func (t *turn) stepAll(i int, events []event) {
	for _, ev := range events {
		t.step(i, ev)
	}
}
