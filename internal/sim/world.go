package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leatstream/leat/lease"
)

// world is one run. Everything in it happens on one goroutine, in the order of the queue.
type world struct {
	opt   Options
	now   time.Duration
	queue queue
	order uint64
	res   Result

	rng    *rand.Rand // latencies and other harmless chance
	faults faults
	store  *storeModel
	stream *streamModel
	hosts  []*host
	check  checks
	heal   healing
	trace  trace

	cfg         lease.MemberConfig // what all members have in common
	startKind   startKind
	rereads     bool // conflicts come without the item, as from a store that cannot tell it
	incarnation int
	stopped     bool
	life        int                        // how often the group has lost its memory
	deleted     bool                       // a lease was, by hand: the ancestors of a first lease may then be read from their horizon
	copies      []snapshot                 // of the table
	restores    int                        // of a copy
	final       map[string]bool            // workers that were fenced or have left, whatever a restored table says
	awayUntil   time.Duration              // no process is started before
	calmSince   time.Duration              // nothing but short outages happens, and all have settled since; 0: not so
	named       int                        // processes that ended since the stream was recreated
	moved       func(sh *shard, to string) // told of every new owner, if set
	paused      func(sh *shard)            // told when a shard's reader is closed or opened, if set
	wants       map[want]time.Duration     // since when
	disputedAt  time.Duration              // the last time that a lease was disputed
	restless    time.Duration              // until then leases rest, or are in doubt
}

// startKind says where the group begins.
type startKind uint8

const (
	startHorizon startKind = iota
	startLatest            // a time that each worker computes for itself, when it starts
	startTime              // a time before the group's first start, the same for all
)

// epoch is the wall clock's time at the world's time 0; only the stream knows of it.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// maxEvents ends a run that goes round in circles.
const maxEvents = 30_000_000

// Run runs one seed.
func Run(opt Options) Result {
	w := newWorld(opt)
	end := opt.Span
	if opt.script == nil {
		end += healingSpan + w.heal.slack
	}
	if opt.until > 0 {
		end = min(end, opt.until)
	}
	for w.check.violation == nil && len(w.queue) > 0 {
		e := w.queue.pop()
		if e.at > end {
			break
		}
		if p := e.process; p != nil {
			if p.dead {
				continue
			}
			if at := p.comes(&e); at > e.at { // what came meanwhile comes in any order
				w.push(event{at: at, process: p, late: true, label: e.label, run: e.run})
				continue
			}
		}
		w.now = e.at
		w.res.Events++
		w.mix(uint64(e.at))
		w.mixString(e.label)
		e.run()
		if w.res.Events > maxEvents {
			w.violate("busy", "", "", "more than %d events", maxEvents)
		}
	}
	if w.check.violation == nil && opt.script == nil && opt.until == 0 {
		w.heal.final()
	}
	return w.result()
}

func newWorld(opt Options) *world {
	w := &world{opt: opt, rng: stream(opt.Seed, 1), final: map[string]bool{}}
	w.res.Hash = 14695981039346656037
	w.faults.init(w)
	w.check.w, w.heal.w = w, w
	w.startKind = startKind(w.rng.IntN(3))
	w.rereads = w.rng.IntN(2) == 0
	w.cfg = lease.MemberConfig{
		Stream: "orders", ARN: "arn:aws:kinesis:eu-central-1:000000000000:stream/orders", Created: epoch.Add(-time.Hour),
		Failover: 6 * time.Second, Heartbeat: 2 * time.Second, Watch: time.Second, Relist: time.Minute, Checkpoint: 5 * time.Second,
	}
	if w.rng.IntN(4) == 0 && opt.Workers == 0 {
		w.cfg.MaxShards = 12
	}
	if opt.script != nil {
		w.startKind = startHorizon
	}
	w.store = newStoreModel(w)
	w.stream = newStreamModel(w)
	if w.startKind == startTime {
		w.cfg.Start = w.stream.pastTime()
	}
	n := opt.workers(w.rng)
	for i := range n {
		w.hosts = append(w.hosts, &host{w: w, name: fmt.Sprintf("w%d", i)})
	}
	if w.faults.on[scaledOut] && opt.script == nil {
		for i := range n {
			w.hosts = append(w.hosts, &host{w: w, name: w.hosts[i].name, spare: true})
		}
	}
	w.stream.produce()
	w.watchDrains()
	if opt.script != nil {
		opt.script(w)
		return w
	}
	for _, h := range w.hosts[:n] {
		w.after(w.between(0, 3*time.Second), "boot", h.boot)
	}
	w.plantItems()
	w.faults.schedule()
	if f := &w.faults; f.on[expiry] || f.on[retention] || f.on[leasesDeleted] || f.on[allDeleted] || f.on[restored] {
		w.heal.slack = 8 * w.cfg.Relist // each generation that passed its retention unread takes a minute
	}
	w.at(opt.Span, "heal", w.heal.begin)
	return w
}

func (w *world) result() Result {
	w.res.Seed, w.res.Virtual = w.opt.Seed, w.now
	w.res.Faults = w.faults.count
	w.res.Records, w.res.Shards = w.stream.total, len(w.stream.shards)
	w.res.Violation = w.check.violation
	return w.res
}

// stream returns a source of chance of its own, so that more or less chance at one place changes
// nothing at the others.
func stream(seed, id uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, id*0x9e3779b97f4a7c15)) }

func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)+1))
}

func (w *world) between(low, high time.Duration) time.Duration { return between(w.rng, low, high) }

// mix takes a number into the hash of the run (FNV-1a over words).
func (w *world) mix(x uint64) { w.res.Hash = (w.res.Hash ^ x) * 1099511628211 }

func (w *world) mixString(s string) {
	for i := range len(s) {
		w.mix(uint64(s[i]))
	}
}
