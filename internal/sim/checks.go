package sim

import (
	"fmt"
	"slices"

	"github.com/leatstream/leat/lease"
)

// checks looks at every write that the store applies and at every start of a handler, knowing the truth.
// The table of what is checked stands in doc.go.
type checks struct {
	w         *world
	violation *Violation
	toldRound int // of told, which looks at no shard twice
}

// violate ends the run; the first violation counts.
func (w *world) violate(invariant, shard, worker, format string, args ...any) {
	if w.check.violation == nil {
		w.check.violation = &Violation{
			Options: w.opt, Invariant: invariant, At: w.now, Shard: shard, Worker: worker,
			Detail: fmt.Sprintf(format, args...),
		}
		if w.tracing() {
			w.note(shard, worker, "VIOLATION of %s: %s", invariant, w.check.violation.Detail)
			w.check.violation.Trace = w.trace.about(w.stream, shard, worker)
		}
	}
}

// applied looks at a write that the store has taken.
func (c *checks) applied(sender string, wr lease.Write, old lease.Item, found bool, item lease.Item) {
	key := wr.Item.Key
	c.foreign(sender, wr, old, item)
	if wr.Op == lease.Update && (!found || old.Counter != wr.Counter || old.Lease.Owner != wr.Owner) {
		c.w.violate("S4 fencing", key.Shard, sender, "%s was at counter %d, owner %q; the writer knew counter %d, owner %q",
			key, old.Counter, old.Lease.Owner, wr.Counter, wr.Owner)
	}
	if wr.Op == lease.Update && item.Counter != old.Counter+1 {
		c.w.violate("S5 counter", key.Shard, sender, "%s went from counter %d to %d", key, old.Counter, item.Counter)
	}
	switch key.Kind {
	case lease.KindControl:
		record, ok := item.Control.Stream(c.w.cfg.Stream)
		if ok && !c.w.stream.startKnown {
			c.w.stream.begin(record.Start)
		}
		if wr.Op == lease.Delete || c.w.stream.startKnown && (!ok || record.Start != c.w.stream.start) {
			c.w.violate("start", "", sender, "the group began at %v, the control item says %v", c.w.stream.start, record.Start)
		}
	case lease.KindWorker:
		c.workerWritten(sender, key.Worker, wr, old, item)
	case lease.KindLease:
		sh := c.w.stream.byID[key.Shard]
		if sh == nil && isForeign(key) {
			return
		}
		if sh == nil {
			c.w.violate("S14 hygiene", key.Shard, sender, "lease of a shard that is not there")
			return
		}
		if c.w.stream.recreated && wr.Op == lease.Create && item.Lease.Root {
			c.w.violate("S14 hygiene", key.Shard, sender, "%v after the stream was made again under its name: %s", wr.Op, describe(item))
		}
		switch wr.Op {
		case lease.Create:
			c.created(sender, sh, item)
		case lease.Update:
			c.updated(sender, sh, old, item)
			c.believers(sh, item)
		case lease.Delete:
			c.deleted(sender, sh, old)
		case lease.SetHold:
			c.held(sender, sh, old, item)
		}
	}
}

func (c *checks) workerWritten(sender, id string, wr lease.Write, old, item lease.Item) {
	was, is := old.Worker.State, item.Worker.State
	legal := false
	switch wr.Op {
	case lease.Create:
		legal = sender == id && is == lease.Alive
	case lease.Update:
		legal = lives(was) && (is >= was) && (sender == id) == (is != lease.Fenced)
	case lease.Delete:
		legal = !lives(was)
	}
	if !lives(is) {
		c.w.final[id] = true
	}
	if !legal {
		c.w.violate("S5 counter", "", id, "%v of worker %s by %s: %v to %v", wr.Op, id, sender, was, is)
	}
}

// lives says whether a worker in this state may hold leases.
func lives(s lease.WorkerState) bool { return s == lease.Alive || s == lease.Leaving }

func (c *checks) created(sender string, sh *shard, item lease.Item) {
	l := item.Lease
	if sh.checkpoint > 0 || sh.endedAt > 0 && !sh.byHand.missing {
		c.w.violate("S2 monotone", sh.id, sender, "lease made again at %v; %d records are below a checkpoint", l.Checkpoint, sh.checkpoint)
	}
	want := lease.TrimHorizon()
	if l.Root {
		want = c.w.stream.start
		sh.everRoot = true
	}
	if l.Checkpoint != want || l.Owner != "" || !slices.Equal(l.Parents, names(sh.parents)) {
		c.w.violate("S8 children", sh.id, sender, "made as %s, want checkpoint %v, parents %v", describe(item), want, names(sh.parents))
	}
	sh.everCreated, sh.byHand.missing = true, false
}

