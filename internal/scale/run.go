package scale

import (
	"slices"
	"time"
)

// Size is how large a group is.
type Size struct{ Shards, Workers int }

// partitions are as many as the group's writes at rest need: a checkpoint a shard each 5 s, a heartbeat a worker each 2 s.
func (s Size) partitions() int { return 1 + (s.Shards/5+s.Workers/2)/partitionWrites }

// Result is what a group of one size came to.
type Result struct {
	Size
	Start, Join, Crash, Restart change
	Rest                        bill // a minute's, when nothing moves
	RestMoves                   int
	Twice, Double, Fenced, Late int
	Took                        time.Duration // of real time
}

// change is what followed when workers came or went.
type change struct {
	Owned    time.Duration // until every shard was read; 0: all the time; negative: it was given up
	Balanced time.Duration // until besides no worker read two shards more than another; negative: it was given up
	Moves    int           // leases that changed their owner, until a while later
	Needed   int           // the fewest moves that could do
	Pause    time.Duration // the longest time in which a shard was not read
	Bill     bill

	Throttled int // requests
}

// Spans of virtual time.
const (
	giveUp    = 10 * time.Minute
	quiet     = 2 * time.Minute // after which leases rest no more
	restSpan  = 3 * time.Minute
	startSpan = time.Second // in which all workers start
)

// Run runs a group of one size: all workers start; then all is at rest; one worker joins; one crashes; all are
// restarted.
func Run(size Size, seed uint64) Result {
	began := time.Now()
	g := newGroup(seed, size.Shards, size.partitions())
	r := Result{Size: size}
	r.Start = g.change(func() {
		for range size.Workers {
			g.after(g.between(0, startSpan), func() { g.start() })
		}
	}, func() bool { return g.started >= size.Workers })
	before, moves := g.table.bill, g.moves
	g.pass(restSpan)
	r.Rest, r.RestMoves = g.table.bill.since(before).each(restSpan/time.Minute), g.moves-moves

	r.Join = g.change(func() { g.start() }, nil)
	r.Join.Needed = size.Shards / (size.Workers + 1)

	var victim *worker
	for _, w := range g.live() {
		if victim == nil || len(w.open) > len(victim.open) {
			victim = w
		}
	}
	needed := len(victim.open)
	r.Crash = g.change(victim.crash, nil)
	r.Crash.Needed = needed

	r.Restart = g.rollingRestart()
	r.Restart.Needed = size.Shards
	r.Twice, r.Double, r.Fenced, r.Late = g.twice, g.double, g.fenced, g.late
	r.Took = time.Since(began)
	return r
}

// change does something, waits until all is balanced again, and then for a while. over says whether it has been done.
func (g *group) change(do func(), over func() bool) change {
	var c change
	at, bill, moves := g.now, g.table.bill, g.moves
	throttled := g.table.throttled
	g.pauses = nil
	do()
	finished := func() bool { return over == nil || over() }
	until := func(reached func() bool) time.Duration {
		if g.advance(giveUp, func() bool { return finished() && reached() }) {
			return g.now - at
		}
		return -1
	}
	c.Owned = until(g.owned)
	c.Balanced = until(g.balanced)
	c.Bill, c.Throttled = g.table.bill.since(bill), g.table.throttled-throttled
	g.pass(quiet)
	c.Moves = g.moves - moves
	if len(g.pauses) > 0 {
		c.Pause = slices.Max(g.pauses)
	}
	return c
}

// rollingRestart stops a quarter of the workers (Kubernetes' default, at least one), and starts as many new ones a second
// or two after each has gone; when every shard is read again, the next quarter.
func (g *group) rollingRestart() change {
	old := slices.Clone(g.live())
	wave := max(1, len(old)/4)
	over := false
	var next func()
	next = func() {
		if len(old) == 0 {
			over = true
			return
		}
		stopping := old[:min(wave, len(old))]
		old = old[len(stopping):]
		want := g.started + len(stopping)
		for _, w := range stopping {
			w.stop(func() { g.after(g.between(time.Second, 2*time.Second), func() { g.start() }) })
		}
		var poll func()
		poll = func() {
			if g.started < want || !g.owned() {
				g.after(100*time.Millisecond, poll)
				return
			}
			next()
		}
		poll()
	}
	return g.change(next, func() bool { return over })
}
