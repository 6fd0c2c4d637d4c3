package explore

import (
	"slices"

	"github.com/leatstream/leat/lease"
)

// follow makes a move. The state is not changed; its successor is complete.
func (w *world) follow(s *state, mv move) (*state, *Violation) {
	t := &turn{world: w, state: *s}
	t.move(int(mv.i), int(mv.k), mv.kind)
	t.checkGates()
	for t.bad == nil && t.talks >= 0 { // as long as there is nothing to choose
		w.choice = w.choices(&t.state, w.choice[:0])
		if len(w.choice) > 1 {
			break
		}
		t.answer(int(w.choice[0].i), int(w.choice[0].k))
		t.checkGates()
	}
	t.bury()
	t.seal(&w.hasher)
	next := t.state
	return &next, t.bad
}

func (t *turn) move(i, k int, kind moveKind) {
	switch kind {
	case answer:
		t.answer(i, k)
	case keep:
		t.spend(Slow)
		p := t.proc(i)
		t.tell("%s: %s stays under way", p.id, p.letters[k].text())
		p.letters[k].fresh = false
		t.nextTalk(i)
	case lose:
		t.spend(Lost)
		t.lose(i, k)
	case stray:
		t.spend(Stray)
		t.giveUp(i, k)
	case stale:
		t.spend(Stale)
		t.deliver(i, k, t.past)
	case apply:
		p := t.proc(i)
		t.apply(p.id, &p.letters[k])
	case deliver:
		t.deliver(i, k, t.store)
	case deliverThen:
		t.deliver(i, k, t.procs[i].letters[k].then)
	case tick:
		t.tick(i)
	case start:
		t.start(i, k)
	case end:
		t.end(i, k)
	case endLate:
		t.endLate(i, uint8(k))
	case applyLate:
		w := t.late[k]
		t.late = slices.Delete(slices.Clone(t.late), k, k+1)
		t.tell("the store gets a late write")
		l := letter{write: w}
		if t.apply(w.sender, &l); l.outcome == lease.Landed {
			t.sights[lateSeen]++
		}
	case pass:
		t.pass(-1)
	case passBut:
		t.spend(Drift)
		t.pass(i)
	case crash:
		t.spend(Crash)
		p := t.proc(i)
		t.tell("%s crashes", p.id)
		for _, l := range p.letters {
			t.orphan(l)
		}
		p.life, p.letters, p.grants, p.busy = crashed, nil, nil, 0
	case pause:
		t.spend(Pause)
		t.tell("%s pauses", t.procs[i].id)
		t.proc(i).life = paused
	case resume:
		t.tell("%s goes on", t.procs[i].id)
		t.proc(i).life = running
	case rejoin:
		t.spend(Restart)
		t.join(i)
	case begin:
		t.join(i)
	case stop:
		t.spend(StopIt)
		t.tell("%s is asked to stop", t.procs[i].id)
		t.step(i, event{eventKey: eventKey{kind: stopEvent}})
	case erase:
		t.spend(Erase)
		t.tell("somebody deletes the lease of %s", t.cfg.Shards[k].ID)
		t.truth[k].created, t.truth[k].erased = false, true
		t.store = t.tables.with(t.store, lease.LeaseKey(stream, t.cfg.Shards[k].ID), nil)
	case touch:
		t.spend(Touch)
		it := t.store.get(lease.LeaseKey(stream, t.cfg.Shards[k].ID)).Item
		it.Counter++
		t.tell("somebody writes %s", itemText(it, true))
		t.store = t.tables.with(t.store, it.Key, newItem(it))
	}
}

// pass lets a tick of time go by; but is a process whose clock misses it.
func (t *turn) pass(but int) {
	t.now++
	t.past = t.store
	t.tell("-- tick %d", t.now-firstTick)
	for i, p := range t.procs {
		if p == nil {
			continue
		}
		if p.steps > 0 {
			t.proc(i).steps = 0
		}
		if i == but || t.cfg.Bug == ClockStops && p.life == paused {
			t.tell("the clock of %s misses it", p.id)
			t.proc(i).missed++
		}
	}
}

// answer carries a new message out at once.
func (t *turn) answer(i, k int) {
	p := t.proc(i)
	if l := &p.letters[k]; l.kind == writtenEvent {
		t.apply(p.id, l)
	}
	t.deliver(i, k, t.store)
}

// deliver tells a member the answer to a letter.
func (t *turn) deliver(i, k int, shown *store) {
	p := t.proc(i)
	l := p.letters[k]
	p.letters = slices.Delete(p.letters, k, k+1)
	ev := event{eventKey: eventKey{kind: l.kind}, store: shown, item: l.item, w: l.write}
	switch l.kind {
	case membersEvent:
		ev.what = shown.members
		if l.strong {
			ev.n = 1
		}
	case leasesEvent:
		ev.what = shown.leases
	case listedEvent:
		if l.all {
			ev.n = 1
		}
	case writtenEvent:
		ev.what, ev.n = l.write.id, int(l.outcome)
		if l.item != nil {
			ev.eventKey.item = l.item.id
		}
		if p.id == l.write.Item.Key.Worker && l.outcome == lease.Landed {
			p.proved = t.now + 3
		}
		if l.outcome == lease.Conflict && t.cfg.Bug.adopts(l.write, l.item) {
			ev.n, ev.item = int(lease.Landed), newItem(l.write.Item)
			ev.eventKey.item = ev.item.id
		}
	}
	if t.note != nil && (!l.fresh || shown != t.store) {
		t.tell("%s gets the answer to %s", p.id, l.text())
	}
	if t.cfg.Bug == SeenAtRequest && l.kind == membersEvent {
		late := t.now - l.sent
		p.missed += late
		defer func() { t.proc(i).missed -= late }()
	}
	t.step(i, ev)
}

// lose tells a member that the outcome is unknown; the write was applied.
func (t *turn) lose(i, k int) {
	p := t.proc(i)
	l := &p.letters[k]
	if l.kind == writtenEvent && !l.applied {
		t.apply(p.id, l)
	}
	t.fail(i, k)
}

// giveUp tells a member that the outcome is unknown; the write may still be applied.
func (t *turn) giveUp(i, k int) {
	t.orphan(t.procs[i].letters[k])
	t.fail(i, k)
}

func (t *turn) fail(i, k int) {
	p := t.proc(i)
	l := p.letters[k]
	t.tell("%s gets no answer to %s", p.id, l.text())
	p.letters = slices.Delete(p.letters, k, k+1)
	ev := event{eventKey: eventKey{kind: l.kind}, w: l.write}
	if l.write != nil {
		ev.what, ev.n = l.write.id, int(lease.Unknown)
	}
	t.step(i, ev)
}

// nextTalk says who is to be heard next, after a choice that stepped nobody.
func (t *turn) nextTalk(i int) {
	if !slices.ContainsFunc(t.procs[i].letters, func(l letter) bool { return l.fresh }) {
		t.talks = -1
	}
}
