package explore

import (
	"slices"

	"github.com/leatstream/leat/lease"
)

// state is all that decides how a run may go on. Nobody changes one once it is sealed; states share what
// they point to.
type state struct {
	hash  uint64
	now   int16 // in ticks
	store *store
	past  *store // how it was a tick ago
	procs [maxWorkers]*process
	late  []*write // given up by their senders; may still be applied. Sorted by hash
	truth [maxShards]truth
	left  Limits
	total int8 // faults of any kind that are left
	talks int8 // the process whose new messages come before all else; -1 is none
}

type life uint8

const (
	absent life = iota
	running
	paused
	crashed
	fenced
	left
)

// process is a program with one member after another: its shell.
type process struct {
	hash    uint64
	life    life
	run     uint8 // how often it joined
	missed  int16 // ticks that its clock is behind
	id      string
	member  *member
	letters []letter
	grants  []grant
	busy    uint8 // shards for which a handler of an older epoch still runs
	proved  int16 // ticks: the shell's own deadline, with a planted bug
	steps   int16 // in this tick; not part of the state
}

// letter is a request of a member, or the answer to it.
type letter struct {
	kind    eventKind // of the answer
	fresh   bool      // nothing was decided about it
	strong  bool      // a consistent read
	all     bool      // of the shards, not only of those at the start
	applied bool      // a write: the answer is on its way
	outcome lease.Outcome
	sent    int16
	then    *store // how the store stood when a read was sent
	write   *write
	item    *item // that the answer shows
}

// grant is a shard that a member has opened. Records are counted, the first one is 1.
type grant struct {
	shard                 uint8
	token                 int16
	handed, acked, start  uint8
	untold                int16 // tick in which a record was acknowledged that the member has not heard of; 0 is none
	runs, draining, ended bool
	drained               bool
}

// truth is what is known of a shard by nobody but the world.
type truth struct {
	acked   uint8 // records that were acknowledged: all up to here
	handled uint8 // records whose handler has returned, maybe too late for an acknowledgement: a bit each
	token   int16 // of the last epoch
	started int16 // of the last epoch in which a handler was started
	drained int16 // of the last epoch that told the member that it was drained; with nothing unacknowledged
	upTo    uint8 // what had been handed out then
	created bool
	begun   bool
	ended   bool
	root    bool
	erased  bool
}

// proc is a process that may be changed.
func (s *state) proc(i int) *process {
	p := s.procs[i]
	if p.hash == 0 {
		return p
	}
	c := *p
	c.hash = 0
	c.letters = slices.Clone(p.letters)
	c.grants = slices.Clone(p.grants)
	s.procs[i] = &c
	return &c
}

// may says whether a fault is left.
func (s *state) may(f Fault) bool { return s.total > 0 && s.left[f] > 0 }

func (s *state) spend(f Fault) {
	s.left[f]--
	s.total--
}

// seal makes the hashes of a state that is complete.
func (s *state) seal(h *hasher) {
	for _, p := range s.procs {
		if p != nil && p.hash == 0 {
			h.b = h.b[:0]
			p.hashTo(h)
			p.hash = h.sum() | 1
		}
	}
	h.b = h.b[:0]
	h.add(uint64(s.now), s.store.id, uint64(int64(s.talks)))
	if s.may(Stale) {
		h.add(s.past.id)
	}
	for _, p := range s.procs {
		if p != nil {
			h.add(p.hash)
		}
	}
	h.add(uint64(len(s.late)))
	for _, w := range s.late {
		h.add(w.id)
	}
	for i := range s.truth {
		s.truth[i].hashTo(h)
	}
	h.b = append(h.b, byte(s.total))
	if s.total > 0 {
		for _, n := range s.left {
			h.b = append(h.b, byte(n))
		}
	}
	s.hash = max(h.sum(), 1)
}

func (p *process) hashTo(h *hasher) {
	h.add(uint64(p.life) | uint64(p.run)<<8 | uint64(p.busy)<<16 | uint64(uint16(p.missed))<<24 | uint64(uint16(p.proved))<<40)
	if p.member != nil {
		h.add(p.member.id)
	}
	h.add(uint64(len(p.letters)))
	for _, l := range p.letters {
		h.b = append(h.b, byte(l.kind), bits(l.fresh, l.strong, l.all, l.applied), byte(l.outcome), byte(l.sent))
		switch {
		case l.then == nil:
		case l.kind == membersEvent:
			h.add(l.then.members)
		default:
			h.add(l.then.leases)
		}
		if l.write != nil {
			h.add(l.write.id)
		}
		if l.item != nil {
			h.add(l.item.id)
		}
	}
	for _, g := range p.grants {
		h.b = append(h.b, g.shard, byte(g.token), byte(g.token>>8), byte(g.untold), g.handed, g.acked, g.start, bits(g.runs, g.draining, g.ended, g.drained))
	}
}

func (t *truth) hashTo(h *hasher) {
	h.add(uint64(uint16(t.token)) | uint64(uint16(t.started))<<16 | uint64(uint16(t.drained))<<32 |
		uint64(t.upTo)<<48 | uint64(bits(t.created, t.begun, t.ended, t.root, t.erased))<<56)
	h.b = append(h.b, t.acked, t.handled)
}

func bits(flags ...bool) byte {
	b := byte(0)
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}
