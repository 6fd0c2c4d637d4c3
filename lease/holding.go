package lease

import (
	"maps"
	"slices"
	"strings"
)

// holding is a lease that this worker owns, from the take that landed to the write that ends it.
type holding struct {
	item           Item
	token          int64 // item.Counter at acquisition
	acked          Position
	nextCheckpoint Time

	ended    bool   // read to its end
	endedAt  uint64 // step of it: a listing begun later shows the children
	children []Shard

	missing bool // the service knows no such shard
	since   Time // it was first said
	trimmed bool // nor does its listing: what was left of it is gone

	opened, draining, drained bool
	heir                      string // the worker that it is drained for; "" is anybody
}

func (h *holding) shard() string { return h.item.Key.Shard }

// holdings are the leases held, by shard. They are not the caller's to change.
func (m *Member) holdings() []*holding {
	if len(m.heldOrder) != len(m.held) { // whoever adds one, or takes one away, clears it
		m.heldOrder = slices.SortedFunc(maps.Values(m.held), func(a, b *holding) int { return strings.Compare(a.shard(), b.shard()) })
	}
	return m.heldOrder
}

// begin begins an epoch: the take landed.
func (m *Member) begin(item Item, from string) {
	shard := item.Key.Shard
	h := &holding{
		item:           item,
		token:          item.Counter,
		acked:          item.Lease.Checkpoint,
		nextCheckpoint: m.now.Add(m.cfg.Checkpoint),
	}
	m.held[shard], m.heldOrder = h, nil
	v := m.view[shard]
	if from == m.cfg.ID {
		from = v.from // handed over
	}
	v.from = ""
	m.do(Report{Kind: Took, Shard: shard, Worker: from, Position: item.Lease.Checkpoint})
	if m.phase == leaving || m.onHold(v) {
		h.draining, h.drained = true, true // it was on its way when the stop, or the hold, came: nothing is read
		return
	}
	if !item.Lease.Root && !item.Lease.Checkpoint.Begun() {
		for _, parent := range item.Lease.Parents {
			if m.view[parent] == nil { // a finished one would still be there
				m.do(Report{Kind: ShardTrimmed, Shard: parent})
			}
		}
	}
	h.opened = true
	m.do(Open{Shard: shard, Position: item.Lease.Checkpoint, Token: h.token, HashRange: item.Lease.HashRange})
}

// close ends an epoch; whoever never heard of it hears nothing.
func (m *Member) close(h *holding, reason CloseReason) {
	delete(m.held, h.shard())
	m.heldOrder = nil
	m.stale = true
	if h.opened {
		m.do(Close{Shard: h.shard(), Token: h.token, Reason: reason})
	}
}

func (m *Member) drain(h *holding) {
	if !h.draining {
		h.draining = true
		m.do(Drain{Shard: h.shard(), Token: h.token})
	}
}

// current is the holding that an event is about, or nil if its epoch is over: late acks are inert.
func (m *Member) current(shard string, token int64) *holding {
	if h := m.held[shard]; h != nil && h.token == token {
		return h
	}
	return nil
}

func (m *Member) onAcked(e Acked) {
	if h := m.current(e.Shard, e.Token); h != nil {
		m.ack(h, e.Position)
		m.heldDue = min(m.heldDue, h.nextCheckpoint)
	}
}

func (m *Member) ack(h *holding, p Position) {
	// In the KCL's order TRIM_HORIZON comes after AT_TIMESTAMP: a sentinel is no progress.
	if p.Begun() && p.Compare(h.acked) > 0 {
		h.acked = p
	}
	if p.IsShardEnd() {
		m.end(h, nil)
	}
}

func (m *Member) onEnded(e Ended) {
	if h := m.current(e.Shard, e.Token); h != nil {
		m.end(h, e.Children)
	}
}

func (m *Member) end(h *holding, children []Shard) {
	m.heldDue = m.now
	if len(h.children) == 0 {
		h.children = children // the last ack may come before the reader's word
	}
	if !h.ended {
		h.ended, h.endedAt = true, m.steps
		m.listPause, m.listNext = 0, min(m.listNext, m.now.Add(firstListPause))
	}
}

func (m *Member) onDrained(e Drained) {
	if h := m.current(e.Shard, e.Token); h != nil {
		m.ack(h, e.Position)
		h.draining, h.drained = true, true
		m.heldDue = m.now
	}
}

