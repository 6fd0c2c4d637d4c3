package lease

import (
	"maps"
	"slices"
	"time"
)

// restTime is how long a lease that was moved for balance stays where it is. Releases and failovers
// do not count.
const restTime = time.Minute

// maxWants and maxWantsSize (bytes) keep a worker's item under 1 KB.
const (
	maxWants     = 10
	maxWantsSize = 600
)

// appendMovable appends the lease to those that may move, unless it rests or is on hold.
func (m *Member) appendMovable(shards []string, v *viewed) []string {
	if m.onHold(v) {
		return shards
	}
	if rested := v.moved.Add(restTime); v.moved != 0 && m.now < rested {
		if m.restUntil == 0 || rested < m.restUntil {
			m.restUntil = rested
		}
		return shards
	}
	return append(shards, v.item.Key.Shard)
}

// rest makes the plan anew when a lease may move again.
func (m *Member) rest() {
	switch {
	case m.restUntil == 0:
	case m.now < m.restUntil:
		m.wakeAt(m.restUntil)
	default:
		m.restUntil, m.stale = 0, true
	}
}

// balance acts on the moves that concern this worker. As the receiver it asks: it lists leases in its own item.
// As the owner it gives of what is asked for, as many as its own plan sends to that worker. Only the owner
// ever gives a live lease up.
func (m *Member) balance(moves []Move, owned map[string][]string) {
	from, to := map[string]int{}, map[string]int{} // how many leases this worker is to get, and to give
	planned := map[string]bool{}
	for _, move := range moves {
		switch m.cfg.ID {
		case move.To:
			from[move.From]++
			planned[move.Shard] = true
		case move.From:
			to[move.To]++
			planned[move.Shard] = true
		}
	}
	m.give(to, owned[m.cfg.ID], planned)
	m.wants = m.ask(from, owned, planned)
}

// ask lists the leases that this worker would have: those of its plan, and then others of the same owners. For which
// leases rest, only those know that saw them move: a worker that has just joined would ask for what nobody
// may give yet, and wait for a minute.
func (m *Member) ask(from map[string]int, owned map[string][]string, planned map[string]bool) (wants []string) {
	size := 0
	list := func(all bool) {
		for _, owner := range slices.Sorted(maps.Keys(from)) {
			for _, shard := range owned[owner] {
				want := m.cfg.Stream + "/" + shard
				if planned[shard] == all || len(wants) == maxWants || len(wants) > 0 && size+len(want) > maxWantsSize {
					continue
				}
				wants = append(wants, want)
				size += len(want)
			}
		}
	}
	list(false)
	list(true)
	slices.Sort(wants)
	return wants
}

// give begins to hand leases over: to each worker as many as the plan says, of those that it asks for and that may
// move, the planned ones first.
func (m *Member) give(to map[string]int, movable []string, planned map[string]bool) {
	draining := 0
	for _, h := range m.held {
		if h.draining {
			draining++
		}
	}
	for _, heir := range slices.Sorted(maps.Keys(to)) {
		left := to[heir]
		for _, h := range m.held {
			if h.heir == heir && h.draining {
				left-- // it is on its way
			}
		}
		for _, first := range []bool{true, false} {
			for _, shard := range movable {
				h := m.held[shard]
				if planned[shard] != first || left <= 0 || draining > len(m.held)/8 ||
					h == nil || h.draining || h.ended || h.missing ||
					!slices.Contains(m.peers[heir].item.Worker.Wants, m.cfg.Stream+"/"+shard) {
					continue
				}
				left--
				draining++
				h.heir = heir
				m.drain(h)
			}
		}
	}
}
