package lease

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// AppendState appends the member's state to b, in a form that does not depend on the order of maps. Two members
// of one configuration whose bytes are the same do the same from here on, if they are told the same things at the same
// distances in time: an explorer need not look at both. Times count from the last Step's; of the numbers of
// steps only their order does.
//
// The form is for comparison within one program: it is not read back, and may change with any version.
func (m *Member) AppendState(b []byte) []byte {
	m = m.living()
	e := &encoder{out: b, now: m.now, stamps: m.stamps()}
	e.number(int64(m.phase))
	e.times(m.wake)
	e.item(m.me)
	e.times(m.deadline, m.nextBeat, m.settleAt)
	e.flags(m.stopping)
	e.err(m.failure)

	each(e, m.writes, compareKeys, e.write)
	e.members(m)
	e.leases(m)
	e.listings(m)
	e.times(m.changedAt, m.restUntil, m.holdDue)
	e.texts(m.wants)
	each(e, m.held, cmp.Compare[string], e.holding)
	e.times(m.heldDue)
	e.set(m.halted)
	return e.out
}

// living returns a copy without what is left of reads that were answered, and of plans that hold nothing up.
func (m *Member) living() *Member {
	c := *m
	if !c.membersAsked {
		c.membersBegun = 0
	}
	if !c.leasesAsked {
		c.leasesBegun, c.leasesBegunAt = 0, 0
	}
	if c.now >= c.planned.Add(planPause) {
		c.planned = 0
	}
	if c.listAsked == nil {
		c.listAskedAt, c.listAskedTime = 0, 0
	}
	return &c
}

// stamps are the numbers of steps that the state holds, sorted.
func (m *Member) stamps() []uint64 {
	stamps := []uint64{0, m.membersBegun, m.consistentAt, m.leasesBegun, m.leasesShown, m.listAskedAt, m.listBegun, m.auditStep}
	for _, v := range m.view {
		stamps = append(stamps, v.shown)
	}
	for _, h := range m.held {
		stamps = append(stamps, h.endedAt)
	}
	slices.Sort(stamps)
	return slices.Compact(stamps)
}

// encoder appends values so that no two sequences of values of one shape have the same bytes.
type encoder struct {
	out    []byte
	now    Time
	stamps []uint64
}

func (e *encoder) members(m *Member) {
	each(e, m.peers, cmp.Compare[string], func(p *peer) {
		e.item(p.item)
		e.times(p.seen)
	})
	e.flags(m.membersAsked, m.membersKnown, m.askNow, m.controlFound, m.bump)
	e.steps(m.membersBegun, m.consistentAt)
	e.times(m.membersNext, m.membersRetry, m.membersLast)
	e.item(m.control)
}

func (e *encoder) leases(m *Member) {
	each(e, m.view, cmp.Compare[string], func(v *viewed) {
		e.item(v.item)
		e.steps(v.shown)
		e.times(v.since, v.last, v.ended, v.moved, v.begun, v.holdEnd)
		e.text(v.from)
		e.flags(v.toldHold)
	})
	e.set(m.unreadable)
	e.flags(m.leasesAsked, m.leasesKnown, m.stale, m.tidied)
	e.steps(m.leasesBegun, m.leasesShown)
	e.times(m.leasesBegunAt, m.leasesLast, m.leasesNext, m.leasesEcho, m.planned)
	e.number(int64(m.leasesPause))
}

func (e *encoder) listings(m *Member) {
	for _, shards := range []map[string]Shard{m.listed, m.roots} {
		e.flags(shards == nil)
		each(e, shards, cmp.Compare[string], e.shard)
	}
	for _, asked := range []*ListShards{m.wantRoots, m.listAsked} {
		e.flags(asked == nil)
		if asked != nil {
			e.flags(asked.All)
			e.position(asked.At)
		}
	}
	e.flags(m.wantAll, m.remake)
	e.steps(m.listAskedAt, m.listBegun, m.auditStep)
	e.times(m.listAskedTime, m.listAt, m.listNext, m.auditAt)
	e.number(int64(m.listPause))
	e.set(m.suspects)
}

