// Package wire reads the answers of GetRecords, in JSON or CBOR, straight into records.
//
// # The way of an answer
//
//	body -> window (64 KiB, used again) -> views of whole records -> chunks of payloads and strings
//	        reader.go                      json.go, cbor.go          collect.go, record.Memory
//
// The decoders are pure: bytes in, views of these bytes out. They stop at what is not whole yet, and are
// called again with more. So an answer is never in memory twice: beside its records there is one window.
// Records that follow each other share a chunk of 64 KiB for their payloads and a string of 16 KiB for their names; the last ones
// of an answer have what they need. So a record that is held pins a chunk, never all of the answer, and the records' sizes
// sum up to what they pin. Chunks, and the slices of records, are used again once their records are settled: see
// record.Memory. Cost bounds what an answer needs while it is read.
//
// Only a record that is larger than the window gets one of its own, and keeps it if it fills it.
//
// # The seam
//
// Protocol sits behind kinesis.Options.Protocol. It takes over the GetRecords calls whose context
// carries a Batch; everything else, and signing, retries, endpoints and errors, is the SDK's: an error that
// came as CBOR is given to the SDK as the JSON that it would have been.
//
// CBOR is asked for first; see Protocol for when JSON is.
package wire
