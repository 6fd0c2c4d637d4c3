package sim

import (
	"time"

	"github.com/leatstream/leat/lease"
)

// The healing phase: faults cease, and things must come right in time.
const (
	stopProducing = 20 * time.Second  // after the faults
	quietFrom     = 105 * time.Second // from here on nothing is left to do: who was stopping may join after 30 s, and what it gets then rests
	stopAll       = 145 * time.Second // everybody is asked to stop
	healingSpan   = 155 * time.Second

	// maxIdle is how long a ready shard may be without a live owner: a silent worker's patience, a look and a
	// few calls (L1 of the reference).
	maxIdle = 9 * time.Second
)

// healing checks what must come true once the faults cease: L1, L2, L3, L5 and L6 of doc.go.
type healing struct {
	w     *world
	slack time.Duration // what is left of expired shards takes some audits to be tidied up
	quiet bool

	lateBeat time.Duration // a heartbeat came late, of a worker that was dead by then: its patience begins anew
	beats    int           // heartbeats while quiet
}

func (h *healing) begin() {
	w := h.w
	w.note("", "", "the faults cease")
	w.faults.healed = true
	w.calmSince = 0
	for _, host := range w.hosts {
		if p := host.process; p == nil && host.spare {
			continue
		} else if p == nil {
			w.after(w.between(0, time.Second), "boot", host.boot)
		}
	}
	h.watch()
	w.after(stopProducing, "quiet", func() { w.stream.quiet = true })
	w.after(h.slack+quietFrom, "settled", func() {
		h.caughtUp()
		h.balanced()
		h.quiet = true
	})
	w.after(h.slack+stopAll, "stop all", func() {
		if limit := len(w.hosts) * int((stopAll-quietFrom)/w.cfg.Heartbeat+2); h.beats > limit {
			w.violate("L3 stable", "", "", "%d heartbeats while all is quiet, at most %d are due", h.beats, limit)
		}
		h.quiet, w.stopped = false, true
		for _, host := range w.hosts {
			if host.process != nil {
				host.process.stop()
			}
		}
	})
}

// watch looks at the owners each second (L1).
func (h *healing) watch() {
	w := h.w
	if w.stopped {
		return
	}
	for _, sh := range w.stream.shards {
		switch {
		case !h.ready(sh) || sh.trimmed || w.onHold(sh) || h.waits(sh) || h.owned(sh):
			sh.idleSince = -1
		case sh.idleSince < 0:
			sh.idleSince = w.now
		case w.now-max(sh.idleSince, h.lateBeat) > maxIdle:
			item, _ := w.store.lease(sh.id)
			w.violate("L1 owned", sh.id, "", "ready since %v, and without a live owner: %s", sh.idleSince, describe(item))
		}
	}
	// A process that was stopping when the faults ceased comes back in its own time.
	for _, host := range w.hosts {
		if host.process == nil && !host.spare {
			host.boot()
		}
	}
	w.after(time.Second, "watch", h.watch)
}

// waits says whether the shard's lease, or that of a parent, was deleted by hand and has to be made again first; and the
// parent has to be finished again, which takes a newcomer a minute if the stream lists it no longer.
func (h *healing) waits(sh *shard) bool {
	waits := sh.byHand.missing
	for _, p := range sh.parents {
		item, found := h.w.store.lease(p.id)
		waits = waits || p.byHand.missing || p.byHand.era > 0 && found && !item.Lease.Checkpoint.IsShardEnd()
	}
	return waits && h.w.now < h.w.opt.Span+h.slack
}

// ready says whether the shard is one that somebody should own now.
func (h *healing) ready(sh *shard) bool {
	if sh.endedAt > 0 || !h.w.stream.startKnown {
		return false
	}
	ready := true
	for _, p := range sh.parents {
		ready = ready && p.endedAt > 0
	}
	return sh.everRoot || ready && len(sh.parents) > 0
}

func (h *healing) owned(sh *shard) bool {
	item, found := h.w.store.lease(sh.id)
	return found && h.w.runs(item.Lease.Owner)
}

