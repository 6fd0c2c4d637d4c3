// Command leat reads and writes Amazon Kinesis streams.
//
//	leat demo    show a group of workers that loses nothing
//	leat local   serve an in-memory Kinesis on this machine
//	leat put     write lines to a stream as records
//	leat tail    print the records of a stream
//	leat version print the version
//
// Each has its help, with examples: leat help COMMAND.
//
// # Contract
//
// What follows does not change within a major version; golden tests in testdata hold it.
//
// Data goes to stdout. Everything else goes to stderr, each message with the prefix "leat: " and,
// where there is advice, a second line "leat: hint: ". The wording of messages is no contract.
//
// The exit codes are those of leat help exit-codes: 0 all went well, 1 failed, 2 wrong usage, 3 stream
// or shard not found, 4 access denied or no credentials, 129, 130 and 143 interrupted by SIGHUP, SIGINT and
// SIGTERM, 141 the program behind tail --group has ended.
//
// JSON objects stand on one line each and may get more fields. Consumers should ignore those that they
// do not know.
//
//	tail:    stream, shard, sequenceNumber, partitionKey  strings
//	         arrivalTime        RFC 3339, UTC, milliseconds
//	         data               the data, if it is valid UTF-8
//	         dataBase64         the data, if it is not
//	         subSequenceNumber  number, only of records out of an aggregated one
//	         explicitHashKey    string, only where it is known
//	put:     stream             string
//	         records, bytes     numbers: what was put, with --aggregate lines; bytes of data without keys
//	         retried            number: how often a record was sent again
//	         seconds            number
//	version: version, revision (if known), go, platform  strings
//
// # Environment
//
// LEAT_ENDPOINT is the default of --endpoint. Region and credentials come by the AWS SDK's usual chain
// (AWS_REGION, AWS_PROFILE, shared files, roles). For an endpoint on this machine's loopback address, where
// nothing is found, they are made up.
package main
