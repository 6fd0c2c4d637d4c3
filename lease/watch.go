package lease

import (
	"maps"
	"slices"
)

// peer is another worker as this one sees it.
type peer struct {
	item Item
	seen Time // when the answer came that first showed item.Counter
}

func (p *peer) alive() bool {
	return p.item.Worker.State == Alive || p.item.Worker.State == Leaving
}

// reads says whether the worker takes shards of the stream.
func (p *peer) reads(stream string) bool { return slices.Contains(p.item.Worker.Streams, stream) }

// readMembers asks for the members once in a while, and at once if somebody must be proved absent.
func (m *Member) readMembers() {
	if m.membersAsked || m.phase == gone {
		return
	}
	due := m.membersNext
	if m.askNow {
		due = m.membersRetry
	}
	if m.now < due {
		m.wakeAt(due)
		return
	}
	m.membersAsked, m.membersBegun = true, m.steps
	m.do(ReadMembers{Consistent: m.askNow})
}

func (m *Member) onMembers(e MembersRead) {
	if !m.membersAsked {
		return
	}
	m.membersAsked = false
	m.silentAt = 0
	m.membersNext = m.now.Add(m.cfg.Watch)
	if m.now < m.settleAt {
		m.membersNext = m.settleAt
	}
	if e.Err != nil {
		m.membersRetry = m.membersNext
		return
	}
	// If this worker could not look for a while, nobody may have been able to write either: silence
	// before the gap proves nothing fair. Start to count again.
	first, last := !m.membersKnown, m.membersLast
	m.membersLast, m.membersKnown = m.now, true

	present := make(map[string]bool, len(e.Items))
	control := false
	for _, item := range e.Items {
		switch item.Key.Kind {
		case KindControl:
			control = true
			m.sawControl(item)
		case KindWorker:
			id := item.Key.Worker
			present[id] = true
			if id == m.cfg.ID {
				if item.Worker.State == Fenced { // final: no need to wait for the next heartbeat
					m.fenced()
					return
				}
				continue
			}
			m.sawPeer(item, first)
			if p := m.peers[id]; !first && m.blind(p, last) {
				p.seen = m.now
			}
		}
	}
	if e.Consistent {
		m.askNow = false
		m.consistentAt = m.membersBegun
		m.stale = true
		m.controlFound = m.controlFound && control
	}
	maps.DeleteFunc(m.peers, func(id string, p *peer) bool {
		return !present[id] && (e.Consistent || !p.alive() && m.now.Sub(p.seen) >= wornOut)
	})
}

// blind says whether a read of the members is too old to judge one of them by.
func (m *Member) blind(p *peer, read Time) bool { return m.now.Sub(read) > m.failover(p)/2 }

// sawPeer takes a worker's item into the view. A counter that goes back is a stale read.
func (m *Member) sawPeer(item Item, quiet bool) {
	id := item.Key.Worker
	p := m.peers[id]
	switch {
	case p == nil:
		p = &peer{item: item, seen: m.now}
		m.peers[id] = p
		if p.alive() {
			m.membershipChanged()
			if !quiet {
				m.do(Report{Kind: PeerJoined, Worker: id})
			}
		}
	case item.Counter > p.item.Counter:
		was := p.item.Worker
		p.item, p.seen = item, m.now
		m.stale = m.stale || !slices.Equal(item.Worker.Wants, was.Wants)
		if item.Worker.State == was.State {
			return
		}
		m.membershipChanged()
		switch item.Worker.State {
		case Left:
			m.do(Report{Kind: PeerLeft, Worker: id})
		case Fenced:
			m.do(Report{Kind: PeerFenced, Worker: id})
		}
	}
}

func (m *Member) membershipChanged() {
	m.stale = true
	m.changedAt = m.now
	m.lookAgain()
}

// fenceSilent shuts out the workers that have been silent for too long. It does not wait for a read:
// the write is conditional on the heartbeat that was seen. But a worker that has not looked for a while
// looks first.
func (m *Member) fenceSilent() {
	if m.suspended() {
		return
	}
	if m.now < m.silentAt {
		m.wakeAt(m.silentAt)
		return
	}
	m.silentAt = never
	var silent []string
	for id, p := range m.peers {
		if !p.alive() || !p.reads(m.cfg.Stream) || m.writes[p.item.Key] != nil || m.blind(p, m.membersLast) {
			continue // the next read, or the write's outcome, makes silentAt 0
		}
		if expiry := p.seen.Add(m.patience(p)); m.now < expiry {
			m.silentAt = min(m.silentAt, expiry)
			continue
		}
		silent = append(silent, id)
	}
	m.wakeAt(m.silentAt)
	slices.Sort(silent)
	for _, id := range silent {
		p := m.peers[id]
		fence := p.item
		fence.Worker.State = Fenced
		m.start(forFence, update(p.item, fence))
	}
}

// onPeerWritten resolves a fence, or the removal of a worker that is no more.
func (m *Member) onPeerWritten(w *write, e Written) {
	m.silentAt = 0
	switch {
	case e.Outcome == Landed && w.purpose == forTidying:
		delete(m.peers, e.Key.Worker)
	case e.Outcome == Landed || e.Found:
		m.sawPeer(e.Item, false)
	default:
		delete(m.peers, e.Key.Worker)
		m.stale = true
	}
}

// rivals are the ids of the workers that share the stream's leases out among them, this one
// included, sorted.
func (m *Member) rivals() []string {
	var ids []string
	if m.phase == active {
		ids = append(ids, m.cfg.ID)
	}
	for id, p := range m.peers {
		if m.rival(p) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (m *Member) rival(p *peer) bool {
	return p.item.Worker.State == Alive && p.reads(m.cfg.Stream)
}

// lowest says whether this worker is the one that tidies up for all. Two may think so for a while:
// all that it does is idempotent.
func (m *Member) lowest() bool {
	if m.phase != active {
		return false
	}
	for id, p := range m.peers {
		if id < m.cfg.ID && m.rival(p) {
			return false
		}
	}
	return true
}

// standing is what an owner's name on a lease means.
type standing uint8

const (
	nobody  standing = iota // free, or the owner is out for good
	mine                    // this incarnation
	alive                   // another live worker
	unclear                 // not known yet
)

// ownerOf judges the owner of a lease. A worker that has no item was deleted, long after it was
// fenced or had left; but only a consistent read that began after the answer which showed the lease proves
// it, since a worker that just joined may be missing from an older one.
func (m *Member) ownerOf(v *viewed) standing {
	id := v.item.Lease.Owner
	switch p := m.peers[id]; {
	case id == "":
		return nobody
	case id == m.cfg.ID:
		return mine
	case p != nil && p.alive():
		return alive
	case p != nil:
		return nobody
	case m.consistentAt >= v.shown:
		return nobody
	}
	m.askNow = true
	return unclear
}
