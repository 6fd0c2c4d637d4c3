package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/leatstream/leat/lease"
)

// counts is how many leases each worker owns.
func (w *world) counts() map[string]int {
	counts := map[string]int{}
	for _, host := range w.hosts {
		if p := host.process; p != nil && p.member != nil {
			counts[p.id] = 0
		}
	}
	for _, sh := range w.stream.shards {
		if item, found := w.store.lease(sh.id); found && sh.endedAt == 0 {
			counts[item.Lease.Owner]++
		}
	}
	return counts
}

// isBalanced says whether every lease is owned, and no worker has two more than another.
func (w *world) isBalanced() bool {
	counts := w.counts()
	least, most, total := 1<<30, 0, 0
	for _, n := range counts {
		least, most, total = min(least, n), max(most, n), total+n
	}
	return counts[""] == 0 && total > 0 && most-least <= 1
}

// when runs something as soon as a condition holds, looking four times a second.
func (w *world) when(condition func() bool, run func()) {
	if condition() {
		run()
		return
	}
	w.after(time.Second/4, "look", func() { w.when(condition, run) })
}

// joins starts one worker after another, each a while after the leases are balanced over those before it. done is
// told how many leases moved for each.
func joins(rest time.Duration, done func(worker, moves int, took time.Duration)) func(*world) {
	return func(w *world) {
		moves, began := 0, time.Duration(0)
		movedAt := map[*shard]time.Duration{}
		w.moved = func(sh *shard, to string) {
			moves++
			last, owned := movedAt[sh]
			switch {
			case !owned:
				movedAt[sh] = -time.Minute // it was free: that is no move
				return
			case w.now-last < time.Minute:
				w.violate("L2 balanced", sh.id, to, "it moves again %v after it has moved", w.now-last)
			}
			movedAt[sh] = w.now
		}
		var next func(i int)
		next = func(i int) {
			if i == len(w.hosts) {
				w.stream.quiet = true
				return
			}
			moves, began = 0, w.now
			w.hosts[i].boot()
			has := func() bool { return len(w.counts()) == i+1 && w.isBalanced() }
			w.when(has, func() {
				took := w.now - began
				w.after(rest, "next", func() {
					done(i+1, moves, took)
					next(i + 1)
				})
			})
		}
		next(0)
	}
}

// rollingRestarts stops and starts every worker once, one after another. pause is told for how long a shard had no
// reader.
func rollingRestarts(pause func(time.Duration)) func(*world) {
	return func(w *world) {
		for _, h := range w.hosts {
			h.boot()
		}
		closedAt := map[*shard]time.Duration{}
		w.paused = func(sh *shard) {
			if at, closed := closedAt[sh]; closed {
				pause(w.now - at)
				delete(closedAt, sh)
			} else if w.now > 2*time.Minute {
				closedAt[sh] = w.now
			}
		}
		var next func(i int)
		next = func(i int) {
			if i == len(w.hosts) {
				return
			}
			h := w.hosts[i]
			h.process.stop()
			w.when(func() bool { return h.process == nil }, func() {
				w.after(5*time.Second, "boot", h.boot)
				w.after(15*time.Second, "next", func() { next(i + 1) })
			})
		}
		w.at(2*time.Minute+time.Millisecond, "restarts", func() { next(0) })
	}
}

// slowLeaver stops a worker while one of its handlers hangs. All its other leases are free at once, and nobody's plan may
// count on the leaver for them: they have other readers within two seconds. So has the last one, once its handler has
// returned (L6).
func slowLeaver(w *world) {
	for _, h := range w.hosts {
		h.boot()
	}
	const hangs = 15 * time.Second
	w.at(time.Minute, "hang", func() {
		leaver := w.hosts[0].process
		grants := slices.SortedFunc(slices.Values(leaver.grants), func(a, b *grant) int { return cmp.Compare(len(b.shard.records), len(a.shard.records)) })
		if len(grants) < 2 {
			w.violate("L2 balanced", "", leaver.id, "it has %d shards", len(grants))
			return
		}
		slow := grants[0].shard
		slow.hangs = hangs
		expect := func(after time.Duration, grants []*grant) {
			w.after(after, "look", func() {
				for _, g := range grants {
					if item, _ := w.store.lease(g.shard.id); item.Lease.Owner == "" || item.Lease.Owner == g.owner {
						w.violate("L6 stop", g.shard.id, g.owner, "%v after its reader was asked to stop nobody else has it: %s", after, describe(item))
					}
				}
			})
		}
		w.when(func() bool { return slow.hangs == 0 }, func() {
			leaver.stop()
			expect(2*time.Second, grants[1:])
			expect(hangs+2*time.Second, grants[:1])
		})
	})
}

// longOutages takes the store away from all, for five failover times and in each way (throttled: for half of one). Nobody fences on a view that
// stood still, so afterwards everybody goes on with what he had (L7).
func longOutages(w *world) {
	for _, h := range w.hosts {
		h.boot()
	}
	w.calmSince = time.Minute
	for mode := range numOutageModes {
		length := 5 * w.cfg.Failover
		if mode == throttles { // one worker's heartbeats may all be refused, and those of the others not: it is silent then
			length = w.cfg.Failover / 2
		}
		w.at(w.calmSince+time.Duration(mode)*time.Minute+time.Second, "outage", func() {
			w.faults.storeOut = outage{until: w.now + length, mode: mode, rng: w.rng}
		})
	}
}

