package lease

import (
	"slices"
	"time"
)

// restTime is how long a lease that was moved for balance stays where it is. Releases and failovers
// do not count.
const restTime = time.Minute

// maxWants keeps a worker's item small, and hand-overs few at a time.
const maxWants = 10

// movable appends the lease to those that may move, unless it rests or is on hold.
func (m *Member) movable(shards []string, v *viewed) []string {
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

// balance acts on the moves that concern this worker. As the receiver it asks: it lists the leases in
// its own item. As the owner it gives what is asked for, if its own plan says the same: two views that
// differ move nothing. Only the owner ever gives a live lease up.
func (m *Member) balance(moves []Move) {
	var wants []string
	draining := 0
	for _, h := range m.held {
		if h.draining {
			draining++
		}
	}
	for _, move := range moves {
		wanted := m.cfg.Stream + "/" + move.Shard
		switch {
		case move.To == m.cfg.ID && len(wants) < maxWants:
			wants = append(wants, wanted)
		case move.From == m.cfg.ID:
			h := m.held[move.Shard]
			if h == nil || h.draining || h.ended || h.missing || draining > len(m.held)/8 {
				continue
			}
			if slices.Contains(m.peers[move.To].item.Worker.Wants, wanted) {
				draining++
				h.heir = move.To
				m.drain(h)
			}
		}
	}
	slices.Sort(wants)
	m.wants = wants
}