func (m *Member) onMissing(e Missing) {
	if h := m.current(e.Shard, e.Token); h != nil && !h.missing {
		h.missing, h.since = true, m.now
		m.heldDue = m.now
	}
}

// advanceHeld does what is due for the leases held.
func (m *Member) advanceHeld() {
	if len(m.held) == 0 {
		return
	}
	if m.now < m.heldDue {
		m.wakeAt(m.heldDue)
		return
	}
	m.heldDue = m.now.Add(m.cfg.Relist)
	for _, h := range m.holdings() {
		m.judgeMissing(h)
		if m.writes[h.item.Key] != nil {
			continue // its outcome makes heldDue now
		}
		switch v := m.view[h.shard()]; {
		case !v.as(h.item): // a lease that was deleted, and made again, may have come to the same counter, with another owner
			m.lose(h, v.item)
			continue
		case m.onHold(v):
			h.heir = ""
			m.drain(h)
		}
		switch {
		case h.drained && !h.acked.IsShardEnd():
			m.release(h)
		case h.ended && !m.childrenMade(h):
			m.checkpoint(h) // meanwhile
		case h.ended && h.acked.IsShardEnd():
			m.finish(h)
		default:
			m.checkpoint(h)
		}
	}
	m.wakeAt(m.heldDue)
}

// judgeMissing looks whether a shard that the service does not know is still listed. If it is, the
// answer was a passing one, and the reader goes on trying. If not, the shard's last record is past its
// retention: the shard is finished as soon as no handler of it runs. A shard that was just made may be missing
// from both for a moment; so the listing that decides is one from a while later.
func (m *Member) judgeMissing(h *holding) {
	due := h.since.Add(m.cfg.Relist)
	switch {
	case h.trimmed && h.drained && !h.ended:
		h.ended, h.endedAt, h.acked = true, m.listBegun, ShardEnd()
	case !h.missing || h.trimmed:
	case m.now < due:
		m.heldDue = min(m.heldDue, due)
	case !m.settledListing(h.since):
		m.wantAll = true
	default:
		h.missing = false
		if _, there := m.listed[h.shard()]; !there {
			h.trimmed = true
			m.do(Report{Kind: ShardTrimmed, Shard: h.shard(), Position: h.acked})
			m.drain(h)
		}
	}
}

// childrenMade makes sure that every child of an ended shard has its lease. If the end of the shard did
// not tell its children, a listing does; a closed shard has some, unless it is past its retention, and they too.
func (m *Member) childrenMade(h *holding) bool {
	if len(h.children) == 0 {
		if m.listed == nil || m.listBegun < h.endedAt {
			m.wantAll = true
			return false
		}
		h.children = childrenOf(h.shard(), m.listed)
		if len(h.children) == 0 && !h.trimmed && m.stillListed(m.view[h.shard()]) {
			m.wantAll = true
			h.endedAt = m.steps // the listing was a stale one: wait for the next
			return false
		}
	}
	made := true
	for _, child := range h.children {
		if m.view[child.ID] == nil && !m.unreadable[LeaseKey(m.cfg.Stream, child.ID).String()] {
			made = false
			m.createLease(child, TrimHorizon(), false)
		}
	}
	return made
}

func childrenOf(shard string, listed map[string]Shard) []Shard {
	var children []Shard
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		if slices.Contains(listed[id].Parents, shard) {
			children = append(children, listed[id])
		}
	}
	return children
}

func (m *Member) createLease(s Shard, at Position, root bool) {
	m.start(forLease, Write{Op: Create, Item: Item{
		Key: LeaseKey(m.cfg.Stream, s.ID),
		Lease: Lease{
			Checkpoint: at,
			Parents:    slices.Sorted(slices.Values(s.Parents)),
			HashRange:  s.HashRange,
			Root:       root,
		},
	}})
}

// advanced is the lease with its checkpoint moved to what was acknowledged. ShardEnd goes in only
// by finish.
func (h *holding) advanced() Item {
	item := h.item
	if h.acked.Compare(item.Lease.Checkpoint) > 0 && !h.acked.IsShardEnd() {
		item.Lease.Checkpoint = h.acked
		item.Lease.OwnerSwitches = 0
	}
	return item
}

