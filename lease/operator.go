package lease

import "fmt"

// What a tool of operators writes. All else is the workers' own; a tool that wants a change of a shard puts it on
// hold, tells the workers so (Announce), waits until the lease is free (or sees to it: Free), changes it, and removes the hold. Each
// step is one compare-and-swap that may be repeated after a lost answer (Write.Landed). A tool that is not
// done before its own count of Hold.For is over puts a new hold, or gives up.

// PutHold returns the write that puts a hold on the lease as it stands, in the place of the one that is there, if
// any. The zero Hold removes it: look whose it is (Hold.ID) first. h.Version does not count.
func PutHold(stands Item, h Hold) Write {
	h.Version = stands.Lease.Hold.Version + 1
	return Write{Op: SetHold, Item: Item{Key: stands.Key, Lease: Lease{Hold: h}}}
}

// Announce returns the write that makes every worker read the leases now: to the control item as it
// stands. If it conflicts, read the item again and repeat. Without it workers look once a minute.
func Announce(control Item) Write { return update(control, control) }

// Free returns the write that frees a lease whose owner is out for good: fenced, left, or without an item. While a worker
// lives, it does so itself for a lease on hold; a tool needs this when none does. members is the whole group, from
// a consistent read that began after stands was read (Store.Members): an owner who joined in between would be missing.
//
// It is an error if the owner may still be at work: it was not fenced and has not left.
func Free(stands Item, members []Item) (Write, error) {
	if stands.Key.Kind != KindLease {
		return Write{}, fmt.Errorf("freeing %s: it is no lease", stands.Key)
	}
	for _, item := range members {
		if owner := stands.Lease.Owner; item.Key == WorkerKey(owner) && (item.Worker.State == Alive || item.Worker.State == Leaving) {
			return Write{}, fmt.Errorf("freeing %s: worker %s has it and was not fenced: put the lease on hold, or wait until others have fenced the worker", stands.Key, owner)
		}
	}
	free := stands
	free.Lease.Owner = ""
	return update(stands, free), nil
}

// Seek returns the write that moves the checkpoint of a free lease, on which the caller has the hold with this
// id: whoever takes the lease next goes on behind the position, be it before or after the old one. That
// checkpoints never move back is a promise about workers; this is an operator's explicit wish, with its own compare-and-swap.
//
// It is an error if the lease is not free or not on this hold; if it is finished, or the position is
// LATEST or SHARD_END; or if it waits for its parents: moving it would not keep the order of keys.
func Seek(stands Item, hold string, to Position) (Write, error) {
	l := stands.Lease
	fail := func(why string, args ...any) (Write, error) {
		return Write{}, fmt.Errorf("seek of %s to %v: %s", stands.Key, to, fmt.Sprintf(why, args...))
	}
	switch {
	case stands.Key.Kind != KindLease:
		return fail("it is no lease")
	case l.Hold.ID == "" || l.Hold.ID != hold:
		return fail("put a hold on it first; its hold is %q", l.Hold.ID)
	case l.Owner != "":
		return fail("%s has it: wait until it is free", l.Owner)
	case l.Checkpoint.IsShardEnd():
		return fail("the shard is finished, and its children may have begun")
	case to.IsLatest() || to.IsShardEnd():
		return fail("want a sequence number, a time, or TRIM_HORIZON")
	case !l.Root && !l.Checkpoint.Begun():
		return fail("the shard has not begun: it may still wait for its parents")
	}
	moved := stands
	moved.Lease.Checkpoint = to
	moved.Lease.OwnerSwitches = 0
	// What has begun waits for no parents, and its ancestors are past. At a time, or at TRIM_HORIZON, only a root
	// says so: else the ancestors' leases, gone by now, would be made again.
	moved.Lease.Root = l.Root || !to.Begun()
	return update(stands, moved), nil
}
