// Package fetch reads Kinesis: it lists a stream's shards and reads the shards that this worker
// holds, one Reader each.
//
// # What a reader promises
//
//   - It tells every record after its start, in order, each once, until it is rewound.
//   - It never gives a shard up. Throttling, server errors, time-outs and a dead network are tried again
//     with back-off; a missing permission or a disabled key is tried again each minute. Config.Notice hears of
//     what does not pass.
//   - It never takes an error for the end of a shard. A shard ends when an answer says so, and the
//     records of that answer come first.
//   - It never loses its place in silence: where records may have passed out of retention, or the
//     service does not know the place, Next says so.
//   - It holds no byte that the budget has not granted: see MeteredHTTP.
//
// # How a reader works
//
// It has no goroutine but one for each call, which ends with it. Next runs in the caller's, and waits:
//
//	          open at the place              answer with records
//	(no iterator) ----------> (iterator) ------------------------> Batch
//	      ^                       |  ^ empty, or nothing new          |
//	      |   expired, rewound    |  +--------------------------------+
//	      +-----------------------+
//
// A place is opened with AT_SEQUENCE_NUMBER and the records up to it are dropped, never with
// AFTER_SEQUENCE_NUMBER: the record of the place then shows that nothing was trimmed in between, a place
// inside an aggregated record needs the record again, and the last record of a closed shard is a
// place like any other.
package fetch
