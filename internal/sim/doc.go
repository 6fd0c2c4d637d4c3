// Package sim runs whole groups of workers, a store and a stream inside one event loop: the real lease
// protocol under crashes, pauses, partitions, lost and late answers, stale reads, clocks of different
// rates, resharding, retention, and people who write to the table by hand, in virtual time.
//
// One seed is one run: there is no goroutine, no wall clock and no order of a map in it. So a
// failing seed fails again, and is run again with its trace kept:
//
//	go test ./internal/sim -run TestSeeds -sim.seed=1234
//
// Only lease.Member is under test here. The shell around it (shell.go, grant.go) is a small model of the
// engine, the store and the stream are models of the services. Each seed draws its own mix of faults (faults.go):
// about half of the kinds are off in it.
//
// # What is checked
//
// A violation is named by the first word of its row. Each row has a planted bug in bugs.go that it must find.
// Safety, at every write that the store applies, every start of a handler and every answer:
//
//	S1 owner      a handler is started only by the lease's owner, whom nobody has fenced         handout.go: handOut, orphaned
//	S2 monotone   a checkpoint never goes back, nor does the end of a shard revert               checks.go: updated, created
//	S3 loss       no checkpoint passes a record whose handler has not returned, or which is not
//	              acknowledged, unless it has expired and somebody was told                      checks.go: updated, ended
//	S4 fencing    only the lease's owner moves its checkpoint, and on the counter that it knew   checks.go: applied, updated
//	S5 counter    every write raises the counter by one; nobody's lease is taken before he is
//	              fenced or gone                                                                 checks.go: applied, updated, workerWritten
//	S6 order      per key: no gap, no record before the handler of the one before it has
//	              returned; what is handed out again starts at the checkpoint                    handout.go: handOutRecord, firstHandOut
//	S7 parents    no record of a child before its parents are at their end                       handout.go: handOut
//	S8 children   a shard's end is written when the leases of all its children are there         checks.go: ended, created
//	S9 clean      a lease that was drained and released leads to no repeats                      handout.go: firstHandOut
//	S10 outcome   a write whose answer was lost is applied once, and ends as if it was answered  belief.go: concluded
//	S11 belief    what a worker believes of its lease is so, if counter and owner are as it knows belief.go: believes
//	S12 token     tokens grow from owner to owner                                                handout.go: handOut
//	S13 gap       what expired unread is told of before anything after it is handed out, and
//	              before a checkpoint passes it                                                  gap.go: noGap
//	S14 hygiene   a lease goes only when it is finished and no longer needed; open shards have one checks.go: deleted; healing.go: caughtUp
//	S15 foreign   unknown attributes and the items of others stay as they are                    foreign.go: storeAttributes, foreign
//	start         a group begins where its control item says, and at nothing before it           checks.go: applied; handout.go
//
// Liveness, once the faults have ceased (L4 and L7 at any time):
//
//	L1 owned      every ready shard has a live owner within 9 s                                  healing.go: watch
//	L2 balanced   no worker has two shards more than another; a lease that moved rests           healing.go: balanced; scenario.go: joins
//	L3 stable     once all is read, no lease moves, no write is refused, and nothing is written
//	              but heartbeats                                                                 healing.go: written, conflict, moved
//	L4 drains     no drain takes longer than its timeout, a silent worker's patience and a look;
//	              no want stands a minute longer than that                                       drains.go
//	L5 caught up  every record is handled and acknowledged, every closed shard is at its end     healing.go: caughtUp
//	L6 stop       a clean stop is quick, and leaves every lease free, with all that was handled
//	              in its checkpoint                                                              healing.go: final
//	L7 outage     outages of the store that are shorter than the failover time less a heartbeat
//	              change no owner                                                                checks.go: updated, in calm runs
//
// # What people do by hand
//
// They touch, delete and restore what the protocol relies on, so for a while some promises cannot hold; byhand.go
// says which, and for how long. A lease that was deleted is handed out from until its owner writes or looks
// (S1: a minute and a half, and never beside another owner). After a table was restored, old owners go on for at
// most the failover time, tokens go back (S12), and so do checkpoints (S2): all is handed out again, in order.
//
// What no reader can know is not held against it: records that expired before a shard was first read, from its
// horizon (Result.Untold).
package sim
