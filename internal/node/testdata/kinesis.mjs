// Uses a Kinesis-compatible server through the AWS SDK for JavaScript, and prints what it saw as JSON.
// Usage: node kinesis.mjs ENDPOINT
import * as kinesis from "@aws-sdk/client-kinesis";
import { cbor, dateToTag } from "@smithy/core/cbor";

const endpoint = process.argv[2];
const client = new kinesis.KinesisClient({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
  maxAttempts: 1,
});
const seen = {};
client.middlewareStack.add(
  (next) => (args) => {
    seen.contentType = args.request.headers["content-type"];
    return next(args);
  },
  { step: "finalizeRequest" },
);

const call = (operation, input) => client.send(new kinesis[operation + "Command"](input));
const StreamName = "orders";
const parent = "shardId-000000000000";

// failure is how the SDK tells an error: its class, its HTTP status.
async function failure(operation, input) {
  try {
    await call(operation, input);
    return "none";
  } catch (e) {
    const known = kinesis[e.name] !== undefined && e instanceof kinesis[e.name];
    return `${known ? "class " : ""}${e.name} ${e.$metadata?.httpStatusCode}`;
  }
}

// read reads a shard from a position to its end, or to the tip of an open one.
async function read(position) {
  let { ShardIterator } = await call("GetShardIterator", { StreamName, ShardId: parent, ...position });
  const data = [];
  for (;;) {
    const answer = await call("GetRecords", { ShardIterator, Limit: 2 });
    data.push(...answer.Records.map((r) => Buffer.from(r.Data).toString()));
    ShardIterator = answer.NextShardIterator;
    if (!ShardIterator || (answer.Records.length === 0 && answer.MillisBehindLatest === 0)) {
      return { data, ended: !ShardIterator, children: (answer.ChildShards ?? []).map((c) => c.ShardId) };
    }
  }
}

await call("CreateStream", { StreamName, ShardCount: 1 });
await kinesis.waitUntilStreamExists({ client, maxWaitTime: 60 }, { StreamName });
const before = new Date();
const first = await call("PutRecord", { StreamName, PartitionKey: "k", Data: Buffer.from("tea") });
const put = await call("PutRecords", {
  StreamName,
  Records: ["bread", "", "höher"].map((text) => ({ PartitionKey: "k", Data: Buffer.from(text) })),
});
seen.put = [first.ShardId, put.FailedRecordCount, put.Records.length, put.Records.every((r) => r.SequenceNumber > first.SequenceNumber)];

const { StreamDescriptionSummary: summary } = await call("DescribeStreamSummary", { StreamName });
seen.summary = [summary.StreamName, summary.StreamStatus, summary.OpenShardCount, summary.RetentionPeriodHours, summary.StreamModeDetails.StreamMode];
seen.created = summary.StreamCreationTimestamp instanceof Date;

await call("SplitShard", { StreamName, ShardToSplit: parent, NewStartingHashKey: "170141183460469231731687303715884105728" });
const { StreamDescription: description } = await call("DescribeStream", { StreamARN: summary.StreamARN });
seen.shards = description.Shards.map((s) => [s.ShardId, s.ParentShardId ?? null, s.HashKeyRange.StartingHashKey, s.SequenceNumberRange.EndingSequenceNumber !== undefined]);
seen.pages = [];
for (let input = { StreamName, MaxResults: 2 }; input; ) {
  const { Shards, NextToken } = await call("ListShards", input);
  seen.pages.push(Shards.map((s) => s.ShardId));
  input = NextToken && { NextToken, MaxResults: 2 };
}

seen.trimHorizon = await read({ ShardIteratorType: "TRIM_HORIZON" });
seen.atSequenceNumber = await read({ ShardIteratorType: "AT_SEQUENCE_NUMBER", StartingSequenceNumber: put.Records[1].SequenceNumber });
seen.afterSequenceNumber = await read({ ShardIteratorType: "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber: first.SequenceNumber });
seen.atTimestamp = await read({ ShardIteratorType: "AT_TIMESTAMP", Timestamp: before });
seen.latest = await read({ ShardIteratorType: "LATEST" });

const { ShardIterator } = await call("GetShardIterator", { StreamName, ShardId: parent, ShardIteratorType: "LATEST" });
seen.failures = {
  unknownStream: await failure("DescribeStream", { StreamName: "nope" }),
  unknownShard: await failure("GetShardIterator", { StreamName, ShardId: "shardId-000000000009", ShardIteratorType: "LATEST" }),
  createdTwice: await failure("CreateStream", { StreamName, ShardCount: 1 }),
  splitTwice: await failure("SplitShard", { StreamName, ShardToSplit: parent, NewStartingHashKey: "7" }),
  badIterator: await failure("GetRecords", { ShardIterator: "nonsense" }),
  badArgument: await failure("PutRecord", { StreamName, PartitionKey: "x".repeat(257), Data: Buffer.from("") }),
};
for (const kind of ["throttle", "error", "expireIterator"]) {
  const rules = [{ kind, op: "GetRecords", count: 1 }];
  await fetch(endpoint + "/_leat/faults", { method: "POST", body: JSON.stringify({ rules }) });
  seen.failures[kind] = await failure("GetRecords", { ShardIterator });
}

// inCBOR makes a call as the Java SDK does. The JavaScript SDK has no such protocol for Kinesis, but its CBOR reads the answer.
async function inCBOR(operation, input) {
  const type = "application/x-amz-cbor-1.1";
  const headers = { "content-type": type, "x-amz-target": "Kinesis_20131202." + operation };
  const answer = await fetch(endpoint, { method: "POST", headers, body: cbor.serialize(input) });
  if (answer.headers.get("content-type") !== type) throw new Error(operation + " was not answered in CBOR");
  return { status: answer.status, ...cbor.deserialize(new Uint8Array(await answer.arrayBuffer())) };
}
const at = await inCBOR("GetShardIterator", { StreamName, ShardId: parent, ShardIteratorType: "AT_TIMESTAMP", Timestamp: dateToTag(before) });
const { Records, MillisBehindLatest, NextShardIterator } = await inCBOR("GetRecords", { ShardIterator: at.ShardIterator, Limit: 2 });
const arrived = Records[0].ApproximateArrivalTimestamp; // the tag of seconds, in milliseconds
seen.inCBOR = [
  Records.map((r) => Buffer.from(r.Data).toString()),
  Number(arrived.tag) === 1 && arrived.value >= +before && arrived.value <= Date.now(),
  MillisBehindLatest > 0,
  typeof NextShardIterator,
  await inCBOR("GetRecords", { ShardIterator: "nonsense" }),
];
await call("DeleteStream", { StreamName });
seen.streams = (await call("ListStreams", {})).StreamNames;
client.destroy();
const lines = Object.entries(seen).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
console.log(`{\n${lines.join(",\n")}\n}`);
