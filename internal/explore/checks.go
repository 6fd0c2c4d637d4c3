package explore

import (
	"slices"

	"github.com/leatstream/leat/lease"
)

// The invariants, by the names that the simulator uses:
//
//	S1 owner      whoever may start a handler owns the lease, in the store's truth, and nobody has fenced him
//	S2 monotone   a checkpoint never goes back, nor does the end of a shard revert
//	S3 loss       a checkpoint is never past a record that was not acknowledged
//	S4 fencing    only the lease's owner moves its checkpoint, on the counter that it knew
//	S5 counter    every write raises the counter by one; nobody's lease is taken before he is fenced or gone
//	S6 order      no record before the one before it was handled
//	S7 parents    no record of a child before its parents are at their end
//	S8 children   a shard's end is written when the leases of all its children are there
//	S9 clean      a lease that was drained is given back with all that was handed out in its checkpoint
//	S11 belief    an epoch begins where its lease says; a write changes nothing that it has no business with
//	S12 token     tokens grow from epoch to epoch
//	S14 hygiene   a lease goes only when it is finished and no longer needed
//	L1 owned      after the faults all is owned, handled and written down (heal.go)
//
// written looks at a write that the store takes.
func (t *turn) written(sender string, w lease.Write, old lease.Item, found bool, item lease.Item) {
	key := w.Item.Key
	if w.Op == lease.Update && item.Counter != old.Counter+1 {
		t.violate("S5 counter", "%s went from counter %d to %d", key, old.Counter, item.Counter)
	}
	switch key.Kind {
	case lease.KindWorker:
		t.workerWritten(sender, w, old, item)
	case lease.KindLease:
		shard := t.cfg.shardIndex(key.Shard)
		truth := &t.truth[shard]
		switch w.Op {
		case lease.Create:
			t.created(sender, shard, found, item)
		case lease.Update:
			t.updated(sender, shard, old, item)
			if old.Counter != w.Counter || old.Lease.Owner != w.Owner {
				t.violate("S4 fencing", "%s writes %s, which was at counter %d, owner %q; it knew counter %d, owner %q",
					sender, key, old.Counter, old.Lease.Owner, w.Counter, w.Owner)
			}
		case lease.Delete:
			t.deleted(sender, shard, old)
			*truth = withoutLease(*truth)
		}
	}
}

// withoutLease is what stays true of a shard whose lease is gone.
func withoutLease(truth truth) truth {
	truth.created = false
	truth.token, truth.started, truth.drained = 0, 0, 0 // counters begin anew
	return truth
}

func (t *turn) workerWritten(sender string, w lease.Write, old, item lease.Item) {
	was, is := old.Worker.State, item.Worker.State
	own := sender == w.Item.Key.Worker
	legal := false
	switch w.Op {
	case lease.Create:
		legal = own && is == lease.Alive && was == 0
	case lease.Update:
		legal = lives(was) && is >= was && own == (is != lease.Fenced)
		if is == lease.Fenced && old.Counter != w.Counter {
			legal = false // a heartbeat came in between
		}
	case lease.Delete:
		legal = !lives(was)
	}
	if !legal {
		t.violate("S5 counter", "%s: %v of worker %s, from %v to %v", sender, w.Op, w.Item.Key.Worker, was, is)
	}
}

// lives says whether a worker in this state may hold leases.
func lives(s lease.WorkerState) bool { return s == lease.Alive || s == lease.Leaving }

func (t *turn) alive(id string) bool {
	it := t.store.get(lease.WorkerKey(id))
	return it != nil && lives(it.Worker.State)
}

func (t *turn) created(sender string, shard int, found bool, item lease.Item) {
	truth, spec := &t.truth[shard], &t.cfg.Shards[shard]
	if found || truth.begun || truth.ended {
		t.violate("S2 monotone", "%s makes the lease of %s again at %v, though the shard has begun", sender, spec.ID, item.Lease.Checkpoint)
	}
	// An audit makes a lease that was lost again as a root: its parents are done.
	lost := truth.erased && !slices.ContainsFunc(spec.Parents, func(p int) bool { return !t.truth[p].ended })
	if item.Lease.Root && len(spec.Parents) > 0 && !lost || item.Lease.Checkpoint != lease.TrimHorizon() || item.Lease.Owner != "" ||
		!slices.Equal(item.Lease.Parents, t.cfg.shown(shard).Parents) {
		t.violate("S8 children", "%s makes the lease of %s with parents %v, root %v, at %v", sender, spec.ID, item.Lease.Parents, item.Lease.Root, item.Lease.Checkpoint)
	}
	truth.created = true
	truth.root = item.Lease.Root
}

