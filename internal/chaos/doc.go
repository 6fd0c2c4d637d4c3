// Package chaos runs groups of real worker processes against servers on the loopback address, harms the
// processes and their connections by a plan that a seed makes, and judges what the handlers did.
//
//	go test ./internal/chaos -run TestChaos -v -timeout 0 -chaos.for=10m -chaos.seed=7
//
// A worker is this package's test binary, started again: leat.Run with the public API and nothing else. Each worker
// reaches Kinesis and DynamoDB through a proxy of its own each (proxy.go), which can cut, reset or slow its
// connections down, swallow answers, or leave connections half open; or, in TestChaos/netns, from a network namespace of
// its own through a wire (wire.go) that loses and delays packets. The servers are local's, or npm's kinesis-local and
// dynalite, behind fronts that can be restarted (front.go). Handlers write a line for each record to one journal
// (journal.go); the oracle (oracle.go) compares it with what was put, and knows nothing of leat's own books.
//
// What it measures, and what came out, is in docs/chaos.md. It is for Unix: it needs SIGSTOP.
package chaos