func (c *checks) updated(sender string, sh *shard, old, item lease.Item) {
	w, was, is := c.w, old.Lease, item.Lease
	sh.touched = sender == operator
	if is.Owner != "" && (is.Owner != was.Owner || is.Checkpoint == was.Checkpoint) {
		sh.takes = append(sh.takes, take{owner: is.Owner, token: item.Counter, era: sh.byHand.era, life: w.life, hold: is.Hold.ID})
	}
	if is.Owner != was.Owner {
		if w.calmSince > 0 && w.now > w.calmSince {
			w.violate("L7 outage", sh.id, sender, "the owner changes from %q to %q, though nothing happened but short outages", was.Owner, is.Owner)
		}
		if is.Owner != "" {
			w.res.Takes++
		}
		if is.Owner != "" && was.Owner == sender {
			w.restless = w.now + rest
		}
		if was.Owner != "" && was.Owner != sender && w.alive(was.Owner) && !w.final[was.Owner] {
			w.violate("S5 counter", sh.id, sender, "taken from %s, which is alive and has not been fenced", was.Owner)
		}
		if is.Owner != "" && is.Owner != sender && was.Owner != sender {
			w.violate("S5 counter", sh.id, sender, "given to %s by a worker that did not own it", is.Owner)
		}
		if is.Owner != "" && was.Checkpoint.IsShardEnd() {
			w.violate("S5 counter", sh.id, sender, "taken after its end")
		}
		if w.moved != nil && is.Owner != "" {
			w.moved(sh, is.Owner)
		}
		w.heal.moved(sh, was.Owner, is.Owner)
	}
	if is.Checkpoint == was.Checkpoint {
		return
	}
	if sender == operator {
		c.sought(sh, item.Counter, was, is)
		return
	}
	if was.Owner != sender {
		w.violate("S4 fencing", sh.id, sender, "checkpoint moved from %v to %v, but the owner is %q", was.Checkpoint, is.Checkpoint, was.Owner)
	}
	if is.Checkpoint.Compare(was.Checkpoint) < 0 || sh.index(is.Checkpoint) < sh.checkpoint {
		w.violate("S2 monotone", sh.id, sender, "checkpoint went back from %v to %v", was.Checkpoint, is.Checkpoint)
	}
	upTo := sh.index(is.Checkpoint)
	c.noGap(sh, sender, sh.checkpoint, upTo)
	for i := sh.checkpoint; i < upTo; i++ {
		if r := &sh.records[i]; !r.settled() {
			w.violate("S3 loss", sh.id, sender, "checkpoint %v is past record %d (key %d, number %d): handed out %v, handler returned %v, acknowledged %v",
				is.Checkpoint, i, r.key, r.n, r.handed, r.finished, r.acked)
			return
		}
	}
	sh.checkpoint, sh.everBegun = max(sh.checkpoint, upTo), true
	if is.Checkpoint.IsShardEnd() {
		c.ended(sender, sh)
	}
}

func (c *checks) ended(sender string, sh *shard) {
	w := c.w
	if !sh.closed {
		w.violate("S3 loss", sh.id, sender, "SHARD_END of an open shard")
	}
	for _, child := range sh.children {
		if _, found := w.store.lease(child.id); !found && !child.trimmed && child.byHand.era == 0 {
			w.violate("S8 children", sh.id, sender, "SHARD_END before child %s has a lease", child.id)
		}
	}
	sh.endedAt = w.now
	w.after(w.between(w.cfg.Relist, 3*w.cfg.Relist), "trim", func() { w.stream.trim(sh) })
}

func (c *checks) deleted(sender string, sh *shard, old lease.Item) {
	begun := len(sh.children) > 0
	for _, child := range sh.children {
		begun = begun && (child.everBegun || child.byHand.era > 0) // it may have begun before that
	}
	if !old.Lease.Checkpoint.IsShardEnd() || !begun && !sh.trimmed {
		c.w.violate("S14 hygiene", sh.id, sender, "lease removed: %s; children begun %v, past its retention %v", describe(old), begun, sh.trimmed)
	}
	for _, child := range sh.children {
		if child.byHand.missing {
			// Whoever removed it remembers the child's lease. Without both an audit finds a shard without a reader, and
			// makes its lease again, as if it had been deleted by hand, too.
			c.w.forget(sh, false)
			c.w.forgetParents(sh)
			return
		}
	}
}

// alive says whether a member is one that may hold leases, in the store's truth.
func (w *world) alive(id string) bool {
	item, found := w.store.get(lease.WorkerKey(id))
	return found && lives(item.Worker.State)
}
