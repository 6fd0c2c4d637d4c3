package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/leatstream/leat/lease"
)

// host is a place for one process after another.
type host struct {
	w       *world
	name    string
	process *process // nil: none runs
	boots   uint64
	spare   bool // used only while the group is scaled out

	storeOut, streamOut     outage
	slowUntil, starvedUntil time.Duration
}

// process is one run of a program: a shell around one member after another.
type process struct {
	w           *world
	host        *host
	rng         *rand.Rand // latencies and other harmless chance
	clock       clock
	dead        bool
	pausedUntil time.Duration
	stopping    bool

	member *lease.Member // nil: between two, or done
	id     string        // the member's
	wakeAt time.Duration // of the timer that counts
	grants []*grant      // by opening
	fates  map[lease.Key]*fate
	busy   map[string]int // running handlers by shard, of any epoch and member

	created     time.Time        // of the stream, as the process was told when it started
	failure     error            // why it stops, if not because it was asked to
	restores    int              // of the table, when the member joined
	storeID     int              // of the store that it opened
	beatAt      lease.Time       // of the last answer to a heartbeat; for a bug
	tokens      map[*shard]int64 // the first of each shard; for a bug
	ackEvery    time.Duration    // how seldom Acked is told
	steps       int              // in the second of stepsSecond
	stepsSecond time.Duration
}

// boot starts a process, if none runs.
func (h *host) boot() {
	if h.process != nil {
		return
	}
	w := h.w
	if w.now < w.awayUntil && !w.faults.healed {
		w.at(w.awayUntil+w.between(0, time.Second), "boot", h.boot)
		return
	}
	p := &process{w: w, host: h, busy: map[string]int{}, fates: map[lease.Key]*fate{}, created: w.cfg.Created, storeID: w.store.id}
	h.boots++
	p.rng = stream(w.opt.Seed, uint64(1+slices.Index(w.hosts, h))<<32|h.boots)
	p.clock = clock{ppm: p.rng.Int64N(2*maxDrift+1) - maxDrift}
	if p.rng.IntN(8) > 0 {
		p.clock.origin = lease.Time(p.between(0, 11*24*time.Hour))
	}
	if p.rng.IntN(4) > 0 {
		p.ackEvery = p.between(0, w.cfg.Checkpoint)
	}
	h.process = p
	p.join()
}

// join begins a new member under an id that was never used.
func (p *process) join() {
	w := p.w
	w.incarnation++
	cfg := w.cfg
	cfg.Created = p.created
	cfg.ID = fmt.Sprintf("%s.%d", p.host.name, w.incarnation)
	if w.startKind == startLatest {
		cfg.Start = lease.AtTimestamp(epoch.Add(w.now - time.Second))
	}
	p.id = cfg.ID
	clear(p.fates)
	p.restores = w.restores
	p.member = lease.NewMember(cfg)
	w.note("", p.id, "starts")
	p.step(p.member, lease.Tick{})
}

// crash ends the process; another one follows soon.
func (h *host) crash(rng *rand.Rand) {
	p := h.process
	h.w.note("", p.id, "crashes")
	h.w.check.leaves(p.id, true)
	h.end()
	h.w.after(between(rng, 100*time.Millisecond, 20*time.Second), "restart", h.boot)
}

// end takes the process away, with all that it was about to do.
func (h *host) end() {
	h.process.dead = true
	h.process = nil
}

func (h *host) pause(rng *rand.Rand) {
	if h.process == nil {
		return
	}
	h.w.faults.count[pause]++
	length := between(rng, 0, h.w.cfg.Failover*3/2)
	switch rng.IntN(8) {
	case 0, 1:
		length = between(rng, 0, 5*h.w.cfg.Failover)
	case 2:
		length = between(rng, 0, 10*h.w.cfg.Failover)
	}
	h.process.pausedUntil = min(h.w.now+length, max(h.w.now, h.w.opt.Span)) // pauses cease with the faults
	h.w.note("", h.process.id, "pauses for %v", length)
}

// stopAndReturn stops the process cleanly; its successor comes a while after it has gone.
func (h *host) stopAndReturn(rng *rand.Rand) {
	if h.process == nil || h.process.stopping {
		return
	}
	h.w.faults.count[cleanStop]++
	h.process.stop()
	var poll func()
	poll = func() {
		if h.process == nil {
			h.w.after(between(rng, 0, 20*time.Second), "return", h.boot)
		} else if h.process.stopping {
			h.w.after(time.Second, "stopping", poll)
		}
	}
	poll()
}

func (p *process) between(low, high time.Duration) time.Duration { return between(p.rng, low, high) }