func (e *encoder) holding(h *holding) {
	e.item(h.item)
	e.number(h.token)
	e.position(h.acked)
	e.times(h.nextCheckpoint, h.since)
	e.steps(h.endedAt)
	e.number(int64(len(h.children)))
	for _, s := range h.children {
		e.shard(s)
	}
	e.flags(h.ended, h.missing, h.trimmed, h.opened, h.draining, h.drained)
	e.text(h.heir)
}

func (e *encoder) write(w *write) {
	e.number(int64(w.purpose))
	e.number(int64(w.w.Op))
	e.item(w.w.Item)
	e.number(w.w.Counter)
	e.text(w.w.Owner)
	e.times(w.first, w.retryAt)
	e.flags(w.inFlight)
	e.number(int64(w.pause))
}

func (e *encoder) item(it Item) {
	e.number(int64(it.Key.Kind))
	e.text(it.Key.Stream)
	e.text(it.Key.Shard)
	e.text(it.Key.Worker)
	e.number(it.Counter)
	l := it.Lease
	e.text(l.Owner)
	e.position(l.Checkpoint)
	e.number(l.OwnerSwitches)
	e.texts(l.Parents)
	e.texts(l.Children)
	e.hashRange(l.HashRange)
	e.flags(l.Root)
	e.number(l.Hold.Version)
	e.text(l.Hold.ID)
	e.text(l.Hold.Reason)
	e.number(int64(l.Hold.For))
	w := it.Worker
	e.number(int64(w.State))
	e.number(int64(w.MaxShards))
	e.number(int64(w.Failover))
	e.texts(w.Streams)
	e.texts(w.Wants)
	e.number(int64(it.Control.Version))
	e.number(int64(len(it.Control.Streams)))
	for _, s := range it.Control.Streams {
		e.text(s.Name)
		e.text(s.ARN)
		e.number(s.Created.UnixMilli())
		e.position(s.Start)
		e.flags(s.Ready)
	}
}

func (e *encoder) shard(s Shard) {
	e.text(s.ID)
	e.texts(s.Parents)
	e.hashRange(s.HashRange)
	e.flags(s.Closed)
}

func (e *encoder) hashRange(r HashRange) {
	e.text(r.Start)
	e.text(r.End)
}

func (e *encoder) position(p Position) {
	e.number(int64(p.kind))
	e.text(p.seq)
	e.number(p.sub)
	e.number(p.at)
}

// times appends times as they stand to now; one that was never set stays apart.
func (e *encoder) times(times ...Time) {
	for _, t := range times {
		e.flags(t == 0)
		if t != 0 {
			e.number(int64(t - e.now))
		}
	}
}

// steps appends the rank of numbers of steps.
func (e *encoder) steps(steps ...uint64) {
	for _, s := range steps {
		rank, _ := slices.BinarySearch(e.stamps, s)
		e.number(int64(rank))
	}
}

func (e *encoder) flags(flags ...bool) {
	for _, f := range flags {
		if f {
			e.out = append(e.out, 1)
		} else {
			e.out = append(e.out, 0)
		}
	}
}

func (e *encoder) text(s string) {
	e.number(int64(len(s)))
	e.out = append(e.out, s...)
}

func (e *encoder) texts(texts []string) {
	e.number(int64(len(texts)))
	for _, s := range texts {
		e.text(s)
	}
}

func (e *encoder) set(set map[string]bool) { e.texts(slices.Sorted(maps.Keys(set))) }

func (e *encoder) err(err error) {
	e.flags(err == nil)
	if err != nil {
		e.text(err.Error())
	}
}

func (e *encoder) number(n int64) { e.out = binary.AppendVarint(e.out, n) }

// each appends the values of a map in the order of their keys; every value holds its key.
func each[K comparable, V any](e *encoder, values map[K]V, compare func(a, b K) int, value func(V)) {
	e.number(int64(len(values)))
	for _, k := range slices.SortedFunc(maps.Keys(values), compare) {
		value(values[k])
	}
}
