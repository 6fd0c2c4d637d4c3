package sim

import "github.com/leatstream/leat/lease"

func (c *checks) opened(g *grant) {
	sh := g.shard
	if c.w.paused != nil {
		c.w.paused(sh)
	}
	began := c.w.begins(sh, g.owner, g.token)
	g.era, g.life, g.hold = began.era, began.life, began.hold
	if g.orphan() {
		return
	}
	sh.opened = append(sh.opened, g.token)
	if sh.leftAt >= 0 && !c.w.faults.healed {
		c.w.res.Moves = append(c.w.res.Moves, Move{Crash: sh.leftByCrash, Gap: c.w.now - sh.leftAt})
	}
	sh.leftAt = -1
}

// leaves notes that a worker crashes, or is asked to stop: its shards have to move.
func (c *checks) leaves(id string, byCrash bool) {
	for _, sh := range c.w.stream.shards {
		if item, _ := c.w.store.lease(sh.id); item.Lease.Owner == id && id != "" {
			sh.leftAt, sh.leftByCrash = c.w.now, byCrash
		}
	}
}

// closed notes whether an epoch ended with nothing left behind.
func (c *checks) closed(g *grant, reason lease.CloseReason) {
	if c.w.paused != nil {
		c.w.paused(g.shard)
	}
	if reason == lease.CloseReleased && g.clean && !g.orphan() && g.token > g.shard.sought {
		g.shard.cleanToken, g.shard.cleanIndex = g.token, g.handed
	}
}

// handOut looks at records that are about to be given to a handler.
func (c *checks) handOut(g *grant, from, to int) {
	w, sh := c.w, g.shard
	bad := func(invariant, format string, args ...any) { w.violate(invariant, sh.id, g.owner, format, args...) }
	item, found := w.store.lease(sh.id)
	if g.orphan() {
		c.orphaned(g, item, from, to)
		return
	}
	token := g.token
	if w.opt.Bug == OldToken {
		token = g.p.oldToken(sh, token)
	}
	switch {
	case !found || item.Lease.Owner != g.owner || item.Counter < g.token:
		bad("S1 owner", "a handler is started under token %d, but the lease is: %s", g.token, describe(item))
	case !w.alive(g.owner):
		bad("S1 owner", "a handler is started by a worker that has been fenced or has left")
	case token < sh.lastToken || token == sh.lastToken && sh.lastOwner != g.owner:
		bad("S12 token", "token %d of %s after %d of %s", token, g.owner, sh.lastToken, sh.lastOwner)
	}
	sh.lastToken, sh.lastOwner = token, g.owner
	if hold := item.Lease.Hold; g.hold != "" && hold.ID == g.hold && w.now < sh.heldAt+hold.For*98/100 && !w.remembersOldHolds(sh) {
		bad("hold", "a handler is started in an epoch that began while hold %s stood", hold.ID)
	}
	for _, parent := range sh.parents {
		if parent.endedAt > 0 || parent.trimmed || parent.byHand.missing { // S6 looks at what is left of it
			continue
		}
		if _, waits := w.store.lease(parent.id); waits || !sh.everRoot {
			bad("S7 parents", "records are handed out before the end of parent %s", parent.id)
		}
	}
	if !g.checked {
		g.checked = true
		c.firstHandOut(g, item, from)
	}
	c.noGap(sh, g.owner, g.looked, from)
	g.looked = to
	w.mix(uint64(g.token)<<32 | uint64(from)<<16 | uint64(to))
	for i := from; i < to; i++ {
		c.handOutRecord(g, from, i, bad)
	}
}

// firstHandOut looks at where an epoch begins.
func (c *checks) firstHandOut(g *grant, item lease.Item, from int) {
	sh := g.shard
	skip := func(first int) int { // S13 says whether somebody was told
		for first < from && sh.records[first].expired {
			first++
		}
		return first
	}
	first := skip(sh.index(g.start))
	if item.Lease.Checkpoint != g.start || from != first {
		c.w.violate("S6 order", sh.id, g.owner, "the epoch began at %v and reads from record %d, not %d; the checkpoint is %v, record %d",
			g.start, from, first, item.Lease.Checkpoint, sh.index(item.Lease.Checkpoint))
	}
	before := int64(-1)
	for _, t := range sh.opened {
		if t < g.token {
			before = max(before, t)
		}
	}
	if before >= 0 && before == sh.cleanToken && from != skip(sh.cleanIndex) {
		c.w.violate("S9 clean", sh.id, g.owner, "starts at record %d, but the epoch before was released at %d", from, sh.cleanIndex)
	}
}

func (c *checks) handOutRecord(g *grant, from, i int, bad func(invariant, format string, args ...any)) {
	r := &g.shard.records[i]
	k := &c.w.stream.keys[r.key]
	c.w.res.HandOuts++
	if r.handed {
		c.w.res.Repeats++
	}
	if r.skipped && !c.w.deleted {
		bad("start", "record %d lies before the group's start %v", i, c.w.stream.start)
	}
	if r.n > 1 {
		at := k.records[r.n-2]
		prev := &at.shard.records[at.index]
		together := at.shard == g.shard && at.index >= from // one handler gets both, in order
		handled := prev.finished && (prev.life == g.life || prev.expired || !at.shard.everCreated) || prev.skipped
		if !handled && !together && prev.expired {
			c.noGap(at.shard, g.owner, at.index, at.index+1)
			handled = true
		}
		if !handled && !together {
			bad("S6 order", "key %d: number %d is handed out before number %d of %s was handled", r.key, r.n, prev.n, at.shard.id)
		}
	}
	r.handed = true
}

// orphan says whether the epoch began before its lease was changed by hand, or in a worker that joined before the
// table was restored.
func (g *grant) orphan() bool { return g.era != g.shard.byHand.era || g.p.restores != g.p.w.restores }

// orphaned looks at a hand-out by a worker whose lease was changed by hand: it goes on until it finds out, or
// for good if the table, as restored, says that it may.
func (c *checks) orphaned(g *grant, item lease.Item, from, to int) {
	w, by := c.w, g.shard.byHand
	w.mix(uint64(g.token)<<32 | uint64(from)<<16 | uint64(to))
	owns := item.Lease.Owner == g.owner && item.Counter >= g.token && w.alive(g.owner)
	if !owns && (w.now > by.at+by.grace || item.Lease.Owner != "" && by.deleted && !by.madeLate) {
		w.violate("S1 owner", g.shard.id, g.owner, "a handler is started %v after the lease was changed by hand, and it is: %s", w.now-by.at, describe(item))
	}
	for i := from; i < to; i++ {
		w.res.HandOuts++
		g.shard.records[i].handed = true
	}
	if owns { // what it has handled needs not be handled again
		g.life = w.life
		for i := range from {
			g.shard.records[i].life = w.life
		}
	}
}

// finished notes that a handler of an epoch returned for these records.
func (c *checks) finished(g *grant, from, to int) {
	for i := from; i < to; i++ {
		r := &g.shard.records[i]
		r.finished, r.life = true, max(r.life, g.life)
	}
}