// runs says whether a member of this id is at work.
func (w *world) runs(id string) bool {
	for _, host := range w.hosts {
		if p := host.process; p != nil && p.member != nil && p.id == id {
			return true
		}
	}
	return false
}

// balanced looks whether no worker has two shards more than another (L2).
func (h *healing) balanced() {
	w := h.w
	counts := map[string]int{}
	var ids []string
	for _, host := range w.hosts {
		if p := host.process; p != nil && p.member != nil {
			ids = append(ids, p.id)
		}
	}
	for _, sh := range w.stream.shards {
		if item, found := w.store.lease(sh.id); found && item.Lease.Owner != "" {
			counts[item.Lease.Owner]++
		}
	}
	for _, a := range ids {
		for _, b := range ids {
			if counts[a]-counts[b] > 1 {
				w.violate("L2 balanced", "", a, "it has %d shards, %s has %d", counts[a], b, counts[b])
				return
			}
		}
	}
}

// caughtUp looks whether all was handled (L5).
func (h *healing) caughtUp() {
	w := h.w
	if !w.stream.startKnown {
		w.violate("L5 caught up", "", "", "nobody made the control item")
		return
	}
	for _, sh := range w.stream.shards {
		for i := range sh.records {
			w.check.noGap(sh, "", i, i+1)
			if r := &sh.records[i]; !r.acked && !r.expired {
				item, _ := w.store.lease(sh.id)
				w.violate("L5 caught up", sh.id, item.Lease.Owner, "record %d of %d (key %d, number %d): handed out %v, handled %v; the lease: %s",
					i, len(sh.records), r.key, r.n, r.handed, r.finished, describe(item))
				return
			}
		}
		if sh.closed && sh.everCreated && sh.endedAt == 0 {
			w.violate("L5 caught up", sh.id, "", "closed, handled, and without SHARD_END")
		}
		if _, found := w.store.lease(sh.id); !found && !sh.closed {
			w.violate("S14 hygiene", sh.id, "", "open, and without a lease")
		}
	}
}

// written is told of every write that the store takes (L3). A finished lease may go at any time.
func (h *healing) written(sender string, wr lease.Write) {
	if wr.Item.Key.Kind == lease.KindWorker && !h.w.runs(sender) {
		h.lateBeat = h.w.now
	}
	switch {
	case !h.quiet || wr.Op == lease.Delete:
	case wr.Item.Key.Kind == lease.KindWorker:
		h.beats++
	default:
		h.w.violate("L3 stable", wr.Item.Key.Shard, sender, "%v %s though all is quiet", wr.Op, wr.Item.Key)
	}
}

// conflict is told of every refused write; moved, of every change of owner (L3).
func (h *healing) conflict(sender string, wr lease.Write) {
	if h.quiet {
		h.w.violate("L3 stable", wr.Item.Key.Shard, sender, "%v %s is refused though all is quiet", wr.Op, wr.Item.Key)
	}
}

func (h *healing) moved(sh *shard, from, to string) {
	if h.quiet {
		h.w.violate("L3 stable", sh.id, to, "the lease moves from %q to %q though all is quiet", from, to)
	}
}

// final looks at what a clean stop of everybody left (L6).
func (h *healing) final() {
	w := h.w
	for _, host := range w.hosts {
		if host.process != nil {
			w.violate("L6 stop", "", host.process.id, "still there %v after it was asked to stop", healingSpan-stopAll)
		}
	}
	for _, sh := range w.stream.shards {
		item, found := w.store.lease(sh.id)
		switch {
		case !found:
		case item.Lease.Owner != "" && !sh.touched:
			w.violate("L6 stop", sh.id, item.Lease.Owner, "the lease was not released: %s", describe(item))
		case sh.checkpoint < len(sh.records) && !sh.records[len(sh.records)-1].skipped:
			w.violate("L6 stop", sh.id, "", "%d records are handled, the checkpoint is at %d: %s", len(sh.records), sh.checkpoint, describe(item))
		}
	}
}
