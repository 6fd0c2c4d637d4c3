package local_test

// difference is where npm's kinesis-local answers otherwise. The members but right and why are regular expressions
// for the whole of what they stand for; an empty one takes anything.
type difference struct {
	op    string
	input string // as the call has it
	path  string // of the value in the answer
	here  string // the value, in JSON; {"error":"CODE"} instead of an answer
	there string
	right string // here, there or either
	why   string
}

// Sources: "model" is the service's model (API reference, Kinesis_20131202), which says what each member may be;
// kinesalite's and moto's tests hold answers that the service gave.
var differences = []difference{
	// Which error it is
	{
		path: "error", here: `"ValidationException"`, there: `"SerializationException"`, right: "here",
		why: "a member that must be there is missing, or not of its enumeration: the model's constraints are validated (kinesalite)",
	},
	{
		path: "error", here: `"ValidationException"`, there: `"InvalidArgumentException"`, right: "here",
		why: "a member breaks a pattern or bound of the model (kinesalite)",
	},
	{
		path: "error", here: `"ValidationException"`, there: `"UnknownError"`, right: "here",
		why: "an answer of kinesis-local to what it cannot read: no code, HTTP status 500",
	},
	{
		op: "GetRecords", path: "error", here: `"InvalidArgumentException"`, there: `"UnknownError"`, right: "here",
		why: "a garbled iterator; the same",
	},
	{
		path: "error", here: `"ValidationException"`, there: `"Resource(NotFound|InUse)Exception"`, right: "here",
		why: "members are validated before the stream is looked for (kinesalite)",
	},
	{
		op: "GetShardIterator", input: `.*"StartingSequenceNumber".*`, path: "error",
		here: `"InvalidArgumentException"`, there: `"ResourceNotFoundException"`, right: "here",
		why: "a sequence number of another shard, or none at all (kinesalite)",
	},
	{
		op: "SplitShard|MergeShards", path: "error", here: `"InvalidArgumentException"`, there: `"ResourceInUseException"`, right: "here",
		why: "a shard that is closed already (moto)",
	},
	{
		op: "MergeShards", path: "error", here: `"ResourceNotFoundException"`, there: `"ResourceInUseException"`, right: "here",
		why: "one shard is closed, the other does not exist: shards are looked for first (kinesalite)",
	},
	{
		op: "CreateStream", input: `.*"ShardCount":(0|-1)}`, path: "error", here: `"ValidationException"`, there: `"LimitExceededException"`, right: "here",
		why: "the model's bound is 1 (kinesalite)",
	},
	{
		op: "UpdateShardCount", input: `.*"TargetShardCount":5,.*`, path: "error",
		here: `"LimitExceededException"`, there: `"InvalidArgumentException"`, right: "here",
		why: "more than double: a limit, says the API page, without the error; LimitExceededException by floci",
	},

	// Whether it is an error
	{
		op: "GetShardIterator", input: `.*"(LATEST|TRIM_HORIZON)","(StartingSequenceNumber|Timestamp)".*`,
		here: `{"error":"InvalidArgumentException"}`, there: `{"ShardIterator":"a token"}`, right: "here",
		why: "an iterator of that type takes no position (kinesalite)",
	},
	{
		op: "GetShardIterator", input: `.*"\$now\+1h".*`, here: `{"error":"InvalidArgumentException"}`, there: `{"ShardIterator":"a token"}`, right: "here",
		why: "a time that is to come; there refused only for a shard that has records",
	},
	{
		op: "GetShardIterator", input: `.*"ShardId":"shardId-.*"StartingSequenceNumber":"\$.*`, here: `{"error":"InvalidArgumentException"}`, there: `{"ShardIterator":"a token"}`, right: "here",
		why: "a sequence number of another shard; there sometimes taken (kinesalite)",
	},
	{
		op: "GetRecords", here: `{"error":"ResourceNotFoundException"}`, there: `{"MillisBehindLatest":0,.*`, right: "here",
		why: "an iterator of a stream that was deleted and created again under its name: another stream",
	},
	{
		op: "PutRecords|AddTagsToStream|RemoveTagsFromStream", input: `.*(\[\]|{})}`,
		here: `{"error":"ValidationException"}`, there: `{.*}`, right: "here",
		why: "an empty list: the model wants at least one",
	},
	{
		op: "ListTagsForStream|ListShards", input: `.*"(Limit":51|MaxResults":10001)}`,
		here: `{"error":"ValidationException"}`, there: `{.*}`, right: "here",
		why: "the model's bounds: 50 and 10,000",
	},
	{
		op: "ListShards", input: `.*"AT_LATEST","(ShardId|Timestamp)".*`,
		here: `{"error":"InvalidArgumentException"}`, there: `{.*}`, right: "either",
		why: "the API page wants these members with other types of filters only, and does not tell the answer",
	},
	{
		op: "ListShards", input: `.*"StreamCreationTimestamp":"2020.*`,
		here: `{"error":"ResourceNotFoundException"}`, there: `{.*}`, right: "here",
		why: "that would be another stream of the same name",
	},
	{
		op: "SplitShard", input: `.*"([01]|340282366920938463463374607431768211455)"}`, here: `{"error":"InvalidArgumentException"}`, there: `{}`, right: "here",
		why: "a child would have no key, or one: the service's message wants two (kinesalite)",
	},
	{
		op: "CreateStream", input: `.*"ON_DEMAND".*`, here: `{"error":"InvalidArgumentException"}`, there: `{}`, right: "either",
		why: "a ShardCount for an on-demand stream: the guide has none, the API page does not tell the answer",
	},
	{
		op: "UpdateShardCount", input: `{"StreamName":"o".*`, here: `{"error":"ValidationException"}`, there: `{.*}`, right: "here",
		why: "an on-demand stream (API page)",
	},
	{
		op: "CreateStream", input: `{"StreamName":"b"}`, here: `{"error":"InvalidArgumentException"}`, there: `{}`, right: "here",
		why: "no ShardCount, which provisioned mode needs (API page). There it is 4",
	},
	{
		op: "UpdateShardCount", input: `.*"TargetShardCount":1,.*`, here: `{"error":"LimitExceededException"}`, there: `{.*}`, right: "here",
		why: "1 of 3 is less than half (API page)",
	},

	// What is told
	{
		op: ".*", path: `.*HashKeyRange\.(Starting|Ending)HashKey`,
		here: `"(170141183460469231731687303715884105|255211775190703847597530955573826158)\d{3}"`, there: `"(170141183460469231731687303715884105|255211775190703847597530955573826158)\d{3}"`, right: "here",
		why: "equal shares of 2^128 keys, there of 2^128-1",
	},
	{
		op: "ListShards", input: `.*"(AT_TRIM_HORIZON|AT_TIMESTAMP|FROM_TIMESTAMP)".*`, path: "Shards", right: "here",
		why: "there a filter by time takes shards that were not open at that time (API page of ShardFilter)",
	},
	{
		op: "ListShards", input: `{"StreamName":"u"}`, path: "Shards", right: "here",
		why: "2 shards become 3: there not of equal size",
	},
	{
		op: "GetRecords", path: "ChildShards.ParentShards", here: `"shardId-\d{12}"`, there: `"shardId-\d{12}"`, right: "either",
		why: "the order of two parents",
	},
	{
		op: "GetRecords", path: "MillisBehindLatest", here: `"above 0"`, there: "0", right: "here",
		why: "there are more records, though of the same millisecond: 0 says that there are none (API page)",
	},
	{
		op: "GetRecords", path: "Records.EncryptionType", here: `""`, there: `"NONE"`, right: "either",
		why: "optional, of a record without encryption",
	},
	{
		op: "DescribeStream|ListShards", input: `.*"shardId-00000000000\d".*`, path: "(StreamDescription.)?Shards", here: "null", right: "here",
		why: "there is no shard after that id; there they are all",
	},
	{
		op: "DescribeStreamSummary", path: "StreamDescriptionSummary.MaxRecordSizeInKiB", here: "1024", there: "null", right: "here",
		why: "newer than kinesis-local",
	},
	{
		op: "DescribeLimits", path: "OnDemandStreamCountLimit", here: "50", there: "10", right: "here",
		why: "the default quota is 50 (AWS, \"Quotas and limits\")",
	},
	{
		op: "ListStreams", path: "StreamSummaries|NextToken", there: "null", right: "here",
		why: "newer than kinesis-local",
	},
	{
		op: "ListStreams", input: `.*"nope".*`, path: "StreamNames", here: `\["s","z"\]`, there: `\["a","s","z"\]`, right: "here",
		why: "the names after that one, whether or not it is there",
	},
	{
		op: "UpdateShardCount", path: "StreamARN", there: "null", right: "here",
		why: "newer than kinesis-local",
	},
}
