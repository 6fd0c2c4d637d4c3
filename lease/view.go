package lease

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// viewed is a lease as this worker last saw it.
type viewed struct {
	item   Item
	shown  uint64 // step of the answer that first showed item.Counter
	since  Time   // when the lease was first seen
	last   Time   // when it was last there
	ended  Time   // when it was first seen to be finished; 0 if not
	moved  Time   // when it was seen to have gone from one live worker to another; 0 if not
	inRead uint64 // step of the last read of the leases that had it
	from   string // the worker that it went from so, until this one has begun an epoch
	begun  Time   // when it was first seen to have begun; 0 if not

	holdEnd  Time // when the hold on it, if any, runs out
	toldHold bool // it was reported to be on hold
}

// echoPause is how long after a change the leases are read once more: the first read may be stale.
const echoPause = 2 * time.Second

// firstPause is the pause between two reads of the leases while there are free ones that this worker's
// plan gives to others. Maybe they have taken them; maybe their views differ, and a new read makes them
// meet. It doubles from read to read.
const firstPause = time.Second

// lookAgain makes the leases be read now, and once more a little later.
func (m *Member) lookAgain() {
	m.leasesNext = m.now
	m.leasesEcho = m.now.Add(echoPause)
	m.leasesPause = 0
	m.listPause = 0
}

func (m *Member) readLeases() {
	if m.leasesAsked || m.phase == joining {
		return
	}
	due := m.leasesNext
	if m.leasesEcho != 0 {
		due = min(due, m.leasesEcho)
	}
	if m.now < due {
		m.wakeAt(due)
		return
	}
	if m.leasesEcho != 0 && m.now >= m.leasesEcho {
		m.leasesEcho = 0
	}
	m.leasesAsked, m.leasesBegun, m.leasesBegunAt = true, m.steps, m.now
	m.leasesNext = m.now.Add(m.cfg.Relist)
	m.do(ReadLeases{})
}

func (m *Member) onLeases(e LeasesRead) {
	if !m.leasesAsked {
		return
	}
	m.leasesAsked = false
	unreadable := make(map[string]bool, len(e.Bad))
	for _, bad := range e.Bad {
		unreadable[bad.Key] = true
		if !m.unreadable[bad.Key] {
			m.do(Report{Kind: Unreadable, Shard: bad.Key, Err: bad})
		}
	}
	if e.Err != nil { // those that did not come may be as bad as they were
		maps.Copy(unreadable, m.unreadable)
	}
	m.unreadable = unreadable
	for _, item := range e.Items {
		m.believes(item)
		delete(m.suspects, item.Key.Shard)
		if v := m.view[item.Key.Shard]; v != nil && item.Counter <= v.item.Counter && !v.as(item) && m.gone(v) {
			m.forget(item.Key.Shard) // it was deleted, and made again: its counter begins anew
		}
		v := m.saw(item)
		v.inRead = m.steps
		if v.as(item) {
			v.last = m.now
		}
	}
	present := func(v *viewed) bool { return v != nil && v.inRead == m.steps }
	if e.Err != nil {
		m.leasesNext = m.now.Add(m.cfg.Watch)
		return
	}
	m.leasesKnown, m.stale, m.tidied = true, true, false
	m.leasesLast, m.leasesShown = m.now, m.leasesBegun
	for _, h := range m.holdings() { // before somebody makes the lease again, and another worker takes it
		if v := m.view[h.shard()]; !present(v) && (v == nil || m.gone(v)) && m.writes[h.item.Key] == nil {
			m.close(h, CloseLost)
			m.do(Report{Kind: Lost, Shard: h.shard(), Position: h.acked})
		}
	}
	m.leasesPause = min(max(2*m.leasesPause, firstPause), m.cfg.Relist)
	// Leases go away: finished ones in the end, maybe before this worker saw that they were finished.
	// A lease that was there a while ago and is not now is gone; one that is new may only be missing from a stale
	// read.
	for shard, v := range m.view {
		if !present(v) && m.held[shard] == nil && m.gone(v) {
			m.forget(shard)
		}
	}
}

// as says whether an item shows the lease as it is known here.
func (v *viewed) as(item Item) bool {
	return v.item.Counter == item.Counter && v.item.Lease.Owner == item.Lease.Owner && v.item.Lease.Checkpoint == item.Lease.Checkpoint
}

// gone says whether a lease that the last read lacks, or shows older than it is known here, is gone, and not only missing
// from a stale read.
func (m *Member) gone(v *viewed) bool { return m.leasesBegunAt >= v.last.Add(m.cfg.Relist/2) }

