package explore

import (
	"slices"

	"github.com/leatstream/leat/lease"
)

// calm runs the world from nothing to where the exploration begins, without faults.
func (w *world) calm() (*state, *Violation) {
	t := &turn{world: w, state: state{now: firstTick, store: w.tables.with(&store{}, lease.Key{}, nil), talks: -1}}
	t.past = t.store
	late := w.cfg.Workers - w.cfg.Late
	for i := range late {
		t.procs[i] = &process{}
		t.join(i)
		t.settle(false)
	}
	for range w.cfg.Calm {
		t.settle(false)
		t.pass(-1)
	}
	t.settle(false)
	for i := late; i < w.cfg.Workers; i++ {
		t.procs[i] = &process{}
	}
	t.left, t.total = w.cfg.Limits, int8(w.cfg.Faults)
	t.seal(&w.hasher)
	begin := t.state
	return &begin, t.bad
}

// settle does what can be done before time must go on, without faults.
func (t *turn) settle(handlers bool) {
	for t.bad == nil && t.settleOne(handlers) {
	}
}

func (t *turn) settleOne(handlers bool) bool {
	for i, p := range t.procs {
		if p == nil {
			continue
		}
		switch p.life {
		case paused:
			t.move(i, 0, resume)
			return true
		case crashed, left:
			continue
		case absent, fenced:
			t.join(i)
			return true
		}
		switch k := slices.IndexFunc(p.letters, func(l letter) bool { return true }); {
		case k >= 0 && p.letters[k].applied:
			t.deliver(i, k, t.store)
			return true
		case k >= 0:
			t.answer(i, k)
			return true
		case p.member.wake <= t.clock(p):
			t.tick(i)
			return true
		}
		for k := range p.grants {
			if g := &p.grants[k]; handlers && g.runs {
				t.end(i, k)
				return true
			} else if handlers && t.mayStart(p, g) {
				t.start(i, k)
				return true
			}
		}
		for shard := range maxShards {
			if handlers && p.busy&(1<<shard) != 0 {
				t.endLate(i, uint8(shard))
				return true
			}
		}
	}
	return false
}

// heal follows a state without faults; in the end all must be owned, handled and written down. Late writes are
// never applied.
func (w *world) heal(s *state) *Violation {
	t := &turn{world: w, state: *s}
	t.late = nil
	for range w.cfg.Heal {
		t.settle(true)
		t.checkGates()
		t.pass(-1)
	}
	t.settle(true)
	if t.bad == nil {
		t.checkHealed()
	}
	return t.bad
}

func (t *turn) checkHealed() {
	if !slices.ContainsFunc(t.procs[:], func(p *process) bool { return p != nil && p.life == running }) {
		return // all have left
	}
	for i := range t.cfg.Shards {
		spec, truth := &t.cfg.Shards[i], &t.truth[i]
		it := t.store.get(lease.LeaseKey(stream, spec.ID))
		switch {
		case int(truth.acked) < spec.Records:
			t.violate("L1 owned", "%d of %d records of %s are acknowledged; the lease is %s", truth.acked, spec.Records, spec.ID, t.describe(it))
		case spec.Closed && !truth.ended:
			t.violate("L1 owned", "%s has not come to its end; the lease is %s", spec.ID, t.describe(it))
		case spec.Closed:
		case it == nil || int(count(it.Lease.Checkpoint)) < spec.Records || !t.held(i, it.Lease.Owner):
			t.violate("L1 owned", "%s should be owned and handled; the lease is %s", spec.ID, t.describe(it))
		}
	}
}

// held says whether the worker that owns a shard has it open.
func (t *turn) held(shard int, owner string) bool {
	return slices.ContainsFunc(t.procs[:], func(p *process) bool {
		return p != nil && p.life == running && p.id == owner &&
			slices.ContainsFunc(p.grants, func(g grant) bool { return int(g.shard) == shard && !g.draining })
	})
}