func (p *process) stop() {
	p.stopping = true
	p.w.note("", p.id, "is asked to stop")
	p.w.check.leaves(p.id, false)
	if p.w.opt.Bug == StopWithoutRelease {
		p.host.end()
		return
	}
	p.after(0, "stop", func() {
		if p.member != nil {
			p.step(p.member, lease.Stop{})
		} else {
			p.gone()
		}
	})
}

// comes is when an event really comes to the process: late, if it is paused, or gets the processor seldom.
func (p *process) comes(e *event) time.Duration {
	switch f := &p.w.faults; {
	case e.at < p.pausedUntil:
		return p.pausedUntil + p.between(0, 20*time.Millisecond)
	case e.at < p.host.starvedUntil && !e.late && !f.healed:
		return e.at + p.between(0, 500*time.Millisecond)
	}
	return e.at
}

// gone is the clean end of a process.
func (p *process) gone() {
	if !p.dead {
		p.w.note("", p.id, "is gone")
		p.host.end()
	}
}

// done is the end of a member. One that was shut out comes back as another.
func (p *process) done(err error) {
	p.w.note("", p.id, "done: %v", err)
	for _, g := range p.grants {
		p.w.violate("close", g.shard.id, p.id, "member is done (%v), but its grant %d was never closed", err, g.token)
	}
	p.member = nil
	if p.failure == nil {
		p.failure = err
	}
	switch {
	case errors.Is(p.failure, lease.ErrRecreated) && p.w.stream.recreated:
		p.w.named++
		p.gone()
	case err != nil && !errors.Is(err, lease.ErrFenced):
		p.w.violate("done", "", p.id, "member ended with: %v", err)
	case p.stopping || err == nil:
		p.gone()
	default:
		p.after(p.between(0, time.Second), "rejoin", func() {
			if p.stopping {
				p.gone()
			} else {
				p.join()
			}
		})
	}
}

// maxStepsPerSecond is far above what a member with a dozen shards has reason for.
const maxStepsPerSecond = 500

// step tells the member something and does what it wants.
func (p *process) step(m *lease.Member, ev lease.Event) {
	if p.member != m {
		return
	}
	w := p.w
	if second := w.now.Truncate(time.Second); second != p.stepsSecond {
		p.steps, p.stepsSecond = 0, second
	}
	if p.steps++; p.steps > maxStepsPerSecond {
		w.violate("busy", "", p.id, "%d steps within a second", p.steps)
		return
	}
	if w.tracing() {
		w.keepLine(line{at: w.now, shard: shardOf(ev), worker: p.id, text: "<- " + describe(ev), detail: true})
	}
	for _, a := range m.Step(p.clock.read(w.now), ev) {
		if w.tracing() {
			w.keepLine(line{at: w.now, shard: shardOf(a), worker: p.id, text: "-> " + describe(a), detail: true})
		}
		p.do(m, a)
		if f := &w.faults; !p.dead && f.hits(crashBetween, 0.0003) {
			p.host.crash(rand.New(rand.NewPCG(f.how[crashBetween].Uint64(), 0)))
		}
		if p.dead {
			return
		}
	}
	if p.member != m {
		return
	}
	p.setTimer(m)
	p.startHandlers()
}

// setTimer makes sure of a Tick at the member's wake time, or a little later.
func (p *process) setTimer(m *lease.Member) {
	w := p.w
	at := max(p.clock.when(m.Wake()), w.now) + p.between(0, 3*time.Millisecond)
	if p.wakeAt > w.now && p.wakeAt <= at {
		return // an earlier one is set; it will set the next
	}
	p.wakeAt = at
	p.after(at-w.now, "tick", func() {
		if p.wakeAt == at {
			p.wakeAt = 0
			p.step(m, lease.Tick{})
			if p.wakeAt == 0 && p.member != nil { // m was another member's
				p.setTimer(p.member)
			}
		}
	})
}

// deadline is the time until which handlers may be started.
func (p *process) deadline(m *lease.Member) lease.Time {
	if p.w.opt.Bug == ProofFromAnswer && m.Deadline() > 0 {
		return max(m.Deadline(), p.beatAt.Add(p.w.cfg.Failover))
	}
	return m.Deadline()
}

// verify is what a process does when the service knows no such shard: it looks whether the stream is still the
// same one. It returns whether to go on.
func (p *process) verify() bool {
	w := p.w
	if !w.stream.recreated || p.rng.IntN(10) == 0 { // or the look failed
		return true
	}
	if !p.stopping {
		p.failure = lease.ErrRecreated
		p.stop()
	}
	return false
}