func (m *Member) checkpoint(h *holding) {
	item := h.advanced()
	switch {
	case item.Lease.Checkpoint == h.item.Lease.Checkpoint:
	case m.now < h.nextCheckpoint:
		m.heldDue = min(m.heldDue, h.nextCheckpoint)
	default:
		m.start(forCheckpoint, update(h.item, item))
	}
}

// release gives the lease back, or to the worker that asked for it, with its last checkpoint, in one
// write.
func (m *Member) release(h *holding) {
	item := h.advanced()
	item.Lease.Owner = ""
	if p := m.peers[h.heir]; p != nil && p.item.Worker.State == Alive && m.phase == active {
		item.Lease.Owner = h.heir
		item.Lease.OwnerSwitches++
	}
	m.start(forRelease, update(h.item, item))
}

// finish marks the shard as handled to its end. The lease is free then, and nobody takes it again.
func (m *Member) finish(h *holding) {
	item := h.item
	item.Lease.Checkpoint = ShardEnd()
	item.Lease.OwnerSwitches = 0
	item.Lease.Owner = ""
	item.Lease.Children = nil
	for _, child := range h.children {
		item.Lease.Children = append(item.Lease.Children, child.ID)
	}
	slices.Sort(item.Lease.Children)
	m.start(forFinish, update(h.item, item))
}

// onLeaseWritten resolves a write to a lease.
func (m *Member) onLeaseWritten(w *write, e Written) {
	shard := e.Key.Shard
	m.heldDue = m.now
	if w.purpose == forTidying && e.Outcome == Landed || e.Outcome == Conflict && !e.Found {
		m.forget(shard)
	} else {
		// What was read since may show a newer hold; but what refuses a SetHold is the hold that stands.
		if v := m.view[shard]; v != nil && v.item.Lease.Hold.Version > e.Item.Lease.Hold.Version && w.purpose != forHold {
			e.Item.Lease.Hold = v.item.Lease.Hold
		}
		m.know(e.Item)
		if e.Item.Lease.Hold.ID != "" {
			m.holdDue = max(m.now, 1)
		}
	}
	h := m.held[shard]
	// A checkpoint changes no plan, unless the lease is to be taken anew and only waited for this write.
	m.stale = m.stale || h == nil || w.purpose != forCheckpoint || e.Outcome != Landed
	switch {
	case e.Outcome == Landed && w.w.Op == Update && !showsSame(e.Item, w.w.Item):
		m.halt(e.Item, "S5 counter", "a write with counter %d landed, and the store shows counter %d, owner %q, checkpoint %v",
			w.w.Item.Counter, e.Item.Counter, e.Item.Lease.Owner, e.Item.Lease.Checkpoint)
	case h != nil && m.view[shard] == nil:
		m.lose(h, e.Item) // somebody has deleted it
	case w.purpose == forTake && e.Outcome == Landed:
		m.begin(e.Item, w.w.Owner)
	case w.purpose == forLease && e.Outcome == Landed:
		m.bump = m.bump || e.Item.Lease.Root // made by an audit; others are announced with what comes next
		m.do(Report{Kind: Resharded, Shard: shard, Position: e.Item.Lease.Checkpoint})
	case h == nil && w.purpose == forRelease && e.Outcome == Landed:
		m.bump = true // given back without having been read
	case w.purpose == forHold && e.Outcome == Landed:
		m.bump = true
	case h == nil || w.purpose < forCheckpoint || w.purpose > forFinish:
	case e.Outcome == Landed:
		m.onHeldWritten(w, h, e.Item)
	default:
		m.lose(h, e.Item)
	}
}

// lose ends an epoch because somebody else wrote to the lease. If the item still names this worker, it is
// taken again from what it says now.
func (m *Member) lose(h *holding, item Item) {
	m.close(h, CloseLost)
	m.do(Report{Kind: Lost, Shard: h.shard(), Worker: item.Lease.Owner, Position: item.Lease.Checkpoint})
}

func (m *Member) onHeldWritten(w *write, h *holding, item Item) {
	h.item = item
	h.nextCheckpoint = w.first.Add(m.cfg.Checkpoint)
	reason, kind := CloseReleased, Released
	switch w.purpose {
	case forCheckpoint:
		return
	case forFinish:
		reason, kind = CloseFinished, Finished
	}
	m.close(h, reason)
	m.do(Report{Kind: kind, Shard: h.shard(), Worker: item.Lease.Owner, Position: item.Lease.Checkpoint})
	m.bump = true
}