// idleChanged changes the lease of an idle shard by hand, and deletes that of another. Their owners write nothing, and
// find it out all the same: each shard has one reader again, whose epoch is that of the lease.
func idleChanged(w *world) {
	for _, h := range w.hosts {
		h.boot()
	}
	touched, deleted := w.stream.shards[0], w.stream.shards[1]
	w.at(time.Minute, "quiet", func() { w.stream.quiet = true })
	w.at(2*time.Minute, "by hand", func() {
		w.touch(touched)
		w.deleteLease(deleted, false)
	})
	w.at(w.opt.Span, "look", func() {
		for _, sh := range []*shard{touched, deleted} {
			readers := 0
			for _, h := range w.hosts {
				for _, g := range h.process.grants {
					if g.shard != sh || g.closed {
						continue
					}
					readers++
					item, _ := w.store.lease(sh.id)
					switch {
					case item.Lease.Owner != g.owner:
						w.violate("S1 owner", sh.id, g.owner, "it goes on though its lease was deleted by hand, and is now: %s", describe(item))
					case sh == touched && g.token != item.Counter:
						w.violate("S11 belief", sh.id, g.owner, "it goes on under token %d, the lease was changed by hand: %s", g.token, describe(item))
					}
				}
			}
			if readers != 1 {
				w.violate("S1 owner", sh.id, "", "it has %d readers after its lease was changed by hand", readers)
			}
		}
	})
}

// holds puts every lease on hold, one after another, and says so. Where nothing goes wrong its owner gives it back within
// five seconds, and somebody has it again five seconds after the hold is over.
func holds(w *world) {
	const lasts = 30 * time.Second
	for _, h := range w.hosts {
		h.boot()
	}
	operates := func(wr lease.Write) {
		if _, err := w.store.write(operator, wr); err != nil {
			w.violate("hold", wr.Item.Key.Shard, operator, "%v", err)
		}
	}
	for i, sh := range w.stream.shards {
		began := time.Minute + time.Duration(i)*7*time.Second
		w.at(began, "hold", func() {
			item, _ := w.store.lease(sh.id)
			operates(lease.PutHold(item, lease.Hold{ID: sh.id, Reason: "a try", For: lasts}))
			control, _ := w.store.get(lease.ControlKey())
			operates(lease.Announce(control))
		})
		expect := func(after time.Duration, owned bool) {
			w.at(began+after, "look", func() {
				if item, _ := w.store.lease(sh.id); (item.Lease.Owner != "") != owned {
					w.violate("hold", sh.id, "", "%v after a hold of %v was put and announced: %s", after, lasts, describe(item))
				}
			})
		}
		expect(5*time.Second, false)
		expect(lasts-time.Second, false)
		expect(lasts+5*time.Second, true)
	}
}

// streamRecreated deletes the stream and makes it again under its name, among faults (F13). Whoever reads, or starts,
// must end with the error that says so; nothing may be begun anew.
func streamRecreated(at time.Duration) func(*world) {
	return func(w *world) {
		for _, h := range w.hosts {
			h.boot()
		}
		w.faults.schedule()
		w.at(at, "recreated", func() {
			w.calmSince = 0
			w.stream.recreated, w.stream.quiet = true, true
			w.cfg.Created = w.cfg.Created.Add(24 * time.Hour)
			w.note("", "", "the stream is made again under its name")
		})
		w.at(w.opt.Span-time.Minute, "heal", func() {
			w.faults.healed = true
			for _, h := range w.hosts {
				h.boot()
			}
		})
		w.at(w.opt.Span, "end", func() {
			for _, h := range w.hosts {
				if h.process != nil {
					w.violate("F13", "", h.process.id, "it still runs on a stream that is not the group's")
				}
			}
			if w.named < len(w.hosts) {
				w.violate("F13", "", "", "%d processes ended with %v", w.named, lease.ErrRecreated)
			}
		})
	}
}

// storeReplaced deletes the store and puts an empty one in its place (F12). Whoever runs is refused from
// then on, and hands out nothing after his deadline; those who are started anew begin where the group began.
func storeReplaced(at time.Duration) func(*world) {
	return func(w *world) {
		for _, h := range w.hosts {
			h.boot()
		}
		w.at(at, "replaced", func() {
			w.note("", "", "the store is replaced by an empty one")
			w.calmSince = 0
			w.store.id++
			w.life++
			w.restores++
			w.stream.startKnown = false
			for _, h := range w.store.history {
				w.store.keep(h.key, lease.Item{}, false)
			}
			for _, sh := range w.stream.shards {
				sh.progress = progress{}
				sh.changed(w.now, w.cfg.Failover+w.cfg.Failover/100, false)
			}
			for _, h := range w.hosts {
				w.after(w.between(0, 30*time.Second), "restart", func() {
					if h.process != nil {
						h.end()
					}
					h.boot()
				})
			}
		})
		w.at(w.opt.Span-2*time.Minute, "heal", func() { w.faults.healed, w.stream.quiet = true, true })
		w.at(w.opt.Span, "end", w.heal.caughtUp)
	}
}
