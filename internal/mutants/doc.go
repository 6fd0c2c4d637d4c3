// Package mutants holds bugs that are planted into the protocol itself, and shows that the simulator finds each
// of them: tests that no bug fails prove nothing. First come the bugs of the programs that were there before.
//
// A mutant is a file in testdata: what it is and who has it; the invariants of internal/sim that it breaks, one of
// which must find it; and the texts to replace, each of which stands exactly once in its file:
//
//	The deadline runs from the answer to a heartbeat (the Java KCL).
//	breaks: S1
//	within: 200
//	-- lease/heartbeat.go --
//	old text
//	-- to --
//	new text
//
// within is the number of seeds in which it must be found, 60 by default; test is the test of internal/sim that
// finds it, TestSeeds by default. A mutant that nothing can find says why under survives.
//
// Nothing is changed on disk: the simulator is built with -overlay. Some of them run with all tests, all of them by
//
//	go test ./internal/mutants -mutants.all
//
// Those in testdata/chaos are for internal/chaos: what they break is a word for what its oracle counts (lost, disorder,
// stale, repeats), harm has the kinds of harm that show it, lasts is for how long (8s by default), and within is the
// number of plans. One of them runs with all tests, all of them by
//
//	go test ./internal/mutants -run TestChaos -mutants.chaos -v
package mutants
