package sim

import "time"

// L4: no want and no drain hangs.

// drainLimit is how long a drain may take, from when it was asked for to the end of the epoch: the drain
// itself, the time in which a silent worker would be found out, and a look.
const drainLimit = drainTimeout + drainGrace + 7*time.Second + pollInterval

// wantLimit is how long a want may stand in any case, but for disputes. A lease that has moved rests for a minute, and one that the stream says
// it does not know is in doubt for as long. Those who saw it leave it out of their plans. A worker that has joined
// since cannot know: it may ask for what nobody may give yet, while an owner that could give something plans to
// give it to another newcomer, who does not ask for it. When the minute is over all plans are the same again; so from
// then on a want stands no longer than a drain.
const wantLimit = rest + drainLimit

// rest is how long a lease stays where it has been moved to.
const rest = time.Minute

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

// disputed says whether there is an unfinished lease of a shard that passed its retention. If nobody has it, a newcomer leaves it alone until it has
// had a minute to trust the listing, while the others' plans give it to him. If somebody has it, he waits as long before he finishes
// it, and those whose listings are older or newer do not agree whether its descendants may be read (seed 665 of an hour). Nobody balances before all
// that he thinks may be read is owned.
func (w *world) disputed() bool {
	for _, sh := range w.stream.shards {
		if item, found := w.store.lease(sh.id); found && sh.trimmed && !item.Lease.Checkpoint.IsShardEnd() {
			return true
		}
	}
	return false
}

func (w *world) watchWants() {
	if w.disputed() {
		w.disputedAt = w.now
	}
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
			agreed := max(since, w.disputedAt)
			if w.now-agreed > wantLimit || w.now-max(agreed, w.restless) > drainLimit {
				w.violate("L4 drains", "", h.key.Worker, "it wants %s since %v", lease, since)
			}
		}
	}
	w.wants = seen
}