// saw takes a lease into the view. A counter that goes back is a stale read; so is a hold whose version does.
func (m *Member) saw(item Item) *viewed {
	v := m.view[item.Key.Shard]
	if v == nil || item.Counter > v.item.Counter {
		return m.know(item)
	}
	if hold := item.Lease.Hold; hold.Version > v.item.Lease.Hold.Version {
		m.sawHold(v, hold)
	}
	return v
}

// know takes a lease into the view as a write's answer showed it: that is how it stood.
func (m *Member) know(item Item) *viewed {
	v := m.view[item.Key.Shard]
	if v == nil {
		v = &viewed{since: m.now}
		m.view[item.Key.Shard], m.viewOrder = v, nil
		m.stale = true
	}
	was := v.item.Lease.Owner
	if item.Lease.Owner != was && item.Lease.Owner != "" {
		if p := m.peers[was]; was == m.cfg.ID || p != nil && p.alive() {
			v.moved, v.from = max(m.now, 1), was
		}
	}
	hold := item.Lease.Hold
	item.Lease.Hold = v.item.Lease.Hold
	v.item, v.shown, v.last = item, m.steps, m.now
	if hold != item.Lease.Hold {
		m.sawHold(v, hold)
	}
	ended, begun := v.ended != 0, v.begun != 0
	v.ended = since(v.ended, item.Lease.Checkpoint.IsShardEnd(), m.now)
	v.begun = since(v.begun, item.Lease.Checkpoint.Begun(), m.now)
	if m.held[item.Key.Shard] != nil {
		m.heldDue = m.now
	}
	// A plan does not look at how far a shard has come: in a large group checkpoints would make plans all the time.
	m.stale = m.stale || was != item.Lease.Owner || ended != (v.ended != 0) || begun != (v.begun != 0)
	return v
}

// since is when something was first seen to be so; 0 if it is not so. A lease that was deleted by hand and made
// again is not finished any more.
func since(was Time, is bool, now Time) Time {
	switch {
	case !is:
		return 0
	case was == 0:
		return max(now, 1)
	}
	return was
}

func (m *Member) forget(shard string) {
	delete(m.view, shard)
	m.viewOrder = nil
	m.stale = true
}

// open says whether the shard may be read now: its parents are done. A finished parent stays
// finished, so even a stale view proves it. A parent without a lease is done only if the stream no longer
// lists it; a listing proves that if it has the child, or is from a while later, since one from before
// the reshard has neither. A parent with a lease is waited for in any case: if its records are past their retention,
// its owner finds out and finishes it, when none of its handlers runs any more. That holds for ancestors
// further up, too; who they are is not known where a shard between them has passed its retention before it had a
// lease.
func (m *Member) open(v *viewed) bool {
	l := v.item.Lease
	if l.Root || l.Checkpoint.Begun() {
		return true
	}
	for _, parent := range l.Parents {
		if p := m.view[parent]; p != nil {
			if p.ended == 0 {
				return false
			}
			continue
		}
		_, parentListed := m.listed[parent]
		_, childListed := m.listed[v.item.Key.Shard]
		if !childListed && !m.settledListing(v.since) {
			m.wantAll = true
			return false
		}
		if parentListed {
			m.wantAll = m.wantAll || m.now.Sub(m.listAt) >= m.cfg.Relist // it may be gone since
			return false
		}
		if childListed && m.expiring(l.HashRange) {
			m.wantAll = m.wantAll || m.now.Sub(m.listAt) >= m.cfg.Relist
			return false
		}
	}
	return true
}

// expiring says whether there is an unfinished lease of a shard with some of these keys that the stream lists no longer.
func (m *Member) expiring(keys HashRange) bool {
	for shard, v := range m.view {
		if _, there := m.listed[shard]; !there && v.ended == 0 && v.item.Lease.HashRange.overlaps(keys) {
			return true
		}
	}
	return false
}

// viewInOrder is the view, by shard. It is not the caller's to change.
func (m *Member) viewInOrder() []*viewed {
	if len(m.viewOrder) != len(m.view) { // what leaves the view, or comes into it, clears it
		m.viewOrder = slices.SortedFunc(maps.Values(m.view), func(a, b *viewed) int {
			return strings.Compare(a.item.Key.Shard, b.item.Key.Shard)
		})
	}
	return m.viewOrder
}

// settledListing says whether the listing is from long enough after a moment to know all shards of then:
// one that is asked for at once may show the stream as it was before.
func (m *Member) settledListing(after Time) bool {
	return m.listed != nil && m.listAt >= after.Add(m.cfg.Relist)
}

// stillListed says whether the stream may still keep the shard of a lease.
func (m *Member) stillListed(v *viewed) bool {
	_, there := m.listed[v.item.Key.Shard]
	return there || !m.settledListing(v.since)
}
