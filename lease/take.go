package lease

import "time"

// planPause is how long a worker at most goes on with a plan of which writes are on their way: each answer changes the
// view, and thousands of plans for thousands of answers would leave it no time for its heartbeats.
const planPause = 200 * time.Millisecond

// take takes the free leases that the plan gives to this worker.
func (m *Member) take() {
	if !m.stale || m.phase == joining || !m.leasesKnown || m.suspended() {
		return
	}
	if due := m.planned.Add(planPause); m.now < due && m.outstanding[forTake]+m.outstanding[forRelease]+m.outstanding[forLease] > 0 {
		m.wakeAt(due)
		return
	}
	if m.phase == leaving {
		m.planned = m.now
		m.refuse()
		return
	}
	if m.membersLast < m.settleAt {
		return // workers that joined at the same moment may not be in view
	}
	m.stale, m.planned = false, m.now

	owners := map[string]*property{}
	clear := true // everything has a live owner, or nobody may have it yet
	var free []string
	for _, v := range m.viewInOrder() {
		if v.ended != 0 {
			continue
		}
		shard, owner := v.item.Key.Shard, v.item.Lease.Owner
		who := m.ownerOf(v)
		if who != mine {
			delete(m.halted, shard)
		}
		if who == alive || who == mine {
			p := owners[owner]
			if p == nil {
				p = &property{}
				owners[owner] = p
			}
			p.held++
			p.movable = m.appendMovable(p.movable, v)
		}
		switch who {
		case mine:
			switch {
			case m.held[shard] != nil:
			case m.onHold(v):
				m.giveBack(v.item)
			case m.halted[shard]:
			default:
				// Handed over to this worker; or a foreign write ended the epoch. Begin one from the item.
				m.startTake(v.item)
			}
		case nobody:
			switch {
			case !m.onHold(v):
				if m.open(v) {
					free = append(free, shard)
				}
			case owner != "" && m.lowest():
				m.giveBack(v.item) // operators wait for a free lease
			}
		case unclear:
			clear = false
		}
	}
	var candidates []Candidate
	owned := map[string][]string{} // what may move
	for _, id := range m.rivals() {
		c := Candidate{ID: id, MaxShards: m.cfg.MaxShards}
		if p := m.peers[id]; p != nil {
			c.MaxShards = p.item.Worker.MaxShards
		}
		if p := owners[id]; p != nil {
			c.Held, owned[id] = p.held, p.movable
		}
		candidates = append(candidates, c)
	}
	if len(free) == 0 && clear {
		if settled := m.changedAt.Add(echoPause); m.leasesLast >= settled {
			m.balance(Balance(owned, candidates), owned)
		} else {
			m.leasesNext = min(m.leasesNext, settled)
		}
	}
	elsewhere := false
	for shard, id := range Share(free, candidates) {
		if id == m.cfg.ID {
			m.startTake(m.view[shard].item)
		} else {
			elsewhere = true
		}
	}
	if elsewhere {
		m.leasesNext = min(m.leasesNext, m.leasesLast.Add(m.leasesPause))
	}
}

// property is what a worker has, in this worker's view.
type property struct {
	held    int
	movable []string
}

// refuse gives back what was handed over to this worker while it began to leave.
func (m *Member) refuse() {
	m.stale = false
	for _, v := range m.viewInOrder() {
		if m.ownerOf(v) == mine && m.held[v.item.Key.Shard] == nil {
			m.giveBack(v.item)
		}
	}
}

// giveBack frees a lease that this worker does not read.
func (m *Member) giveBack(item Item) {
	free := item
	free.Lease.Owner = ""
	m.start(forRelease, update(item, free))
}

func (m *Member) startTake(item Item) {
	taken := item
	if item.Lease.Owner != m.cfg.ID {
		taken.Lease.OwnerSwitches++
		taken.Lease.Owner = m.cfg.ID
	}
	m.start(forTake, update(item, taken))
}
