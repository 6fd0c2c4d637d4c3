package lease

import "fmt"

// What the rest of the protocol rests on is looked at while it runs, too: the simulator and the explorer prove it of this code
// and of stores that keep their word, not of a store that does not, or of people and programs that change a lease
// without its counter. A shard of which it does not hold stops; the worker and its other shards go on.

// InvariantError says what does not hold for a lease. It is the Err of an InvariantBroken report.
type InvariantError struct {
	Invariant string // its name in the simulator's list, such as "S2 monotone"
	Detail    string
}

// Error implements error.
func (e *InvariantError) Error() string {
	return fmt.Sprintf("invariant %s: %s; the shard stands still until this worker is restarted, or its lease is put on hold and freed",
		e.Invariant, e.Detail)
}

// halt stops a shard: its handlers are cancelled, nothing of it is written any more, and no epoch of it begins while the
// lease still names this worker. It is not given back: another worker would go on from what may be wrong.
func (m *Member) halt(item Item, invariant, detail string, args ...any) {
	shard := item.Key.Shard
	if h := m.held[shard]; h != nil {
		m.close(h, CloseLost)
	}
	m.halted[shard] = true
	m.stale = true
	m.do(Report{Kind: InvariantBroken, Shard: shard, Worker: m.cfg.ID, Position: item.Lease.Checkpoint,
		Err: &InvariantError{Invariant: invariant, Detail: fmt.Sprintf(detail, args...)}})
}

// believes compares a lease that was read with what its holder believes of it (S11): every write moves the
// counter, so while that stands, nothing else may have changed.
func (m *Member) believes(item Item) {
	h := m.held[item.Key.Shard]
	if h == nil || item.Counter != h.item.Counter || item.Lease.Owner != m.cfg.ID || item.Lease.Checkpoint == h.item.Lease.Checkpoint {
		return
	}
	m.halt(item, "S11 belief", "the checkpoint is %v and was %v, while the lease's counter stayed at %d: somebody has changed it without the counter",
		item.Lease.Checkpoint, h.item.Lease.Checkpoint, item.Counter)
}

// showsSame says whether the answer to a write shows what was written.
func showsSame(answer, written Item) bool {
	return answer.Counter == written.Counter && answer.Lease.Owner == written.Lease.Owner && answer.Lease.Checkpoint == written.Lease.Checkpoint
}

// sound looks at a write to a lease before it is sent. It returns the invariant that the write would break, and
// how; "" if none.
func (m *Member) sound(p purpose, w Write) (invariant, detail string) {
	if w.Op != Update || w.Item.Key.Kind != KindLease || p == forHold {
		return "", ""
	}
	v := m.view[w.Item.Key.Shard]
	if v == nil {
		return "S5 counter", "a write to a lease that was never read"
	}
	was, is := v.item.Lease, w.Item.Lease
	h := m.held[w.Item.Key.Shard]
	if h != nil {
		was = h.item.Lease
	}
	switch {
	case is.Checkpoint != was.Checkpoint && (h == nil || !is.Checkpoint.Begun() || is.Checkpoint.Compare(was.Checkpoint) <= 0):
		return "S2 monotone", fmt.Sprintf("the checkpoint would go from %v to %v", was.Checkpoint, is.Checkpoint)
	case w.Item.Counter != w.Counter+1 || h != nil && (w.Counter != h.item.Counter || w.Owner != m.cfg.ID):
		return "S5 counter", fmt.Sprintf("the counter would go from %d to %d, on owner %q", w.Counter, w.Item.Counter, w.Owner)
	case p == forTake && m.ownerOf(v) == alive:
		return "S5 counter", fmt.Sprintf("a take from %s, which is alive", was.Owner)
	case p == forTake && h != nil:
		return "S1 owner", fmt.Sprintf("a second epoch beside that of token %d", h.token)
	}
	return "", ""
}
