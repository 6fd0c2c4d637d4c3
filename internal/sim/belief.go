package sim

import (
	"time"

	"github.com/leatstream/leat/lease"
)

// S10 and S11: what a worker concludes from an answer, or from one that was lost, is what happened.

// fate is what became of a write that a member wants, over all attempts.
type fate struct {
	write   lease.Write
	began   time.Duration
	applied int
	era     int // of the lease, when it was applied
}

// landed notes that the store has applied the write. After its lease was deleted by hand it may apply again.
func (f *fate) landed(w *world) {
	era := w.restores
	if sh := w.stream.byID[f.write.Item.Key.Shard]; sh != nil {
		era += sh.byHand.era
		if f.write.Op == lease.Create && sh.byHand.deleted && f.began < sh.byHand.at {
			sh.byHand.madeLate = true
		}
	}
	if f.era != era {
		f.applied, f.era = 0, era
	}
	f.applied++
}

// fateOf is the fate of the write that an attempt belongs to: a repetition is the same write.
func (p *process) fateOf(w lease.Write) *fate {
	f := p.fates[w.Item.Key]
	if f == nil || f.write.Op != w.Op || f.write.Counter != w.Counter || !f.write.Item.Equal(w.Item) {
		f = &fate{write: w, began: p.w.now}
		p.fates[w.Item.Key] = f
	}
	return f
}

// answered tells the member what became of a write, and looks at what it makes of it.
// stands is the item that a refused write met.
func (p *process) answered(m *lease.Member, f *fate, ev lease.Written, stands lease.Item) {
	if p.member != m {
		return
	}
	if p.w.opt.Bug == AdoptByOwner && ev.Outcome == lease.Conflict && ev.Found && f.write.Op == lease.Update &&
		ev.Item.Lease.Owner == p.id && ev.Item.Counter == f.write.Item.Counter {
		ev.Outcome, ev.Item = lease.Landed, f.write.Item
	}
	if f.write.Item.Key == lease.WorkerKey(p.id) && ev.Outcome != lease.Unknown {
		p.beatAt = p.clock.read(p.w.now)
	}
	before := p.grantOf(f.write.Item.Key.Shard)
	p.step(m, ev)
	p.w.check.concluded(p, m, f, ev, stands, before)
}

// grantOf is the open epoch of a shard.
func (p *process) grantOf(shard string) *grant {
	for _, g := range p.grants {
		if g.shard.id == shard {
			return g
		}
	}
	return nil
}

// concluded looks at a member after the answer to a write. before is the epoch that it had, if any.
func (c *checks) concluded(p *process, m *lease.Member, f *fate, ev lease.Written, stands lease.Item, before *grant) {
	wr, key := f.write, f.write.Item.Key
	if p.dead { // it crashed in the middle of what followed
		return
	}
	if ev.Outcome == lease.Unknown {
		if before != nil && before.closed && p.member == m {
			c.w.violate("S10 outcome", key.Shard, p.id, "nobody knows what became of its write, and it gave the lease up (%v)", before.reason)
		}
		return
	}
	if f.applied > 1 {
		c.w.violate("S10 outcome", key.Shard, p.id, "one write was applied %d times: %s", f.applied, describe(lease.WriteItem{Write: wr}))
	}
	// The answer was lost at first, and a repetition was refused since the item is as it was to become.
	refused := ev.Outcome == lease.Conflict && ev.Found && wr.Op != lease.Delete
	repeated := refused && wr.Landed(ev.Item, true)
	lost := refused && wr.Landed(stands, true) && f.applied == 1
	switch {
	case key.Kind == lease.KindWorker && key.Worker == p.id:
		if lost && p.member != m && lives(wr.Item.Worker.State) && !p.stopping {
			c.w.violate("S10 outcome", "", p.id, "its heartbeat landed, its answer was lost, and it gave up")
		}
	case key.Kind == lease.KindLease && key.Stream == c.w.cfg.Stream && wr.Op == lease.Update && p.member == m:
		c.heldConcluded(p, f, ev, stands, before, repeated, lost)
	}
}

func (c *checks) heldConcluded(p *process, f *fate, ev lease.Written, stands lease.Item, before *grant, repeated, lost bool) {
	wr, shard := f.write, f.write.Item.Key.Shard
	now := p.grantOf(shard)
	keeps := wr.Item.Lease.Owner == p.id
	if lost {
		switch {
		case before == nil && keeps && (now == nil || now.token != wr.Item.Counter) && !p.stopping && stands.Lease.Hold.ID == "":
			c.w.violate("S10 outcome", shard, p.id, "its take landed, its answer was lost, and no epoch began with token %d", wr.Item.Counter)
		case before != nil && keeps && before.closed:
			c.w.violate("S10 outcome", shard, p.id, "its checkpoint landed, its answer was lost, and it gave the lease up (%v)", before.reason)
		case before != nil && !keeps && (!before.closed || before.reason == lease.CloseLost):
			c.w.violate("S10 outcome", shard, p.id, "its release landed, its answer was lost, and it took the lease for lost")
		}
	}
	switch {
	case now == nil:
		return
	case ev.Outcome == lease.Landed:
		now.believed = ev.Item
	case repeated:
		now.believed = wr.Item
	case now == before && wr.Op == lease.Update:
		c.w.violate("S11 belief", shard, p.id, "its write was refused, the lease is %s, and it goes on", describe(ev.Item))
		return
	}
	if now != before && (now.believed.Counter != now.token || now.believed.Lease.Checkpoint != now.start) {
		c.w.violate("S11 belief", shard, p.id, "the epoch began with token %d at %v, the take says %s", now.token, now.start, describe(now.believed))
	}
	c.believes(now)
}

// believes compares what a worker believes of its lease with the truth: if the counter and the owner are what it
// knows, so is the rest.
func (c *checks) believes(g *grant) {
	item, found := c.w.store.lease(g.shard.id)
	item.Lease.Hold = g.believed.Lease.Hold // it stands beside the counter
	if found && !g.orphan() && item.Counter == g.believed.Counter && item.Lease.Owner == g.owner && !item.Equal(g.believed) {
		c.w.violate("S11 belief", g.shard.id, g.owner, "it believes in %s, the lease is %s", describe(g.believed), describe(item))
	}
}

// believers looks at the worker that a write names as the owner.
func (c *checks) believers(sh *shard, item lease.Item) {
	for _, host := range c.w.hosts {
		if p := host.process; p != nil && p.id == item.Lease.Owner {
			if g := p.grantOf(sh.id); g != nil && g.owner == p.id {
				c.believes(g)
			}
		}
	}
}
