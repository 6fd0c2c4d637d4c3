package sim

import (
	"fmt"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/lease"
)

const (
	fetchLimit     = 60   // records in an answer
	bigLimit       = 1000 // in one of 10 MiB
	readsPerSecond = 5    // of a shard
	batchLimit     = 8    // records for one handler
	maxBuffered    = 120  // records read and not handed out
	maxInFlight    = 1000 // records handed out and not below the watermark
	pollInterval   = time.Second
	drainTimeout   = 20 * time.Second
	drainGrace     = 5 * time.Second // for handlers to end after their contexts were cancelled
)

// grant is one epoch of a shard in the shell: it reads, hands out and acknowledges. Records are named by
// their index in the shard: those below handed were given to a handler, those below fetched were read.
type grant struct {
	p     *process
	m     *lease.Member
	owner string // the member's id
	shard *shard
	token int64
	start lease.Position

	tracker                       *dispatch.Tracker
	first, handed, fetched, added int

	reading  bool
	iterator bool // the reader has one
	readEnd  bool
	running  bool
	retryAt  time.Duration
	late     int // acks still to come after their handler has returned
	draining bool
	drained  bool // told so; later acks no longer count
	clean    bool // at that time nothing ran, and all that was handed out was acknowledged
	closed   bool

	told    lease.Position // the last Acked
	telling bool
	checked bool // the first hand-out was looked at

	era, life int               // of the take
	hold      string            // that stood on the lease at the take
	looked    int               // records that the checks know to be handed out, or told of
	believed  lease.Item        // the lease as the member knows it
	reason    lease.CloseReason // once closed
	drainedBy time.Duration     // when the drain should be over, if nothing hinders it; 0 if there is none
}

func (g *grant) fetchAfter(d time.Duration) {
	if !g.reading && !g.readEnd && !g.draining && !g.closed {
		g.reading = true
		g.p.after(d, "fetch", g.fetch)
	}
}

func (g *grant) fetch() {
	w, sh := g.p.w, g.shard
	if g.closed || g.draining || g.fetched-g.handed >= maxBuffered {
		g.reading = false
		return
	}
	if !g.iterator {
		g.p.call(streamRead, "iterator", func() error { return nil }, func(err error) {
			g.reading, g.iterator = false, err == nil
			pause := time.Duration(0)
			if err != nil {
				pause = pollInterval
			}
			g.fetchAfter(pause)
		})
		return
	}
	upTo, end, horizon := g.fetched, false, 0
	var children []lease.Shard
	g.p.call(streamRead, "records", func() error {
		f := &w.faults
		switch {
		case sh.trimmed || w.stream.recreated || f.hits(falseMissing, 0.005):
			return errMissing
		case f.hits(expiredIterator, 0.01):
			return errExpired
		case !sh.spend(w.now):
			return errThrottled
		}
		if horizon = sh.horizon; horizon > g.fetched || f.hits(emptyAnswer, 0.05) {
			return nil
		}
		limit := fetchLimit
		if f.hits(bigAnswer, 0.005) {
			limit, sh.spentUntil = bigLimit, w.now+5*time.Second
		}
		upTo = min(len(sh.records), g.fetched+limit)
		end = sh.closed && upTo == len(sh.records)
		if end && !w.faults.hits(untoldChildren, 0.5) {
			for _, c := range sh.children {
				children = append(children, c.shown(c.closed))
			}
		}
		return nil
	}, func(err error) {
		g.reading = false
		if g.closed || g.draining {
			return
		}
		if err != nil {
			g.iterator = err != errExpired
			if err == errMissing && w.opt.Bug == MissingIsEnd {
				g.readEnd = true
				g.p.tell(g.m, lease.Ended{Shard: sh.id, Token: g.token})
				g.endTracker()
				return
			}
			if err == errMissing && g.p.verify() {
				w.restless = w.now + max(rest, w.cfg.Relist)
				g.p.tell(g.m, lease.Missing{Shard: sh.id, Token: g.token})
			}
			if w.opt.Bug != StuckReader {
				g.fetchAfter(pollInterval)
			}
			return
		}
		if horizon > g.fetched {
			g.skipGap(horizon)
			g.fetchAfter(pollInterval)
			return
		}
		more := upTo > g.fetched
		g.fetched = upTo
		if end {
			g.readEnd = true
			g.p.tell(g.m, lease.Ended{Shard: sh.id, Token: g.token, Children: children})
			g.endTracker()
			return
		}
		g.startHandler()
		switch {
		case w.faults.hits(stalledReader, 0.001):
			g.fetchAfter(w.faults.between(stalledReader, 0, 40*time.Second))
		case more:
			g.fetchAfter(time.Second / readsPerSecond)
		default:
			g.fetchAfter(pollInterval)
		}
	})
}

// endTracker tells the tracker of the end once nothing more enters it.
func (g *grant) endTracker() {
	if g.readEnd && g.added == g.fetched {
		g.tracker.End()
		g.tellAcked()
	}
	g.startHandler()
}

