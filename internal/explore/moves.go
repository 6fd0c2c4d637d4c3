package explore

import (
	"slices"

	"github.com/leatstream/leat/lease"
)

// move is one way on from a state.
type move struct {
	kind moveKind
	i    int8 // process
	k    int8 // letter, grant, shard or late write
}

type moveKind uint8

const (
	answer      moveKind = iota // a message gets its answer at once
	keep                        // or stays under way
	lose                        // or its outcome is not known
	stray                       // or the write may come at any later time
	stale                       // or the read is a stale one
	apply                       // a write under way is applied
	deliver                     // an answer under way arrives
	deliverThen                 // a read under way shows how the store was when it was sent
	tick                        // a process's timer fires
	start                       // a handler starts
	end                         // a handler returns
	endLate                     // a handler of an older epoch returns
	applyLate                   // a write that was given up is applied
	pass                        // a tick of time
	passBut                     // and one clock misses it
	crash
	pause
	resume
	rejoin
	stop
	erase
	touch
	begin // a worker joins for the first time
)

// moves are the ways on from a state, in an order that depends on nothing but the state. While
// something is new, it is decided first what becomes of it.
func (w *world) moves(s *state, to []move) []move {
	if s.talks >= 0 {
		return w.choices(s, to)
	}
	quiet := true // every running process has done what its timers were set for
	t := turn{world: w, state: *s}
	for i := int8(0); i < maxWorkers; i++ {
		p := s.procs[i]
		if p == nil {
			continue
		}
		switch p.life {
		case absent:
			quiet = false
			to = append(to, move{begin, i, 0})
		case running:
			if p.member.wake <= t.clock(p) {
				quiet = false
				to = append(to, move{tick, i, 0})
			}
			to, quiet = w.workMoves(&t, p, i, to, quiet)
			if s.may(Crash) && s.others(i) {
				to = append(to, move{crash, i, 0})
			}
			if s.may(Pause) {
				to = append(to, move{pause, i, 0})
			}
			if s.may(StopIt) {
				to = append(to, move{stop, i, 0})
			}
		case paused:
			to = append(to, move{resume, i, 0})
			for k, l := range p.letters {
				if l.kind == writtenEvent && !l.applied {
					to = append(to, move{apply, i, int8(k)})
				}
			}
		case crashed, fenced:
			if s.may(Restart) {
				to = append(to, move{rejoin, i, 0})
			}
		}
	}
	for k := range s.late {
		to = append(to, move{applyLate, 0, int8(k)})
	}
	if s.may(Erase) || s.may(Touch) {
		for k := range w.cfg.Shards {
			it := s.store.get(lease.LeaseKey(stream, w.cfg.Shards[k].ID))
			switch {
			case it == nil:
			case it.Lease.Owner != "" && s.may(Touch):
				to = append(to, move{touch, 0, int8(k)})
			case it.Lease.Owner == "" && !it.Lease.Checkpoint.Begun() && !it.Lease.Root && s.may(Erase):
				to = append(to, move{erase, 0, int8(k)})
			}
		}
	}
	if quiet && int(s.now) < w.cfg.horizon() {
		to = append(to, move{pass, 0, 0})
		if s.may(Drift) {
			for i := int8(0); i < maxWorkers; i++ {
				if p := s.procs[i]; p != nil && p.life == running {
					to = append(to, move{passBut, i, 0})
				}
			}
		}
	}
	return to
}

// choices are what may become of the first new message.
func (w *world) choices(s *state, to []move) []move {
	i := s.talks
	k := slices.IndexFunc(s.procs[i].letters, func(l letter) bool { return l.fresh })
	l := s.procs[i].letters[k]
	to = append(to, move{answer, i, int8(k)})
	if s.may(Slow) {
		to = append(to, move{keep, i, int8(k)})
	}
	if s.may(Lost) && l.kind != listedEvent {
		to = append(to, move{lose, i, int8(k)})
	}
	if s.may(Stray) && l.kind == writtenEvent {
		to = append(to, move{stray, i, int8(k)})
	}
	if s.may(Stale) && (l.kind == leasesEvent && s.past.leases != s.store.leases ||
		l.kind == membersEvent && !l.strong && s.past.members != s.store.members) {
		to = append(to, move{stale, i, int8(k)})
	}
	return to
}

// workMoves are those of a process that runs.
func (w *world) workMoves(t *turn, p *process, i int8, to []move, quiet bool) ([]move, bool) {
	for k, l := range p.letters {
		if t.now > l.sent {
			quiet = false // a call does not last for longer than a tick
		}
		at := int8(k)
		switch {
		case l.kind == writtenEvent && !l.applied:
			to = append(to, move{apply, i, at})
			if t.may(Stray) {
				to = append(to, move{stray, i, at})
			}
		case l.kind == writtenEvent:
			to = append(to, move{deliver, i, at})
			if t.may(Lost) {
				to = append(to, move{lose, i, at})
			}
		default:
			to = append(to, move{deliver, i, at})
			if l.then != nil && l.then.id != t.store.id {
				to = append(to, move{deliverThen, i, at})
			}
		}
	}
	for k := range p.grants {
		if g := &p.grants[k]; g.runs {
			to = append(to, move{end, i, int8(k)})
		} else if t.mayStart(p, g) {
			quiet = false // nobody is lazy; a handler may run for long
			to = append(to, move{start, i, int8(k)})
		}
	}
	for shard := int8(0); shard < maxShards; shard++ {
		if p.busy&(1<<shard) != 0 {
			to = append(to, move{endLate, i, shard})
		}
	}
	return to, quiet
}

// others says whether another worker is there that has not crashed.
func (s *state) others(but int8) bool {
	for i, p := range s.procs {
		if p != nil && int8(i) != but && (p.life == running || p.life == paused) {
			return true
		}
	}
	return false
}
