package lease

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// wornOut is how long the item of a worker that is no more is kept.
const wornOut = 10 * time.Minute

// The pause between two listings of the stream's shards doubles while what is looked for does not show.
const (
	firstListPause = time.Second
	maxListPause   = 30 * time.Second
)

// syncControl keeps the control item: it makes it, puts this stream on it, sees that the stream's
// first leases are made, and moves it on when others have something to read.
func (m *Member) syncControl() {
	if !m.membersKnown || m.suspended() || m.writes[ControlKey()] != nil {
		return
	}
	record := StreamRecord{Name: m.cfg.Stream, ARN: m.cfg.ARN, Created: m.cfg.Created, Start: m.cfg.Start}
	if !m.controlFound {
		if m.consistentAt == 0 {
			m.askNow = true
			return
		}
		m.start(forControl, Write{Op: Create, Item: Item{
			Key: ControlKey(), Control: Control{Version: ControlVersion, Streams: []StreamRecord{record}},
		}})
		return
	}
	known, ok := m.control.Control.Stream(m.cfg.Stream)
	switch {
	case !ok:
		m.writeControl(append(slices.Clone(m.control.Control.Streams), record))
	case !known.Created.Equal(m.cfg.Created):
		if !m.stopping {
			m.leave(ErrRecreated)
		}
	case !known.Ready || m.remake:
		m.makeRoots(known)
	case m.bump:
		m.writeControl(m.control.Control.Streams)
	}
}

func (m *Member) writeControl(streams []StreamRecord) {
	item := m.control
	item.Control.Streams = slices.SortedFunc(slices.Values(streams), func(a, b StreamRecord) int {
		return strings.Compare(a.Name, b.Name)
	})
	if m.start(forControl, update(m.control, item)) {
		m.bump = false
	}
}

func (m *Member) onControlWritten(_ *write, e Written) {
	if e.Outcome == Conflict {
		m.bump = true // the other write may have come before what this one was to announce
		m.controlFound = e.Found
		if !e.Found {
			return
		}
		m.lookAgain()
	}
	m.control, m.controlFound = e.Item, true
	m.stale = true
}

// sawControl takes the control item into the view; if it moved on, there are leases to read.
func (m *Member) sawControl(item Item) {
	if m.controlFound && item.Counter <= m.control.Counter {
		return
	}
	m.control, m.controlFound = item, true
	m.lookAgain()
}

// makeRoots makes the first leases of the stream: those of the shards that were open at the group's
// start. Any worker may do it, since all make the same; it is done once in a group's life. The lowest-ranked worker does
// it, for thousands of leases times hundreds of workers are more writes than a table takes; if it cannot, the others do,
// a while later.
func (m *Member) makeRoots(record StreamRecord) {
	if !m.leasesKnown || m.phase != active {
		return
	}
	if late := m.settleAt.Add(m.cfg.Relist); m.now < late && !m.lowest() {
		m.wakeAt(late)
		return
	}
	if m.roots == nil {
		m.wantRoots = &ListShards{At: record.Start}
		return
	}
	if m.outstanding[forLease] > 0 && len(m.view)+len(m.unreadable) < len(m.roots) {
		return // they are on their way: thousands of answers come, and none but the last has to be looked at
	}
	made := true
	for _, id := range slices.Sorted(maps.Keys(m.roots)) {
		if m.view[id] != nil || m.unreadable[LeaseKey(m.cfg.Stream, id).String()] {
			continue
		}
		made = false
		s := m.roots[id]
		if root := !m.hasKnownParent(s); root {
			m.createLease(s, record.Start, true)
		} else {
			m.createLease(s, TrimHorizon(), false)
		}
	}
	if made {
		m.remake, m.roots = false, nil
		streams := slices.Clone(m.control.Control.Streams)
		for i := range streams {
			if streams[i].Name == record.Name {
				streams[i].Ready = true
			}
		}
		m.writeControl(streams)
	}
}

// hasKnownParent guards order where a first listing was cut short by a crash and the stream was
// resharded before the next one: a child of a shard that has a lease waits for it.
func (m *Member) hasKnownParent(s Shard) bool {
	return slices.ContainsFunc(s.Parents, func(p string) bool {
		_, listed := m.roots[p]
		return listed || m.view[p] != nil
	})
}

// list asks for the stream's shards, where somebody wants them or an audit is due.
func (m *Member) list() {
	if record, _ := m.control.Control.Stream(m.cfg.Stream); record.Ready && m.leasesKnown && m.lowest() {
		switch {
		case m.now < m.auditAt:
			m.wakeAt(m.auditAt)
		case m.leasesShown > m.auditStep:
			m.wantAll = true
		default: // an audit wants a read of the leases of its own; one that has just failed is not repeated at once
			m.leasesNext = min(m.leasesNext, m.leasesBegunAt.Add(m.cfg.Watch))
		}
	}
	switch {
	case m.listAsked != nil || m.wantRoots == nil && !m.wantAll:
		return
	case m.now < m.listNext:
		m.wakeAt(m.listNext)
		return
	case m.wantRoots != nil:
		m.listAsked, m.wantRoots = m.wantRoots, nil
	default:
		m.listAsked, m.wantAll = &ListShards{All: true}, false
	}
	m.listAskedAt, m.listAskedTime = m.steps, m.now
	m.listPause = min(max(2*m.listPause, firstListPause), maxListPause)
	m.listNext = m.now.Add(m.listPause)
	m.do(*m.listAsked)
}

