// Package lease is the heart of leat: who may read which shard, and how far a shard has been handled.
// It holds the items that a group keeps in its Store, the positions in them, and the protocol by
// which workers share shards out, as plain functions of their input: no clock, no goroutine, no lock,
// no randomness and no IO. The same code runs in production, in the simulator and in tests.
//
// # Vocabulary
//
// A group is a set of workers that share the shards of a stream. A worker is one incarnation of one
// process: its id is never used again. A lease is a shard's item in the store: its owner and its
// checkpoint. A checkpoint says that everything up to it has been handled. A heartbeat is a write to
// the worker's own item. A worker is fenced when another one has shut it out.
//
// # Who decides what
//
// The store decides: every write is a compare-and-swap on the item's counter, and raises it by one.
// So at most one worker can move a checkpoint between two changes of owner, and never back. What
// remains to be shown is that no two workers hand out records of one shard at one time:
//
//   - A worker hands records out only before its deadline: the reading of its own clock before the
//     first send of its last heartbeat that succeeded, plus the failover time D. Taking a lease or
//     writing a checkpoint proves nothing.
//   - An observer counts a worker's silence from after the answer that first showed its last
//     heartbeat. After D + max(2 % of D, 200 ms), the D of that worker, it fences it: one write to its
//     item, conditional on the heartbeat that it saw. Only then are its leases free.
//
// The deadline runs from before the send, the silence from after the answer; so the first ends before
// the second, whatever the clocks show, if their rates differ by less than 1 %. A worker past its
// deadline is suspended: it starts nothing; if its next heartbeat succeeds nobody was in between, and it
// goes on where it was.
//
//	          join                  heartbeat succeeds
//	absent ---------> alive <-----------------------------+
//	                  |   |                               |
//	                  |   +-- own deadline passes --> (suspended, in memory only)
//	    asked to stop |                                   |
//	                  v                                   |
//	               leaving ---- silent for D + 2 % -------+----> fenced
//	                  |
//	                  | all leases released
//	                  v
//	                left
//
// # Lost answers
//
// A write is absolute: it names every value that the item shall have. After any outcome but success
// or conflict the same write is sent again; if it then conflicts, and the item shows exactly the values
// of the write, it had landed. One write is outstanding per item and worker.
//
// # Resharding
//
// A shard's children get their leases, at TRIM_HORIZON, before the shard is marked SHARD_END. A child
// that has not begun waits until every parent is SHARD_END or no longer listed by the stream; a parent
// without a lease that is still listed blocks it. Leases made when the group first saw the stream are roots and
// wait for nobody.
//
// # Balance
//
// There is no leader. Every worker computes the same plan from what it read: free leases go to those
// that have least (Share); when none is free and nobody came or went for a while, leases go from
// those that have two more than another (Balance). A worker acts only on its own part of the plan.
//
//	receiver                                owner
//	writes its wants into its own item
//	                                        reads them; if its plan says the same: starts no further
//	                                        handler, waits for the running one, and in one write
//	                                        makes the final checkpoint and names the receiver as owner
//	reads that the lease is its own, and
//	writes once more (a new token) before
//	it reads on behind the checkpoint
//
// Only the owner ever gives a live lease up, so there is nothing to time out: an owner that crashes
// on the way is fenced, and so is a receiver that crashes before it claims. A lease that was moved so
// rests for a minute.
//
// # Operators
//
// A tool writes one thing only into what workers own: a Hold on a lease. It stands beside the lease's
// counter, so that it disturbs nobody's write, and has a version of its own. Its owner gives the lease
// back as at a clean stop, nobody takes it, and no plan moves it. Once the lease is free the tool changes it.
//
//	tool                                    workers
//	PutHold, Announce
//	                                        read the leases; the owner drains, and in one write makes
//	                                        the final checkpoint and frees the lease
//	reads that the lease is free: Seek
//	PutHold of the zero Hold, Announce
//	                                        one of them takes the lease, from where it stands
//
// If the tool crashes, the first worker whose count of Hold.For is over removes the hold. If the owner
// crashes, it is fenced, and the lowest-ranked worker frees the lease. A worker that did not see the hold and
// takes the lease is shown it by the answer, and gives the lease back without having read. A tool whose Seek
// conflicts starts over.
//
// # Failures
//
//	worker crashes              its leases move after the failover time, all of them at once
//	worker pauses               it is suspended; later it goes on, or learns that it was fenced
//	store out of reach          everybody is suspended, nobody is fenced on a view that stood still
//	answer lost, write late     repeated, recognised; the compare-and-swap makes a late one harmless
//	stale reads                 harmless: a counter never goes back in anybody's view
//	lease item changed by hand  the owner ends its epoch, at its next write or read of it, and takes again
//	                            from the item; if its counter was left as it was, the shard stands still
//	                            and says so (InvariantBroken): nobody can tell which of the two is right
//	lease item deleted          the owner ends its epoch, as above; two audits later the lease is made again,
//	                            from where the group began
//	records expire unread       told: by the reader, by the owner of a shard that is not listed any more,
//	                            and by whoever takes, or makes, the lease of a child of one that never had any
package lease
