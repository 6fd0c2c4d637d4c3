package lease

import (
	"fmt"
)

// beat joins the group, keeps the worker's own item moving, and takes leave.
func (m *Member) beat() {
	if m.writes[m.me.Key] != nil {
		return
	}
	next := m.me
	next.Worker.Wants = m.wants
	if m.phase == leaving {
		next.Worker.State = Leaving
	}
	switch {
	case m.phase == joining:
		m.start(forHeartbeat, Write{Op: Create, Item: m.me})
	case m.phase == leaving && len(m.held) == 0 && m.outstanding[forTake] == 0:
		next.Worker.State = Left
		m.start(forLeaving, update(m.me, next))
	case m.now >= m.nextBeat || !next.Equal(m.me): // others wait for what is new
		m.start(forHeartbeat, update(m.me, next))
	default:
		m.wakeAt(m.nextBeat)
	}
}

// onHeartbeat moves the deadline. It runs from the first send, also when only a repetition was
// answered: nobody but this incarnation advances this item, so the item shows that the first send,
// or a later one, landed.
func (m *Member) onHeartbeat(w *write, e Written) {
	if e.Outcome != Landed {
		// A worker whose join was never answered may have been fenced before it knew that it had joined.
		if m.phase == joining && e.Found && e.Item.Worker.State != Fenced {
			m.done(fmt.Errorf("worker id %q is in use: every worker needs an id of its own", m.cfg.ID))
			return
		}
		m.fenced()
		return
	}
	m.me = e.Item
	if w.retryAt > w.first {
		m.sendAgain()
	}
	if w.purpose == forLeaving {
		m.done(m.failure)
		return
	}
	m.deadline = max(m.deadline, w.first.Add(m.cfg.Failover))
	m.nextBeat = w.first.Add(m.cfg.Heartbeat)
	if m.phase == joining {
		m.phase = active
		m.settleAt = m.now.Add(m.cfg.Watch / 2)
		m.membersNext = m.settleAt
		m.changedAt = m.now
		m.do(Report{Kind: Joined, Worker: m.cfg.ID})
		if m.stopping {
			m.startLeaving()
		}
	}
	m.stale = true
}

// fenced ends this incarnation: another worker has shut it out and may hand out its shards.
func (m *Member) fenced() {
	if m.phase == leaving && len(m.held) == 0 {
		m.done(m.failure) // it had nothing left to lose
		return
	}
	for _, h := range m.holdings() {
		m.close(h, CloseLost)
	}
	m.do(Report{Kind: SelfFenced, Worker: m.cfg.ID})
	m.done(ErrFenced)
}

// leave starts the way out: drain, release, say goodbye. err is what Done will tell.
func (m *Member) leave(err error) {
	m.stopping = true
	if m.failure == nil {
		m.failure = err
	}
	if m.phase == active {
		m.startLeaving()
	}
}

// startLeaving tells the others at once: what is released early goes to them, though a slow handler may keep
// this worker here for a while.
func (m *Member) startLeaving() {
	m.phase = leaving
	m.wants = nil
	for _, h := range m.holdings() {
		m.drain(h)
	}
}

func (m *Member) done(err error) {
	m.phase = gone
	m.deadline = 0
	m.held = nil
	m.do(Done{Err: err})
}