func (m *Member) onListed(e Listed) {
	asked := m.listAsked
	m.listAsked = nil
	m.heldDue = m.now // who still wants it asks again
	// A listing without shards is of a stream that is being made: no other has none.
	if asked == nil || e.Err != nil || len(e.Shards) == 0 {
		m.stale = true
		return
	}
	byID := make(map[string]Shard, len(e.Shards))
	for _, s := range e.Shards {
		byID[s.ID] = s
	}
	if !asked.All {
		m.roots = byID
		if m.remake {
			for _, id := range slices.Sorted(maps.Keys(byID)) {
				m.missed(byID[id])
			}
		}
		return
	}
	m.listed, m.listBegun, m.listAt = byID, m.listAskedAt, m.listAskedTime
	m.stale = true
	if m.now >= m.auditAt && m.lowest() && m.leasesShown > m.auditStep {
		m.auditAt, m.auditStep = m.now.Add(m.cfg.Relist), m.steps
		m.audit()
	}
}

// audit makes leases that should be there and are not, though every one is made when its parent ends:
// somebody may have deleted one. It believes only what two audits in a row have found, each on a read
// of its own: a lease that is missing from a stale read is not missing.
func (m *Member) audit() {
	before := m.suspects
	m.suspects = map[string]bool{}
	record, ok := m.control.Control.Stream(m.cfg.Stream)
	if !ok || !record.Ready {
		return
	}
	leases := make(map[string]Lease, len(m.view))
	for shard, v := range m.view {
		leases[shard] = v.item.Lease
	}
	again := true
	for _, s := range MissingLeases(leases, m.listed) {
		if m.unreadable[LeaseKey(m.cfg.Stream, s.ID).String()] {
			continue
		}
		m.suspects[s.ID] = true
		switch {
		case !before[s.ID]:
			again = false
		case len(leases) > 0:
			m.missed(s)
			// Its parents are done, and what lies before the group's start is none of the group's.
			m.createLease(s, record.Start, true)
		}
	}
	if len(leases) == 0 && len(m.suspects) > 0 && again {
		m.remake, m.roots = true, nil // there is no telling where the group began but by its start
	}
}

// missed tells of the shard's parents that are past their retention and have no lease: nobody may have read them.
func (m *Member) missed(s Shard) {
	for _, parent := range s.Parents {
		if _, there := m.listed[parent]; !there && m.view[parent] == nil {
			m.do(Report{Kind: ShardTrimmed, Shard: parent})
		}
	}
}

// MissingLeases returns the listed shards that should have a lease and have none, sorted by id. A
// shard needs none while one of its parents is still to be finished; nor if it is an ancestor of a lease that is a
// root or has begun, since then it was finished, or lies before the group's start.
//
// A parent that is neither listed nor has a lease is past its retention. Who its ancestors were is not known any
// more: so the shard waits for every lease of its keys that is unfinished and not listed either.
func MissingLeases(leases map[string]Lease, listed map[string]Shard) []Shard {
	past := map[string]bool{}
	var pass func(shard string)
	pass = func(shard string) {
		for _, parent := range slices.Concat(leases[shard].Parents, listed[shard].Parents) {
			if !past[parent] {
				past[parent] = true
				pass(parent)
			}
		}
	}
	for shard, l := range leases {
		if l.Root || l.Checkpoint.Begun() {
			pass(shard)
		}
	}
	expiring := func(keys HashRange) bool {
		for shard, l := range leases {
			if _, there := listed[shard]; !there && !l.Checkpoint.IsShardEnd() && l.HashRange.overlaps(keys) {
				return true
			}
		}
		return false
	}
	var missing []Shard
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := leases[id]; ok || past[id] {
			continue
		}
		waits := slices.ContainsFunc(listed[id].Parents, func(p string) bool {
			if l, ok := leases[p]; ok {
				return !l.Checkpoint.IsShardEnd()
			}
			if _, there := listed[p]; !there {
				return expiring(listed[id].HashRange)
			}
			return !past[p]
		})
		if !waits {
			missing = append(missing, listed[id])
		}
	}
	return missing
}

// tidy removes what nobody needs any more; the lowest-ranked worker does it, once a read of the
// leases.
//
// A finished lease goes when all of its children have begun, or are gone themselves: until then it says that
// it was finished, and not lost. If it has none, it goes when the stream lists it no longer. The
// children must have been seen so for a while: a reader whose view of the children is older than its
// view of the parent would otherwise take the parent for one that was never made, and make it again.
func (m *Member) tidy() {
	if m.tidied || !m.leasesKnown || m.suspended() || !m.lowest() {
		return
	}
	m.tidied = true
	owners := map[string]bool{}
	for _, v := range m.viewInOrder() {
		owners[v.item.Lease.Owner] = true
		if v.ended == 0 {
			continue
		}
		over := len(v.item.Lease.Children) > 0 || !m.stillListed(v) && m.now.Sub(v.ended) >= m.cfg.Relist
		for _, child := range v.item.Lease.Children {
			if c := m.view[child]; c != nil {
				over = over && c.begun != 0 && m.now.Sub(c.begun) >= m.cfg.Relist
			} else {
				_, there := m.listed[child]
				over = over && !there && m.settledListing(v.ended)
			}
		}
		if over {
			m.start(forTidying, remove(v.item))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.peers)) {
		p := m.peers[id]
		if !p.alive() && !owners[id] && m.now.Sub(p.seen) >= wornOut {
			m.start(forTidying, remove(p.item))
		}
	}
}
