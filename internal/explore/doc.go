// Package explore exhausts small groups: every state that a few workers, a store and a few faults can reach within
// some ticks, by the very code that runs in production (lease.Member.Step). The simulator (internal/sim) draws
// long runs of large groups at random; this package leaves out nothing, in a small world.
//
// A state is: the members; the store's items; the messages between them; the writes whose senders have given them up, and
// which may still be applied; the handlers; the clocks. Time is discrete: a tick of the world is
// one heartbeat, the failover time three. Time is a transition of its own, and part of the state: a run ends at the
// horizon.
//
// # What is left to chance, and what is not
//
// Free are: the order in which workers act within a tick; what a handler's start, as soon as it may, comes before and
// after in that tick; when it returns, if ever; when time goes on, once every running worker has done what its timer was
// set for. All else is a fault, and each configuration says how many a run may have, of each kind (Limits) and of all
// (Faults): a message that stays under way (then it is free when it is applied, and when its answer comes, up to a
// tick later, or any time if its worker pauses), an answer that is lost, a write that is given up and may be applied at
// any later moment, a stale read, a crash, a pause of any length, a clock that misses a tick, a clean stop, a lease that
// somebody deletes or writes. A message that suffers no fault is answered at once, before anything else happens. So
// "exhausted" means: every run with no more than these faults, up to the horizon.
//
// # What is checked
//
// The names of the invariants are the simulator's; see checks.go. From a share of the states at the horizon, a suffix without
// faults follows, at whose end all is owned, handled and written down.
//
// # How it is fast enough
//
// States share what is the same in them: members, stores, messages. A step of a member is done once for each
// pair of a member's state and an event. Of a state that was seen only a hash of 64 bits is kept; a trace is
// found again by parent pointers and taken anew. The states that are still to be followed are kept whole. Two
// states whose hashes collide are taken for one: with n states, one is lost with a chance of about n*n/2^65.
//
// # Commands
//
//	go test ./internal/explore -run TestExplore -v                     what CI runs
//	... -explore.states=-1 -explore.config=merge                       all states of one configuration
//	... -explore.faults=2 -explore.only=slow,pause                     up to two faults, of these kinds
//	go test ./internal/explore -run TestPlantedBugs -v -explore.traces the shortest way to each planted bug
//	go test -overlay=x.json ./internal/explore -run TestExplore        a patched protocol: fails with the invariant's name
package explore
