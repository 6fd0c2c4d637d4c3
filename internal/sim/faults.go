package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// fault is a kind of thing that goes wrong, or at least changes the course of things.
type fault uint8

const (
	lateSend fault = iota // a worker is slow to do what its member wants
	slowCall
	lostRequest
	lostAnswer
	lateWrite // reaches the store up to 25 s later, long after the sender gave it up
	staleRead
	failedRead
	failedWrite
	storeOutage // for all
	partition   // between one worker and the store
	crash
	pause
	cleanStop
	rollingRestart
	failedFetch
	untoldChildren // the end of a shard comes without its children
	falseMissing   // the service says for once that there is no such shard
	staleListing
	slowHandler
	failedHandler
	lateAck
	expiry       // the oldest unfinished shard passes its retention, with what was not read of it
	retention    // records pass their retention that have waited for long
	slowWorker   // all handlers of one worker are slow for a while
	scaledToZero // all workers go; they come back later
	foreignWrite // somebody touches a lease by hand: its counter moves on, and nothing else
	foreignItem  // the table holds items of others
	foreignAttribute
	leasesDeleted // some, by hand
	allDeleted    // all leases, by hand
	restored      // the table is put back to what it was a while ago
	held          // an operator's tool puts a lease on hold, and maybe moves its checkpoint, or crashes on the way
	reshard
	reshardBurst // children are resharded before anybody has read them
	numFaults
)

var faultNames = [numFaults]string{
	"late send", "slow call", "lost request", "lost answer", "late write", "stale read", "failed read", "failed write", "store outage",
	"partition", "crash", "pause", "clean stop", "rolling restart", "failed fetch", "untold children", "false missing",
	"stale listing", "slow handler", "failed handler", "late ack", "expiry", "retention", "slow worker", "scaled to zero",
	"foreign write", "foreign item", "foreign attribute", "leases deleted", "all deleted", "restored", "held", "reshard", "reshard burst",
}

// String is the fault's name in words.
func (f fault) String() string { return faultNames[f] }

// faults decides what goes wrong. Every kind has its own source of chance: switching one off does not
// change when the others strike.
type faults struct {
	on       [numFaults]bool
	rng      [numFaults]*rand.Rand
	count    [numFaults]int
	pace     float64 // how fast they follow each other, 1 is usual
	healed   bool
	calm     bool        // nothing but short outages of the store
	storeOut outageState // for all
}

// init switches about half of the kinds off: a bug that needs one fault often is found sooner where no other
// one disturbs (swarm testing).
func (f *faults) init(opt Options) {
	pick := stream(opt.Seed, 2)
	f.pace = []float64{0.3, 1, 1, 2}[pick.IntN(4)]
	for k := range numFaults {
		f.on[k] = pick.IntN(2) == 0
		f.rng[k] = stream(opt.Seed, 100+uint64(k))
	}
	for _, k := range []fault{leasesDeleted, allDeleted, restored} {
		f.on[k] = f.on[k] && pick.IntN(3) == 0 // they hide much
	}
	if f.calm = pick.IntN(16) == 0 && opt.Only == nil; f.calm {
		for k := range numFaults {
			f.on[k] = k == storeOutage
		}
	}
	if opt.Only != nil {
		f.pace = 0.5 // one at a time
		for k := range numFaults {
			f.on[k] = slices.Contains(opt.Only, k)
		}
	}
	for _, k := range opt.Off {
		f.on[k] = false
	}
}

// hits says whether a fault strikes at a place where it does with a probability of p.
func (f *faults) hits(k fault, p float64) bool {
	if !f.on[k] || f.healed || f.rng[k].Float64() >= p*f.pace {
		return false
	}
	f.count[k]++
	return true
}

func (f *faults) between(k fault, low, high time.Duration) time.Duration {
	return between(f.rng[k], low, high)
}

// every runs a fault again and again, on average once in mean, and never twice within a tenth of it.
func (f *faults) every(w *world, k fault, mean time.Duration, strike func(rng *rand.Rand)) {
	if !f.on[k] {
		return
	}
	rng := f.rng[k]
	var next func()
	next = func() {
		if f.healed {
			return
		}
		strike(rng)
		gap := min(rng.ExpFloat64(), 5)*0.9 + 0.1
		w.after(time.Duration(gap*float64(mean)/f.pace), k.String(), next)
	}
	w.after(between(rng, 0, 2*mean), k.String(), next)
}