func (t *turn) updated(sender string, shard int, old, item lease.Item) {
	truth, was, is, id := &t.truth[shard], old.Lease, item.Lease, t.cfg.Shards[shard].ID
	if is.Owner != was.Owner {
		switch {
		case was.Owner != "" && was.Owner != sender && t.alive(was.Owner):
			t.violate("S5 counter", "%s takes %s from %s, which is alive and has not been fenced", sender, id, was.Owner)
		case is.Owner != "" && is.Owner != sender && was.Owner != sender:
			t.violate("S5 counter", "%s gives %s, which it does not own, to %s", sender, id, is.Owner)
		case is.Owner != "" && was.Checkpoint.IsShardEnd():
			t.violate("S5 counter", "%s takes %s after its end", sender, id)
		}
		if was.Owner == sender && truth.drained == truth.token && truth.drained > 0 && !is.Checkpoint.IsShardEnd() && count(is.Checkpoint) < truth.upTo {
			t.violate("S9 clean", "%s drained %s at record %d, and gives it back at %v", sender, id, truth.upTo, is.Checkpoint)
		}
	}
	if is.Root != was.Root || !slices.Equal(is.Parents, was.Parents) || is.HashRange != was.HashRange {
		t.violate("S11 belief", "%s changes what it has no business with: %s", sender, id)
	}
	if is.Checkpoint == was.Checkpoint {
		return
	}
	upTo := count(is.Checkpoint)
	if was.Owner != sender {
		t.violate("S4 fencing", "%s moves the checkpoint of %s from %v to %v, but the owner is %q", sender, id, was.Checkpoint, is.Checkpoint, was.Owner)
	}
	if is.Checkpoint.Compare(was.Checkpoint) < 0 {
		t.violate("S2 monotone", "%s moves the checkpoint of %s back from %v to %v", sender, id, was.Checkpoint, is.Checkpoint)
	}
	if upTo == atEnd {
		t.ended(sender, shard)
	} else if upTo > truth.acked {
		t.violate("S3 loss", "%s moves the checkpoint of %s to %v, but only %d records were acknowledged", sender, id, is.Checkpoint, truth.acked)
	}
	truth.begun = true
}

func (t *turn) ended(sender string, shard int) {
	truth, spec := &t.truth[shard], &t.cfg.Shards[shard]
	if !spec.Closed || int(truth.acked) < spec.Records {
		t.violate("S3 loss", "%s writes SHARD_END of %s; closed %v, %d of %d records acknowledged", sender, spec.ID, spec.Closed, truth.acked, spec.Records)
	}
	for _, c := range spec.Children {
		if child := t.truth[c]; !child.created && !child.erased && !child.begun {
			t.violate("S8 children", "%s writes SHARD_END of %s before its child %s has a lease", sender, spec.ID, t.cfg.Shards[c].ID)
		}
	}
	truth.ended = true
}

func (t *turn) deleted(sender string, shard int, old lease.Item) {
	spec := &t.cfg.Shards[shard]
	begun := len(spec.Children) > 0
	for _, c := range spec.Children {
		begun = begun && t.truth[c].begun
	}
	if !old.Lease.Checkpoint.IsShardEnd() || !begun {
		t.violate("S14 hygiene", "%s deletes the lease of %s at %v; its children have begun: %v", sender, spec.ID, old.Lease.Checkpoint, begun)
	}
}

// started looks at a record that is about to be handed out.
func (t *turn) started(p *process, g *grant) {
	truth, spec := &t.truth[g.shard], &t.cfg.Shards[g.shard]
	if g.drained {
		t.violate("S9 clean", "%s hands out %s record %d after it was drained", p.id, spec.ID, g.handed+1)
	}
	if g.token < truth.started {
		t.violate("S12 token", "%s hands out %s under token %d after token %d", p.id, spec.ID, g.token, truth.started)
	}
	truth.started = g.token
	if g.handed > 0 && truth.handled&(1<<g.handed) == 0 {
		t.violate("S6 order", "%s hands out %s record %d before record %d was handled", p.id, spec.ID, g.handed+1, g.handed)
	}
	for _, parent := range spec.Parents {
		if !t.truth[parent].ended && !truth.root {
			t.violate("S7 parents", "%s hands out %s record %d before the end of its parent %s", p.id, spec.ID, g.handed+1, t.cfg.Shards[parent].ID)
		}
	}
}

// checkGates looks at every worker that may start a handler, whether it does so or not.
func (t *turn) checkGates() {
	for _, p := range t.procs {
		if p == nil {
			continue
		}
		for k := range p.grants {
			g := &p.grants[k]
			if !t.mayStart(p, g) {
				continue
			}
			id := t.cfg.Shards[g.shard].ID
			it := t.store.get(lease.LeaseKey(stream, id))
			switch {
			case it == nil || it.Lease.Owner != p.id:
				t.violate("S1 owner", "%s may start a handler of %s, but the lease is %s", p.id, id, t.describe(it))
			case !t.alive(p.id):
				t.violate("S1 owner", "%s may start a handler of %s, but it has been fenced or has left", p.id, id)
			}
		}
	}
}
