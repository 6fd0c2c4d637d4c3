// Package local is an Amazon Kinesis that lives in memory: a server that the
// real AWS SDKs talk to, for tests and for a laptop without a network.
//
//	srv := local.New(local.Config{})
//	client := kinesis.NewFromConfig(srv.AWSConfig())
//
// In process there is no socket: a call runs in the goroutine that makes it, so
// the server, the SDK and the code under test fit in one testing/synctest
// bubble and hours of retention pass in milliseconds. Serve and ListenAndServe
// offer the same server on a port, over HTTP/1.1 and unencrypted HTTP/2. Load
// fills it with streams and records, past all quotas.
//
// # What is real
//
// Records are routed by the MD5 of their partition key; sequence numbers have
// the shape of the service's and grow from parents to children; shards close,
// split, merge and are forgotten after the retention; iterators and page tokens
// expire; read and write quotas hold per shard, including the debt after a
// 10 MiB answer; errors carry the service's types, HTTP status and, where it is
// known, its wording. All of it is spoken in JSON, as most AWS SDKs do, and in
// CBOR, as the Java SDK does. Everything is measured on Config.Now. The tests
// make the same calls to another emulator, npm's kinesis-local, and list each
// difference with its reason.
//
// The operations: CreateStream, DeleteStream, DescribeStream,
// DescribeStreamSummary, DescribeLimits, ListStreams, ListShards; PutRecord,
// PutRecords, GetShardIterator, GetRecords; SplitShard, MergeShards,
// UpdateShardCount; IncreaseStreamRetentionPeriod, DecreaseStreamRetentionPeriod;
// AddTagsToStream, RemoveTagsFromStream, ListTagsForStream, TagResource,
// UntagResource, ListTagsForResource.
//
// With it comes the part of DynamoDB that leat keeps leases in (see
// [Server.DynamoDB] and package dynamodb), at the same endpoint: a whole program
// runs against one port.
//
// Faults (see [Fault]) make a share of the calls slow, throttled, broken or
// unanswered, repeatably from a seed. They are set from Go, or over HTTP under
// /_leat/faults (see [Server.ServeHTTP]).
//
// # What is not
//
// There is no authentication, no encryption and no enhanced fan-out. Control-plane
// call rates (such as five CreateStream a second) are not limited, but for
// UpdateShardCount's ten a day. Operations that are missing answer
// UnknownOperationException.
package local
