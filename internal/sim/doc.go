// Package sim runs whole groups of workers, a store and a stream inside one event loop: the real lease
// protocol under crashes, pauses, partitions, lost and late answers, stale reads, clocks of different
// rates and resharding, in virtual time.
//
// One seed is one run: there is no goroutine, no wall clock and no order of a map in it. So a
// failing seed fails again, and is run again with its trace kept:
//
//	go test ./internal/sim -run TestSeeds -sim.seed=1234
//
// Only lease.Member is under test here. The shell around it (shell.go, grant.go) is a small model of the
// engine, the store and the stream are models of the services. What must hold at every event stands in
// checks.go; what must come true once the faults cease, in healing.go.
package sim
