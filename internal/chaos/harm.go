//go:build unix

package chaos

import (
	"context"
	"slices"
	"syscall"
	"time"
)

// harm is a time in which something was done to a worker, or befell it.
type harm struct {
	kind     string
	worker   string // process; "": all of the slot
	slot     int    // -1: all
	from, to time.Time
	reading  bool          // only what it reads of the stream is hit: it may end, but not lose its shards
	outage   time.Duration // so long writes failed, at most; 0: they were not to fail
}

// writeAgain is until when a write that failed meanwhile may wait for its next try: the pauses double, to 5 s at most.
func (h harm) writeAgain() time.Time { return h.to.Add(min(h.outage, 5*time.Second)) }

// hits says whether it was done to a process in a time.
func (h harm) hits(process string, from, to time.Time) bool {
	return (h.worker == "" || h.worker == process) && (h.slot < 0 || h.slot == slotOf(process)) && !h.from.After(to) && !h.to.Before(from)
}

// causes are the kinds of harm to a process in a time.
func causes(harms []harm, process string, from, to time.Time) []string {
	var kinds []string
	for _, h := range harms {
		if h.hits(process, from, to) {
			kinds = append(kinds, h.kind)
		}
	}
	return kinds
}

// unharmed is how much of a time a process was left alone, and had no reason to wait with a write.
func unharmed(harms []harm, process string, from, to time.Time) (alone time.Duration) {
	for _, h := range slices.SortedFunc(slices.Values(harms), func(a, b harm) int { return a.from.Compare(b.from) }) {
		if h.to = h.writeAgain(); !h.hits(process, from, to) {
			continue
		}
		if h.from.After(from) {
			alone += h.from.Sub(from)
		}
		if h.to.After(from) {
			from = h.to
		}
	}
	return alone + max(0, to.Sub(from))
}

// harm notes that something is being done, for ever or until over is called; its effects may last some more.
func (r *run) harm(h harm) (over func(more time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.from, h.to = time.Now(), forever
	r.harms = append(r.harms, h)
	at := len(r.harms) - 1
	return func(more time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.harms[at].to = time.Now().Add(more)
	}
}

// harmsSoFar are what was done, and what the workers found that befell them.
func (r *run) harmsSoFar() []harm {
	r.mu.Lock()
	harms := append([]harm(nil), r.harms...)
	r.mu.Unlock()
	_, _, stalls, _ := r.journal.sofar()
	for _, s := range stalls {
		harms = append(harms, harm{kind: "stall", worker: s.worker, slot: slotOf(s.worker), from: s.from, to: s.to})
	}
	return harms
}

// unnoticed is how long a process may not get to run before that counts as harm: as long as an attempt at a call of the
// store may take. A checkpoint may come twice as late, since the worker and the store may both be.
func unnoticed(failover time.Duration) time.Duration { return failover / 6 }

var forever = time.Unix(1<<40, 0)

// kill kills a slot's worker. It returns nil if that has just ended by itself.
func (r *run) kill(s *slot) *process {
	p := r.group.in(s)
	r.harm(harm{kind: kill, worker: p.name, slot: s.number})
	if !r.signal(p, kill, syscall.SIGKILL) {
		return nil
	}
	<-p.done
	return p
}

// freeze stops a slot's worker for a while.
func (r *run) freeze(s *slot, length time.Duration) *process {
	p := r.group.in(s)
	over := r.harm(harm{kind: freeze, worker: p.name, slot: s.number})
	at := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		r.say("%s cannot be stopped: %v", p.name, err)
		return p
	}
	r.signalled(freeze, p, at)
	r.heal(length, func() {
		p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // at the end of a run it may be gone
		over(r.failover / 3)
	})
	return p
}

// term stops a slot's worker cleanly, and waits for its end. It returns nil if that has just ended by itself.
func (r *run) term(s *slot) *process {
	p := r.group.in(s)
	asked := time.Now()
	if !r.signal(p, term, syscall.SIGTERM) {
		return nil
	}
	if err := p.exited(context.WithoutCancel(r.ctx), patience); err != nil {
		r.Error(err)
		return p
	}
	if _, ended, err := p.result(); err != nil {
		harms := causes(r.harmsSoFar(), p.name, asked, ended)
		r.say("%s stopped with %v, amid %v: %s", p.name, err, harms, lastLine(p.log))
		if len(harms) == 0 {
			r.Errorf("%s did not stop cleanly: %v", p.name, err)
		}
	}
	return p
}

// signal ends a process. False: it had ended by itself.
func (r *run) signal(p *process, fate string, signal syscall.Signal) bool {
	at, err := p.make(fate, signal)
	if err != nil {
		r.say("%s cannot be ended: %v", p.name, err)
		return false
	}
	r.signalled(fate, p, at)
	return true
}

func (r *run) signalled(kind string, p *process, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[kind] = append(r.sent[kind], sent{p.name, at})
}

// heal undoes a harm after a while, or when the run is over.
func (r *run) heal(after time.Duration, undo func()) {
	r.heals.Go(func() {
		r.sleep(after)
		undo()
	})
}

// do does a step of a plan.
func (r *run) do(s step) {
	var at *slot
	if s.slot >= 0 {
		at = r.group.slots[s.slot]
	}
	switch {
	case s.kind == kill:
		if r.kill(at) != nil {
			r.heal(s.length, func() { r.start(at) })
		}
	case s.kind == freeze:
		r.freeze(at, s.length)
	case s.kind == term:
		r.heals.Go(func() {
			if r.term(at) != nil {
				r.start(at)
			}
		})
	case s.kind == rolling:
		r.heals.Wait()
		for _, s := range r.group.slots {
			r.revive()
			r.term(s)
			p := r.start(s)
			if p == nil {
				return
			}
			r.await(patience, p.name+" in the group", func() bool { return r.joined(p) || !p.running() })
		}
	case s.kind == restart:
		over := r.harm(harm{kind: restart, slot: -1, outage: s.length})
		r.servers.store.close()
		r.heal(s.length, func() {
			if err := r.servers.store.open(); err != nil {
				r.Error(err)
			}
			over(r.failover / 3) // connections are made anew, and answers were lost
		})
	case s.kind == split:
		r.must(r.producer.split(r.ctx))
	case s.kind == merge:
		r.must(r.producer.merge(r.ctx, s.pick))
	case s.weather != weather{}:
		over := r.harm(harm{kind: s.kind, slot: at.number, outage: s.length})
		at.host.wire.set(s.weather)
		r.heal(s.length, func() {
			at.host.wire.set(weather{})
			over(r.failover / 3)
		})
	default:
		proxy := at.kinesis
		if s.onto == "store" {
			proxy = at.store
		}
		over := r.harm(harm{kind: s.kind, slot: at.number, reading: s.onto != "store", outage: s.length})
		proxy.set(s.mode)
		if s.mode == halfOpen {
			over(r.failover) // until the worker knows
			return
		}
		r.heal(s.length, func() {
			proxy.set(pass)
			over(r.failover / 3)
		})
	}
}
