package sim

import "time"

// L4: no want and no drain hangs.

// drainLimit is how long a drain may take, from when it was asked for to the end of the epoch: the drain
// itself, the time in which a silent worker would be found out, and a look.
const drainLimit = drainTimeout + drainGrace + 7*time.Second + pollInterval

// wantLimit is how long a want may stand. The owner may rest, or doubt, the lease for a minute: the receiver, which
// has joined later or has heard nothing from the stream, cannot know it and asks for nothing else.
const wantLimit = time.Minute + drainLimit

// want is a worker's wish for a lease.
type want struct{ worker, lease string }

// watchDrains looks each second at the drains and, once the faults have ceased, at the wants.
func (w *world) watchDrains() {
	for _, host := range w.hosts {
		if p := host.process; p != nil {
			w.watchGrants(p)
		}
	}
	if w.faults.healed {
		w.watchWants()
	}
	w.after(time.Second, "drains", w.watchDrains)
}

func (w *world) watchGrants(p *process) {
	// Time counts only while the process runs and reaches the store.
	hindered := max(p.pausedUntil, p.host.starvedUntil, p.host.storeOut.until, w.faults.storeOut.until)
	for _, g := range p.grants {
		switch {
		case g.drainedBy == 0:
		case w.now < hindered || p.storeID != w.store.id || g.readEnd || g.shard.trimmed: // what ends has to wait for its children's leases
			g.drainedBy = max(g.drainedBy, w.now+drainLimit)
		case w.now > g.drainedBy:
			w.violate("L4 drains", g.shard.id, g.owner, "the drain hangs; handler running %v, drained %v", g.running, g.drained)
		}
	}
}

func (w *world) watchWants() {
	seen := map[want]time.Duration{}
	for _, h := range w.store.members {
		item, found := w.store.get(h.key)
		if !found || !lives(item.Worker.State) || !w.runs(h.key.Worker) {
			continue
		}
		for _, lease := range item.Worker.Wants {
			key := want{h.key.Worker, lease}
			since, known := w.wants[key]
			if !known {
				since = w.now
			}
			seen[key] = since
			if w.now-since > wantLimit {
				w.violate("L4 drains", "", h.key.Worker, "it wants %s since %v", lease, since)
			}
		}
	}
	w.wants = seen
}