// schedule starts the faults that come by themselves. The others strike in calls and handlers.
func (f *faults) schedule(w *world) {
	anyHost := func(rng *rand.Rand) *host { return w.hosts[rng.IntN(len(w.hosts))] }
	f.every(w, crash, 50*time.Second, func(rng *rand.Rand) { anyHost(rng).crash(rng) })
	f.every(w, pause, 40*time.Second, func(rng *rand.Rand) { anyHost(rng).pause(rng) })
	f.every(w, cleanStop, 60*time.Second, func(rng *rand.Rand) { anyHost(rng).stopAndReturn(rng) })
	f.every(w, rollingRestart, 3*time.Minute, func(rng *rand.Rand) {
		f.count[rollingRestart]++
		for i, h := range w.hosts {
			w.after(time.Duration(i)*between(rng, time.Second, 8*time.Second), "rolling", func() {
				if !f.healed {
					h.stopAndReturn(rng)
				}
			})
		}
	})
	f.every(w, storeOutage, 90*time.Second, func(rng *rand.Rand) {
		f.count[storeOutage]++
		f.storeOut.strike(w, rng)
		if f.calm {
			f.storeOut.until = w.now + between(rng, 0, w.cfg.Failover-w.cfg.Heartbeat)
		}
		w.note("", "", "store outage: %v until %v", f.storeOut.mode, f.storeOut.until)
	})
	if f.calm {
		w.calmSince = 2 * time.Minute
	}
	f.every(w, partition, 50*time.Second, func(rng *rand.Rand) {
		f.count[partition]++
		h := anyHost(rng)
		h.outage.strike(w, rng)
		w.note("", h.name, "partition: %v until %v", h.outage.mode, h.outage.until)
	})
	f.every(w, expiry, 2*time.Minute, func(*rand.Rand) {
		f.early(w, expiry, w.stream.expireShard)
	})
	f.every(w, retention, time.Minute, func(rng *rand.Rand) {
		f.early(w, retention, func() bool { return w.stream.expireRecords(rng) })
	})
	f.every(w, leasesDeleted, 2*time.Minute, func(rng *rand.Rand) {
		f.early(w, leasesDeleted, func() bool { return w.deleteLeases(rng, false) })
	})
	f.every(w, allDeleted, 4*time.Minute, func(rng *rand.Rand) {
		f.early(w, allDeleted, func() bool { return w.deleteLeases(rng, true) })
	})
	f.every(w, restored, 2*time.Minute, func(rng *rand.Rand) {
		f.early(w, restored, func() bool { return w.restore(rng) })
	})
	if f.on[restored] {
		w.copyTable()
	}
	f.every(w, held, 20*time.Second, w.operate)
	f.every(w, foreignAttribute, 10*time.Second, w.plantAttributes)
	f.every(w, slowWorker, 2*time.Minute, func(rng *rand.Rand) {
		f.count[slowWorker]++
		anyHost(rng).slowUntil = w.now + between(rng, 10*time.Second, 2*time.Minute)
	})
	f.every(w, scaledToZero, 4*time.Minute, func(rng *rand.Rand) {
		f.count[scaledToZero]++
		w.awayUntil = w.now + between(rng, 5*time.Second, 90*time.Second)
		w.note("", "", "scaled to zero until %v", w.awayUntil)
		crash := rng.IntN(2) == 0
		for _, h := range w.hosts {
			switch p := h.process; {
			case p == nil || p.stopping:
			case crash:
				h.end()
			default:
				p.stop()
			}
			w.at(w.awayUntil+between(rng, 0, 3*time.Second), "boot", h.boot)
		}
	})
	f.every(w, foreignWrite, 30*time.Second, func(rng *rand.Rand) { w.touch(w.stream.shards[rng.IntN(len(w.stream.shards))]) })
	f.every(w, reshard, 45*time.Second, func(rng *rand.Rand) {
		if w.stream.reshard(rng) {
			f.count[reshard]++
		}
	})
	f.every(w, reshardBurst, 2*time.Minute, func(rng *rand.Rand) {
		f.count[reshardBurst]++
		for i := range 2 + rng.IntN(4) {
			w.after(time.Duration(i)*between(rng, 0, 2*time.Second), "burst", func() { w.stream.reshardNewest(rng) })
		}
	})
}

// early strikes while there is time: the leases that somebody has to make again, and the children of a shard
// whose lease was never made, are found by two audits in a row.
func (f *faults) early(w *world, k fault, strike func() bool) {
	if w.now < w.opt.Span-4*w.cfg.Relist && strike() {
		f.count[k]++
	}
}

// outageState is a time in which a service cannot be reached.
type outageState struct {
	until time.Duration
	mode  outageMode
}

type outageMode uint8

const (
	refuses    outageMode = iota // answers at once with an error, and does nothing
	swallows                     // requests are lost
	staysQuiet                   // requests are carried out, answers are lost
	numOutageModes
)

// String is the mode in a word.
func (m outageMode) String() string { return [...]string{"refuses", "swallows", "stays quiet"}[m] }

// strike begins an outage: mostly a short one, at times several failover times long.
func (o *outageState) strike(w *world, rng *rand.Rand) {
	length := between(rng, 100*time.Millisecond, 8*time.Second)
	if rng.IntN(3) == 0 {
		length *= 4
	}
	o.until = w.now + length
	o.mode = outageMode(rng.IntN(int(numOutageModes)))
}

func (o *outageState) down(w *world) bool { return w.now < o.until && !w.faults.healed }
