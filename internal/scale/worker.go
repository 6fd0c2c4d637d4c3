package scale

import (
	"fmt"
	"slices"
	"time"

	"github.com/leatstream/leat/lease"
)

// Latencies of the services, each drawn anew: an answer of DynamoDB, and what a page of a Query of leases (up to 1 MB)
// takes on top; a page of ListShards; a handler that is waited for in a drain.
const (
	minLatency, maxLatency = 2 * time.Millisecond, 10 * time.Millisecond
	maxPage                = 40 * time.Millisecond
	minListing, maxListing = 20 * time.Millisecond, 60 * time.Millisecond
	maxHandler             = 200 * time.Millisecond
)

const shardsPerListing = 1000 // a page of ListShards (Kinesis API reference)

// tellAcks is how often the records of a shard are acknowledged. All shards are busy.
const tellAcks = time.Second

// worker is a process with one member in it, and the engine's shell around it.
type worker struct {
	g      *group
	id     string
	member *lease.Member
	gone   bool   // crashed, or left
	left   func() // called when the member is done, if set
	wakeAt time.Duration

	open map[string]*grant

	calls   int        // under way
	waiting [2][]*call // for a place: writes, reads; each in their order
}

type grant struct {
	token int64
	acked lease.Position
	told  time.Duration
}

// start starts a process.
func (g *group) start() *worker {
	g.started++
	w := &worker{g: g, open: map[string]*grant{}}
	w.id = fmt.Sprintf("billing-%08x-%05d/1@%08x", g.rng.Uint32(), g.started, g.rng.Uint32())
	cfg := g.config
	cfg.ID = w.id
	w.member = lease.NewMember(cfg)
	g.workers = append(g.workers, w)
	g.after(0, func() { w.step(lease.Tick{}) })
	return w
}

func (w *worker) clock() lease.Time { return lease.Time(w.g.now) + 1 }

// step tells the member something and does what it wants.
func (w *worker) step(ev lease.Event) {
	if w.gone {
		return
	}
	for _, action := range w.member.Step(w.clock(), ev) {
		w.do(action)
	}
	w.setTimer()
}

// setTimer makes sure of a tick at the member's wake time.
func (w *worker) setTimer() {
	at := max(time.Duration(w.member.Wake()-1), w.g.now)
	if w.gone || w.wakeAt > w.g.now && w.wakeAt <= at {
		return // an earlier one is set; it will set the next
	}
	w.wakeAt = at
	w.g.after(at-w.g.now, func() {
		if w.wakeAt == at {
			w.wakeAt = 0
			w.tick()
		}
	})
}

// tick tells the member how far the shards have come, as the engine does, and that time has passed.
func (w *worker) tick() {
	if w.gone {
		return
	}
	due := make([]string, 0, len(w.open))
	for shard, o := range w.open {
		if w.g.now >= o.told+tellAcks {
			due = append(due, shard)
		}
	}
	slices.Sort(due)
	for _, shard := range due {
		if o := w.open[shard]; o != nil {
			o.told, o.acked = w.g.now, w.g.position()
			w.step(lease.Acked{Shard: shard, Token: o.token, Position: o.acked})
		}
	}
	w.step(lease.Tick{})
}

func (w *worker) do(action lease.Action) {
	g := w.g
	switch a := action.(type) {
	case lease.ReadMembers:
		w.call(&call{class: read, limit: shortCall,
			late:  func() lease.Event { return lease.MembersRead{Consistent: a.Consistent, Err: errTimeout} },
			serve: func() response { return w.serveMembers(a.Consistent) },
		})
	case lease.ReadLeases:
		reading := &reading{w: w, items: g.buffer()}
		w.call(&call{class: read, limit: longCall,
			late:  func() lease.Event { return lease.LeasesRead{Items: reading.items, Err: errTimeout} },
			serve: reading.page,
		})
	case lease.WriteItem:
		class := write
		if a.Write.Item.Key.Kind == lease.KindWorker {
			class = urgent
		}
		w.call(&call{class: class, limit: shortCall,
			late: func() lease.Event {
				return lease.Written{Key: a.Write.Item.Key, Outcome: lease.Unknown, Err: errTimeout}
			},
			serve: func() response { return w.serveWrite(a.Write) },
		})
	case lease.ListShards:
		pages := 1 + (len(g.shards)-1)/shardsPerListing
		g.after(time.Duration(pages)*g.between(minListing, maxListing), func() { w.step(lease.Listed{Shards: g.shards}) })
	case lease.Open:
		w.open[a.Shard] = &grant{token: a.Token, acked: a.Position, told: g.now}
		g.opened(a.Shard, w)
	case lease.Drain:
		o := w.open[a.Shard]
		g.after(g.between(0, maxHandler), func() {
			w.close(a.Shard, o)
			w.step(lease.Drained{Shard: a.Shard, Token: a.Token, Position: o.acked})
		})
	case lease.Close:
		w.close(a.Shard, w.open[a.Shard])
	case lease.Done:
		w.gone = true
		if a.Err != nil {
			g.fenced++
		}
		if w.left != nil {
			w.left()
		}
	}
}

func (w *worker) serveMembers(consistent bool) response {
	items, ok := w.g.table.readMembers(w.g.now, consistent)
	return response{answer: lease.MembersRead{Items: items, Consistent: consistent}, throttled: !ok}
}

func (w *worker) serveWrite(write lease.Write) response {
	was, answer, ok := w.g.table.write(w.g.now, write)
	if ok && answer.Outcome == lease.Landed {
		w.g.noteMove(was, answer.Item)
	}
	return response{answer: answer, throttled: !ok}
}

// reading is a read of the leases, page by page.
type reading struct {
	w     *worker
	items []lease.Item
	last  lease.Key // of the page before
}

func (r *reading) page() response {
	g := r.w.g
	items, last, ok := g.table.readLeases(g.now, r.last, r.items)
	if !ok {
		return response{throttled: true}
	}
	r.items, r.last = items, last
	response := response{takes: g.between(0, maxPage)}
	if last == (lease.Key{}) {
		response.answer = lease.LeasesRead{Items: r.items}
	}
	return response
}

// stop asks the worker to stop, and calls left when it has.
func (w *worker) stop(left func()) {
	w.left = left
	w.step(lease.Stop{})
}

// close ends the reading of a shard, if the grant is the one that is open.
func (w *worker) close(shard string, o *grant) {
	if o != nil && w.open[shard] == o {
		delete(w.open, shard)
		w.g.closed(shard)
	}
}

// crash ends a process without a word.
func (w *worker) crash() {
	w.gone = true
	for shard, o := range w.open {
		w.close(shard, o)
	}
}