// startHandler hands the next records out, if it may: this is the one place where records leave for
// the user's code.
func (g *grant) startHandler() {
	p, w := g.p, g.p.w
	switch {
	case g.running || g.closed || g.handed == g.fetched || w.now < g.retryAt || g.tracker.InFlight() >= maxInFlight:
		return
	case g.draining && w.opt.Bug != DeafDrain:
		return
	case p.busy[g.shard.id] > 0: // of an older epoch: it must return first
		return
	case p.clock.read(w.now) >= p.deadline(g.m) && w.opt.Bug != NoSelfFence:
		return
	}
	from := g.handed
	to := min(g.fetched, from+1+p.rng.IntN(batchLimit))
	w.check.handOut(g, from, to)
	g.running, g.handed = true, to
	p.busy[g.shard.id]++
	for ; g.added < to; g.added++ {
		g.tracker.Add(g.shard.records[g.added].position())
	}
	if w.opt.Bug == AckOnHandOut {
		g.ack(from, to)
	}
	length := p.between(time.Millisecond, 150*time.Millisecond) + g.shard.hangs
	g.shard.hangs = 0
	if w.faults.healed {
		length /= 8 // the backlog of the bad times is worked off
	}
	if w.now < p.host.slowUntil && !w.faults.healed {
		length *= 20
	}
	if w.faults.hits(slowHandler, 0.01) {
		length = w.faults.between(slowHandler, 0, 10*time.Second)
		if w.faults.how[slowHandler].IntN(5) == 0 {
			length *= 4
		}
	}
	if w.faults.hits(hungHandler, 0.0005) {
		length = min(w.faults.between(hungHandler, 0, 3*time.Minute), max(w.opt.Span-w.now, 0))
	}
	if w.faults.hits(poison, 0.001) {
		g.shard.records[from].poison = 1 + w.faults.how[poison].IntN(12)
	}
	failed := w.faults.hits(failedHandler, 0.03)
	if w.tracing() {
		w.keepLine(line{at: w.now, shard: g.shard.id, worker: g.owner, routine: true, text: fmt.Sprintf("hands out records %d to %d for %v", from, to-1, length)})
	}
	p.after(length, "handled", func() { g.handled(from, to, failed) })
	g.fetchAfter(0)
}

// handled is the return of a handler, maybe long after its epoch.
func (g *grant) handled(from, to int, failed bool) {
	p, w := g.p, g.p.w
	g.running = false
	p.busy[g.shard.id]--
	if w.tracing() {
		w.keepLine(line{
			at: w.now, shard: g.shard.id, worker: g.owner, detail: !failed,
			text: fmt.Sprintf("handler of %d to %d returns, failed: %v", from, to-1, failed),
		})
	}
	for i := from; i < to; i++ {
		if r := &g.shard.records[i]; r.poison > 0 && !w.faults.healed {
			r.poison--
			failed = true
		}
	}
	switch {
	case failed && w.opt.Bug == SkipFailed:
	case failed:
		g.handed = from
		g.retryAt = w.now + p.between(0, 500*time.Millisecond)
		p.after(g.retryAt-w.now, "retry", g.startHandler)
	default:
		w.check.finished(g, from, to)
		switch f := &w.faults; {
		case f.hits(neverAck, 0.0005):
			g.late++
			g.ackOnceHealed(from, to)
		case f.hits(lateAck, 0.1):
			mid := from + 1 + f.how[lateAck].IntN(to-from)
			g.late++
			p.after(f.between(lateAck, 0, 3*time.Second), "late ack", func() {
				g.late--
				g.ack(from, mid)
			})
			g.ack(mid, to)
		default:
			g.ack(from, to)
		}
	}
	g.endTracker()
	g.lookDrained()
	p.startHandlers() // a newer epoch of the shard may have waited
}

// ackOnceHealed acknowledges nothing while there are faults: if the epoch ends before, these records are handed out again.
func (g *grant) ackOnceHealed(from, to int) {
	switch {
	case g.closed:
	case g.p.w.faults.healed:
		g.late--
		g.ack(from, to)
	default:
		g.p.after(10*time.Second, "never ack", func() { g.ackOnceHealed(from, to) })
	}
}

// ack acknowledges records, the last one first.
func (g *grant) ack(from, to int) {
	for i := to - 1; i >= from; i-- {
		g.shard.records[i].acked = true
		g.tracker.Ack(dispatch.Handle(i - g.first))
	}
	g.tellAcked()
	g.lookDrained()
}

// tellAcked tells the member how far the shard has been handled, if the epoch still counts.
func (g *grant) tellAcked() {
	if g.drained || g.closed || g.tracker.Watermark() == g.told {
		return
	}
	tell := func() {
		g.telling = false
		if mark := g.tracker.Watermark(); mark != g.told && mark != g.start && !g.drained && !g.closed {
			g.told = mark
			g.p.tell(g.m, lease.Acked{Shard: g.shard.id, Token: g.token, Position: mark})
		}
	}
	switch {
	case g.tracker.Watermark().IsShardEnd() || g.p.ackEvery == 0:
		tell()
	case !g.telling:
		g.telling = true
		g.p.after(g.p.ackEvery, "acked", tell)
	}
}

// drain waits for what runs, but not for ever.
func (g *grant) drain() {
	g.draining = true
	g.drainedBy = g.p.w.now + drainLimit
	g.p.after(0, "drain", g.lookDrained)
	if g.p.w.opt.Bug != NoDrainTimeout {
		g.p.after(drainTimeout+drainGrace, "drain timeout", func() { g.setDrained() })
	}
}

func (g *grant) lookDrained() {
	if g.draining && !g.running && g.late == 0 {
		g.setDrained()
	}
}

func (g *grant) setDrained() {
	if g.drained || g.closed {
		return
	}
	g.drained = true
	g.clean = !g.running && g.tracker.InFlight() == 0
	mark := g.tracker.Watermark()
	if mark == g.start {
		mark = lease.TrimHorizon() // the zero position: nothing was handled
	}
	g.p.tell(g.m, lease.Drained{Shard: g.shard.id, Token: g.token, Position: mark})
}
