// Package dynamodb is the part of Amazon DynamoDB that leat's lease store uses, in memory: a server that the
// real AWS SDKs talk to, for tests and for a laptop without a network.
//
//	srv := dynamodb.New(dynamodb.Config{})
//	client := sdk.NewFromConfig(srv.AWSConfig()) // sdk: the AWS SDK's package dynamodb
//
// In process there is no socket: a call runs in the goroutine that makes it, so the server, the SDK and the
// code under test fit in one testing/synctest bubble. The server is an http.Handler, too.
//
// # What is real
//
// Tables with a string hash key and, if wanted, a string range key; items of every attribute type, with
// the service's rules for numbers, sets, keys and sizes; conditions with comparisons of an attribute with a value, BETWEEN, begins_with,
// attribute_exists, attribute_not_exists, AND, OR, NOT; updates with SET and REMOVE; queries and scans in pages; the old
// item with a failed condition; read and write units as the service counts them ([Server.Usage]). Errors
// carry the service's types and HTTP status.
//
// The operations: CreateTable, DescribeTable, DeleteTable, ListTables, ListTagsOfResource,
// UpdateContinuousBackups, DescribeContinuousBackups; PutItem, UpdateItem, GetItem, DeleteItem, Query, Scan.
//
// Faults (see [Fault]) make a share of the calls slow, throttled, broken, unanswered, late or stale, repeatably from
// a seed, or make it leave out what a failed condition should tell. [Server.Backup] and [Server.Restore] put a table back as it
// was once, with a new TableId. All of that can be done over HTTP, too (see [Server.ServeHTTP]).
//
// # What is not
//
// There is no authentication, no throughput limit, no index, no stream, no transaction and no
// batch. Expressions know attribute names by #placeholder only, and no paths into maps and lists. A member of a
// request that the server does not know is an error that names it: nothing is ignored in silence.
package dynamodb
