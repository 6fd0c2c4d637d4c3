package lease

// take takes the free leases that the plan gives to this worker.
func (m *Member) take() {
	if !m.stale || m.phase != active || !m.leasesKnown || m.suspended() {
		return
	}
	if m.membersLast < m.settleAt {
		return // workers that joined at the same moment may not be in view
	}
	m.stale = false

	counts := map[string]int{}
	var free []string
	for _, shard := range m.viewedShards() {
		v := m.view[shard]
		if v.ended() {
			continue
		}
		switch m.ownerOf(v) {
		case alive:
			counts[v.item.Lease.Owner]++
		case mine:
			counts[m.cfg.ID]++
			if m.held[shard] == nil { // a foreign write ended the epoch: begin a new one from the item
				m.startTake(v.item)
			}
		case nobody:
			if m.open(v) {
				free = append(free, shard)
			}
		}
	}
	if len(free) == 0 {
		return
	}
	var candidates []Candidate
	for _, id := range m.rivals() {
		c := Candidate{ID: id, Held: counts[id], MaxShards: m.cfg.MaxShards}
		if p := m.peers[id]; p != nil {
			c.MaxShards = p.item.Worker.MaxShards
		}
		candidates = append(candidates, c)
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

func (m *Member) startTake(item Item) {
	taken := item
	taken.Lease.OwnerSwitches++
	taken.Lease.Owner = m.cfg.ID
	m.start(forTake, update(item, taken))
}

// taking says whether a take is outstanding.
func (m *Member) taking() bool {
	for _, w := range m.writes {
		if w.purpose == forTake {
			return true
		}
	}
	return false
}
