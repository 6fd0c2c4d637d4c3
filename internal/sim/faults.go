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
	lateWrite // reaches the store up to 30 s later, long after the sender gave it up
	duplicate // a write reaches the store a second time, up to 30 s later
	staleRead
	failedRead
	failedWrite
	storeOutage     // for all: no answers, or few
	partition       // the same, between one worker and the store
	streamOutage    // for all
	streamPartition // between one worker and the stream
	crash
	crashBetween // in the middle of what a member wants: some of it is done, the rest never
	pause
	starved // everything in one worker happens late for a while
	cleanStop
	rollingRestart
	failedFetch
	expiredIterator
	emptyAnswer    // though there are records
	bigAnswer      // of so many bytes that the shard refuses to be read for five seconds
	spentQuota     // somebody else reads the shard, and takes all that it gives
	stalledReader  // brings nothing for a while, and no error
	untoldChildren // the end of a shard comes without its children
	falseMissing   // the service says for once that there is no such shard
	staleListing
	slowHandler
	hungHandler   // heeds no cancelled context: it may end long after its epoch
	failedHandler // an error or a panic
	poison        // a record that fails again and again, until it is given up
	lateAck
	neverAck     // not in this epoch, while there are faults
	expiry       // the oldest unfinished shard passes its retention, with what was not read of it
	retention    // records pass their retention that have waited for long
	slowWorker   // all handlers of one worker are slow for a while
	scaledToZero // all workers go; they come back later
	scaledOut    // as many workers again come under the names of the others; they go after a while
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
	"late send", "slow call", "lost request", "lost answer", "late write", "duplicate", "stale read", "failed read", "failed write",
	"store outage", "partition", "stream outage", "stream partition", "crash", "crash between", "pause", "starved", "clean stop",
	"rolling restart", "failed fetch", "expired iterator", "empty answer", "big answer", "spent quota", "stalled reader",
	"untold children", "false missing", "stale listing", "slow handler", "hung handler", "failed handler", "poison", "late ack",
	"never ack", "expiry", "retention", "slow worker", "scaled to zero", "scaled out", "foreign write", "foreign item",
	"foreign attribute", "leases deleted", "all deleted", "restored", "held", "reshard", "reshard burst",
}

// String is the fault's name in words.
func (f fault) String() string { return faultNames[f] }

// strike is the n-th time, from 1, at which chance had a kind of fault strike. Its name is good in other runs of the seed,
// too: of each kind, when it strikes and how hard are drawn from sources of chance that nothing else draws from.
type strike struct {
	kind fault
	n    int
}

// faults decides what goes wrong.
type faults struct {
	w         *world
	on        [numFaults]bool
	when      [numFaults]*rand.Rand // says when a kind strikes
	how       [numFaults]*rand.Rand // and how hard: begun anew for each strike
	source    [numFaults]*rand.PCG  // of how
	strikes   [numFaults]int        // that chance meant to be
	count     [numFaults]int        // that came about
	pace      float64               // how fast they follow each other, 1 is usual
	calmUntil time.Duration         // until then nothing happens but short outages of the store
	healed    bool
	storeOut  outage // for all
	streamOut outage // for all
}

// init switches about half of the kinds off: a bug that needs one fault often is found sooner where no other
// one disturbs (swarm testing). A quarter of the runs begin with a calm time.
func (f *faults) init(w *world) {
	f.w = w
	opt := w.opt
	pick := stream(opt.Seed, 2)
	f.pace = []float64{0.3, 1, 1, 2}[pick.IntN(4)]
	if opt.Standard {
		f.pace = max(0.3, f.pace/2) // an hour has time
	}
	for k := range numFaults {
		f.on[k] = pick.IntN(2) == 0
		f.when[k] = stream(opt.Seed, 100+uint64(k))
		f.source[k] = &rand.PCG{}
		f.how[k] = rand.New(f.source[k])
	}
	for _, k := range []fault{leasesDeleted, allDeleted, restored} {
		f.on[k] = f.on[k] && pick.IntN(3) == 0 // they hide much
	}
	if often := []fault{lateSend, slowCall, staleRead, emptyAnswer, lateAck}; !slices.ContainsFunc(often, f.isOn) {
		f.on[often[pick.IntN(len(often))]] = true // so that an hour has its 400 faults
	}
	if pick.IntN(4) == 0 && opt.Only == nil && opt.script == nil {
		f.calmUntil = min(between(pick, 4*time.Minute, 10*time.Minute), opt.Span/2)
	}
	if opt.Only != nil {
		f.pace = 0.5 // one at a time
		for k := range numFaults {
			f.on[k] = slices.Contains(opt.Only, k)
		}
	}
	for k := range numFaults {
		kept := opt.Keep == nil || slices.ContainsFunc(opt.Keep, func(s strike) bool { return s.kind == k })
		f.on[k] = f.on[k] && kept && !slices.Contains(opt.Off, k)
	}
}

func (f *faults) isOn(k fault) bool { return f.on[k] }

// hits says whether a fault strikes at a place where it does with a probability of p.
func (f *faults) hits(k fault, p float64) bool {
	if !f.on[k] || f.healed || f.w.now < f.calmUntil || f.when[k].Float64() >= p*f.pace || !f.strike(k) {
		return false
	}
	f.count[k]++
	return true
}

// strike counts one strike, and says whether it is to come about.
func (f *faults) strike(k fault) bool {
	f.strikes[k]++
	s := strike{k, f.strikes[k]}
	if keep := f.w.opt.Keep; keep != nil && !slices.Contains(keep, s) {
		return false
	}
	f.source[k].Seed(f.w.opt.Seed, uint64(k)<<32|uint64(s.n))
	if f.w.opt.struck != nil {
		*f.w.opt.struck = append(*f.w.opt.struck, s)
	}
	if f.w.tracing() {
		f.w.note("", "", "fault: %v", s)
	}
	return true
}

// between draws from the chance of the strike that was the last of its kind.
func (f *faults) between(k fault, low, high time.Duration) time.Duration {
	return between(f.how[k], low, high)
}

// every runs a fault again and again, on average once in mean, and never twice within a tenth of it.
func (f *faults) every(k fault, mean time.Duration, hit func(rng *rand.Rand)) {
	if !f.on[k] {
		return
	}
	w, rng := f.w, f.when[k]
	var next func()
	next = func() {
		if f.healed {
			return
		}
		if f.strike(k) {
			hit(rand.New(rand.NewPCG(f.how[k].Uint64(), 0))) // of its own, since what it begins may go on for a while
		}
		gap := min(rng.ExpFloat64(), 5)*0.9 + 0.1
		w.after(time.Duration(gap*float64(mean)/f.pace), k.String(), next)
	}
	w.at(f.calmUntil+between(rng, 0, 2*mean), k.String(), next)
}
