package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/lease"
)

// do carries out an action of the member.
func (p *process) do(m *lease.Member, action lease.Action) {
	w := p.w
	switch a := action.(type) {
	case lease.ReadMembers:
		var items []lease.Item
		p.call(storeRead, "members", func() error {
			items = w.store.readMembers(a.Consistent)
			return nil
		}, func(err error) {
			p.step(m, lease.MembersRead{Items: given(items, err), Consistent: a.Consistent, Err: err})
		})
	case lease.ReadLeases:
		var items []lease.Item
		p.call(storeRead, "leases", func() error {
			items = w.store.readLeases()
			return nil
		}, func(err error) {
			p.step(m, lease.LeasesRead{Items: given(items, err), Bad: given(w.unreadable(), err), Err: err})
		})
	case lease.ListShards:
		var shards []lease.Shard
		p.call(streamRead, "list", func() error {
			asOf := w.now
			if w.faults.hits(staleListing, 0.3) {
				asOf -= w.faults.between(staleListing, 0, maxStale)
			}
			shards = w.stream.list(a.All, a.At, asOf)
			return nil
		}, func(err error) {
			if w.opt.Bug == DeleteUnlisted && err == nil && a.All {
				p.deleteUnlisted(shards)
			}
			p.step(m, lease.Listed{Shards: given(shards, err), Err: err})
		})
	case lease.WriteItem:
		p.write(m, p.fateOf(a.Write))
	case lease.Report:
		if broken, ok := errors.AsType[*lease.InvariantError](a.Err); ok {
			w.violate(broken.Invariant, a.Shard, p.id, "its own check: %s", broken.Detail)
		}
		if a.Kind == lease.ShardTrimmed && w.opt.Bug != SilentGap {
			if sh := w.stream.byID[a.Shard]; sh != nil {
				w.check.told(sh, sh.horizon)
			}
		}
	case lease.Open:
		p.open(m, a)
	case lease.Drain:
		if g := p.grant(a.Shard, a.Token); g != nil {
			g.drain()
		} else {
			w.violate("drain", a.Shard, p.id, "drain of token %d, which is not open", a.Token)
		}
	case lease.Close:
		p.close(a)
	case lease.Done:
		p.done(a.Err)
	}
}

// given is the answer of a call, unless the call failed.
func given[T any](answer []T, err error) []T {
	if err != nil {
		return nil
	}
	return answer
}

// write carries out one attempt of a write. A store that cannot show the item on a conflict is asked for
// it afterwards, when it may have moved on.
func (p *process) write(m *lease.Member, f *fate) {
	id, w, key := p.id, f.write, f.write.Item.Key
	if world := p.w; world.faults.hits(duplicate, 0.01) {
		world.after(world.faults.between(duplicate, 0, maxLate), "duplicate", func() {
			if p.storeID != world.store.id {
				return
			}
			if _, err := world.store.write(id, w); err == nil {
				f.landed(world)
			}
		})
	}
	var written lease.Item
	p.call(storeWrite, "write", func() (err error) {
		if p.w.opt.Bug == DoubledWrite {
			p.w.store.write(id, w)
		}
		if written, err = p.w.store.write(id, w); err == nil {
			f.landed(p.w)
		}
		return err
	}, func(err error) {
		if p.w.opt.Bug == ExitOnError && err != nil && errors.Is(err, errTimeout) {
			p.host.end()
			p.w.after(time.Second, "restart", p.host.boot)
			return
		}
		var conflict *lease.ConflictError
		switch {
		case err == nil:
			p.answered(m, f, lease.Written{Key: key, Outcome: lease.Landed, Item: written, Found: w.Op != lease.Delete}, written)
		case !errors.As(err, &conflict):
			p.answered(m, f, lease.Written{Key: key, Outcome: lease.Unknown, Err: err}, lease.Item{})
		case !p.w.rereads:
			item := p.w.opt.Bug.misanswer(conflict.Item)
			p.answered(m, f, lease.Written{Key: key, Outcome: lease.Conflict, Item: item, Found: conflict.Found}, conflict.Item)
		default:
			p.reread(m, f)
		}
	})
}

func (p *process) reread(m *lease.Member, f *fate) {
	key := f.write.Item.Key
	var item lease.Item
	var found bool
	p.call(storeRead, "get", func() error {
		item, found = p.w.store.get(key)
		return nil
	}, func(err error) {
		if err != nil {
			p.answered(m, f, lease.Written{Key: key, Outcome: lease.Unknown, Err: err}, lease.Item{})
			return
		}
		p.answered(m, f, lease.Written{Key: key, Outcome: lease.Conflict, Item: p.w.opt.Bug.misanswer(item), Found: found}, item)
	})
}

func (p *process) grant(shard string, token int64) *grant {
	for _, g := range p.grants {
		if g.shard.id == shard && g.token == token {
			return g
		}
	}
	return nil
}

func (p *process) open(m *lease.Member, a lease.Open) {
	sh := p.w.stream.byID[a.Shard]
	if sh == nil {
		p.w.violate("open", a.Shard, p.id, "no such shard was ever listed")
		return
	}
	for _, g := range p.grants {
		if g.shard == sh {
			p.w.violate("open", a.Shard, p.id, "token %d opened while token %d is open", a.Token, g.token)
		}
	}
	first := sh.index(a.Position)
	if p.w.opt.Bug == ChildrenAtLatest && !a.Position.Begun() && len(sh.parents) > 0 {
		first = len(sh.records)
	}
	g := &grant{
		p: p, m: m, owner: p.id, shard: sh, token: a.Token, start: a.Position,
		tracker: dispatch.NewTracker(a.Position), first: first, handed: first, fetched: first, added: first, looked: first,
	}
	p.grants = append(p.grants, g)
	p.w.check.opened(g)
	g.fetchAfter(p.between(0, 50*time.Millisecond))
}

func (p *process) close(a lease.Close) {
	g := p.grant(a.Shard, a.Token)
	if g == nil { // it was taken when the stop came, and never opened
		return
	}
	g.closed, g.reason = true, a.Reason
	p.grants = slices.DeleteFunc(p.grants, func(o *grant) bool { return o == g })
	p.w.check.closed(g, a.Reason)
}

// startHandlers starts what may start. It runs after every step, since every step may move the deadline.
func (p *process) startHandlers() {
	for _, g := range p.grants {
		g.startHandler()
	}
}

// tell tells the member something soon, in order.
func (p *process) tell(m *lease.Member, ev lease.Event) {
	p.after(time.Millisecond, "tell", func() { p.step(m, ev) })
}

// deleteUnlisted is a bug.
func (p *process) deleteUnlisted(listed []lease.Shard) {
	for _, item := range p.w.store.readLeases() {
		if !slices.ContainsFunc(listed, func(s lease.Shard) bool { return s.ID == item.Key.Shard }) {
			p.w.store.write(p.id, lease.Write{Op: lease.Delete, Item: lease.Item{Key: item.Key}, Counter: item.Counter, Owner: item.Lease.Owner})
		}
	}
}

// oldToken is a bug: the first token that this process had for the shard.
func (p *process) oldToken(sh *shard, token int64) int64 {
	if p.tokens == nil {
		p.tokens = map[*shard]int64{}
	}
	if p.tokens[sh] == 0 {
		p.tokens[sh] = token
	}
	return p.tokens[sh]
}
