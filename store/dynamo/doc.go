// Package dynamo is a lease.Store in an Amazon DynamoDB table: for groups whose workers run on many machines.
//
//	leat.Config{Store: dynamo.New(dynamo.Config{Table: "leases"})}
//
// A leat.Config without a Store has one of these: the table "leat".
//
// # The table
//
// One table holds all groups. Its hash key is group (S), its range key is item (S):
//
//	item                     what it is
//	lease/<stream>/<shard>   a lease; its attributes have the names of the Java KCL's
//	worker/<id>              a worker
//	workers                  the control item, lease.ControlKey: named so that one Query reads it with the workers
//
// package lease has the attributes' names and meanings. Attributes and items that leat does not know are left alone.
//
// Open creates the table, if it is told to and there is none; afterwards nothing ever does. If the table is gone while
// workers run, every call is lease.ErrStoreGone. If it has been deleted and made again, or restored from a backup, every
// call is ErrReplaced: its leases are not those that the workers know, so somebody has to decide (a worker that starts
// anew takes the table as it is). It is noticed by the TableId, which is asked for after an answer that there
// is no table, and after three seconds without any answer: a table cannot be replaced in less, and workers
// read every second. So it costs nothing while all is well. (DescribeTable is free.)
//
// # Calls
//
// Every write is one UpdateItem or DeleteItem on a condition; it sets what leat knows and nothing else. A write unit
// is 1 KB: no item of leat's is larger, but a control item of many streams or a worker of many wants. Reads are eventually
// consistent (half a read unit for 4 KB) unless lease.Store says otherwise.
//
// Retries of the SDK are off. A call makes attempts of its own, with a time-out each and jittered pauses between them,
// as long as its context lasts: a heartbeat must not wait for a connection that is dead. Workers' own items are
// written at once; other writes and reads share a bounded number of calls at one time, writes first.
//
// A conflict brings the item as it stands; a server that does not answer it with the failed condition
// (ReturnValuesOnConditionCheckFailure) is asked for it by a consistent read.
//
// # Permissions
//
// See docs/permissions.md. Open tries each action once, without effect, and names all that are missing.
package dynamo
