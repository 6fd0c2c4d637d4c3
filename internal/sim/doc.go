// Package sim runs whole groups of workers, a store and a stream inside one event loop: the real lease
// protocol under crashes, pauses, partitions, lost and late answers, stale reads, clocks of different
// rates, resharding, retention, and people who write to the table by hand, in virtual time.
//
// One seed is one run: there is no goroutine, no wall clock and no order of a map in it. So a
// failing seed fails again. It is made as simple as it can be (shrink.go) and run again with its trace kept; what is
// printed are the last lines that concern the violation, and the command that writes all of them to a file.
//
//	go test ./internal/sim -run TestHours -sim.hours=10000 -count=1 -timeout 0 -v
//	go test ./internal/sim -run TestHours -sim.seed=1234
//
// A run of TestHours is a virtual hour of five workers on 16 to 25 open shards; one of TestSeeds, some minutes of a smaller
// group. Then the faults cease, and things must come right.
//
// Only lease.Member is under test here. The shell around it (shell.go, grant.go) is a small model of the
// engine, the store and the stream are models of the services.
//
// # What goes wrong
//
// Each seed draws its own mix of faults (faults.go): about half of the kinds are off in it, and the others strike more
// often or less. A quarter of the seeds begin with a calm time, in which nothing happens but short outages of the store.
//
//	the network   requests and answers are slow, lost, late by up to 30 s, and doubled; one worker is cut off from the store, or
//	              from the stream
//	the store     reads up to 2 s old, errors, throttling, outages; conflicts that come with the item, or without
//	the stream    five reads a second of a shard, less after an answer of 10 MiB or beside other readers; iterators that expire,
//	              empty answers, stale listings, ends without children; readers that stall; splits and merges, one by one
//	              and in bursts; records and shards that pass their retention
//	workers       crash, also in the middle of what a step wants; pause for up to ten failover times; get the processor seldom; stop,
//	              restart one after another, go all at once, or double their number under the same names; clocks of
//	              any origin, up to 0.1 % fast or slow
//	handlers      are slow, fail, hang, acknowledge late or never; records that fail again and again
//	people        touch, delete and restore leases; put them on hold, and move their checkpoints; other streams, other attributes
//
// A stream, or a store, that was made again under its name ends a group: these have runs of their own (scenario_test.go).
// There is no Java KCL beside the workers, since none can read this layout, and no fan-out, since leat polls: a subscription
// that stalls is a reader that does.
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
//	              no want stands longer, once no lease rests any more                            drains.go
//	L5 caught up  every record is handled and acknowledged, every closed shard is at its end     healing.go: caughtUp
//	L6 stop       a clean stop is quick, and leaves every lease free, with all that was handled
//	              in its checkpoint; a slow one keeps nobody waiting for the other leases        healing.go: final; scenario.go: slowLeaver
//	L7 outage     outages of the store that are shorter than the failover time less a heartbeat
//	              change no owner                                                                checks.go: updated, in calm times
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
