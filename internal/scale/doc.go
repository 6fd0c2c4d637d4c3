// Package scale measures groups of many sizes: the real lease.Member, hundreds of them, on a model of the lease table and
// in virtual time. It asks how long changes take, how many leases move, and what DynamoDB bills.
//
// It is no second simulator: there are no faults, and nothing is checked at each event. internal/sim looks for wrong
// states of small groups; this package looks for slow and dear ones of large groups. One seed is one run.
//
// # What is modelled
//
//   - The bill: each call of store/dynamo costs the units that DynamoDB counts (billing.go). A test compares them with
//     those of the real store's calls.
//   - What a partition gives: 1,000 write units and 3,000 read units a second. All items of a group have one hash key, and so
//     lie in one partition until a load of minutes has made DynamoDB split it: a run has as many as its writes at rest need, and
//     they share their load evenly, which is kind. A request that finds nothing left is throttled.
//   - The calls (call.go): 16 at one time for each worker, writes first, workers' own items at once; pauses and repetitions
//     after throttling; the time in which an answer must be there. As in store/dynamo and internal/engine.
//   - The shards: all are busy, so that each is checkpointed every 5 s.
//
// What it leaves out: faults, stale reads, and the time that steps take: a worker is as fast as it needs to be.
//
// # Commands
//
//	go test ./internal/scale                                                    small groups, with checks
//	go test ./internal/scale -run TestTable -v -timeout 0 -scale.table          the tables of docs/scale.md
//	go test ./internal/scale -run TestTable -v -scale.table -scale.only 1000x20 one row
package scale
