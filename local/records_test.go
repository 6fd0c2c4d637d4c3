package local_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"pgregory.net/rapid"

	"github.com/leatstream/leat/local"
)

const shard0 = "shardId-000000000000"

func at(sequence string) func(*kinesis.GetShardIteratorInput) {
	return func(in *kinesis.GetShardIteratorInput) { in.StartingSequenceNumber = &sequence }
}

// TestIteratorTypes puts records 0, 1, 2 a second apart and starts from each.
func TestIteratorTypes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Unlimited: true})
		f.create("s", 1)
		first := *f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})[0].SequenceNumberRange.StartingSequenceNumber
		began := time.Now()
		var numbers []string
		for i := range 3 {
			number, _ := f.put("s", "a", fmt.Sprint(i))
			numbers = append(numbers, number)
			time.Sleep(time.Second)
		}
		latest := f.iterator("s", shard0, types.ShardIteratorTypeLatest)
		f.put("s", "a", "3")

		check := func(want string, kind types.ShardIteratorType, more ...func(*kinesis.GetShardIteratorInput)) {
			t.Helper()
			got := strings.Join(texts(f.drain(f.iterator("s", shard0, kind, more...))), " ")
			if got != want {
				t.Errorf("%s: read %q, want %q", kind, got, want)
			}
		}
		then := func(d time.Duration) func(*kinesis.GetShardIteratorInput) {
			return func(in *kinesis.GetShardIteratorInput) { in.Timestamp = aws.Time(began.Add(d)) }
		}
		if got := texts(f.drain(latest)); !slices.Equal(got, []string{"3"}) {
			t.Errorf("LATEST: read %q, want only what came after it", got)
		}
		check("", types.ShardIteratorTypeLatest)
		check("0 1 2 3", types.ShardIteratorTypeTrimHorizon)
		check("1 2 3", types.ShardIteratorTypeAtSequenceNumber, at(numbers[1]))
		check("2 3", types.ShardIteratorTypeAfterSequenceNumber, at(numbers[1]))
		check("0 1 2 3", types.ShardIteratorTypeAtSequenceNumber, at(first))
		check("0 1 2 3", types.ShardIteratorTypeAfterSequenceNumber, at(first))
		check("0 1 2 3", types.ShardIteratorTypeAtTimestamp, then(-time.Hour))
		check("0 1 2 3", types.ShardIteratorTypeAtTimestamp, then(0))
		check("1 2 3", types.ShardIteratorTypeAtTimestamp, then(time.Millisecond))
		check("1 2 3", types.ShardIteratorTypeAtTimestamp, then(time.Second))
		check("3", types.ShardIteratorTypeAtTimestamp, then(3*time.Second))
		time.Sleep(time.Second)
		check("", types.ShardIteratorTypeAtTimestamp, then(4*time.Second))
	})
}

func TestIteratorRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 2)
	number, shard := f.put("s", "a", "x")
	other := map[string]string{shard0: "shardId-000000000001", "shardId-000000000001": shard0}[shard]
	ask := func(change func(*kinesis.GetShardIteratorInput)) string {
		in := &kinesis.GetShardIteratorInput{StreamName: aws.String("s"), ShardId: &shard,
			ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
		change(in)
		_, err := f.client.GetShardIterator(t.Context(), in)
		return refusal(err)
	}
	numbered := func(kind types.ShardIteratorType, number, shard string) func(*kinesis.GetShardIteratorInput) {
		return func(in *kinesis.GetShardIteratorInput) {
			in.ShardIteratorType, in.ShardId = kind, &shard
			if number != "" {
				in.StartingSequenceNumber = &number
			}
		}
	}
	for name, c := range map[string]struct{ got, want string }{
		"no such stream": {ask(func(in *kinesis.GetShardIteratorInput) { in.StreamName = aws.String("none") }),
			"ResourceNotFoundException: Stream none under account 000000000000 not found."},
		"no such shard": {ask(func(in *kinesis.GetShardIteratorInput) { in.ShardId = aws.String("shardId-000000000009") }),
			"ResourceNotFoundException: Shard shardId-000000000009 in stream s under account 000000000000 does not exist"},
		"no such type": {ask(numbered("FIRST", "", shard)), "ValidationException: 1 validation error detected: Value 'FIRST' at 'shardIteratorType' failed to satisfy constraint: Member must satisfy enum value set: "},
		"a number that is none": {ask(numbered(types.ShardIteratorTypeAtSequenceNumber, "abc", shard)),
			"ValidationException: 1 validation error detected: Value 'abc' at 'startingSequenceNumber' failed to satisfy constraint: Member must satisfy regular expression pattern: 0|([1-9]\\d{0,128})"},
		"an invalid number": {ask(numbered(types.ShardIteratorTypeAfterSequenceNumber, "4711", shard)),
			"InvalidArgumentException: StartingSequenceNumber 4711 used in GetShardIterator on shard " + shard + " in stream s under account 000000000000 is invalid."},
		"another shard's number": {ask(numbered(types.ShardIteratorTypeAfterSequenceNumber, number, other)),
			"InvalidArgumentException: Invalid StartingSequenceNumber. It encodes " + shard + ", while it was used in a call to a shard with " + other},
		"no number": {ask(numbered(types.ShardIteratorTypeAfterSequenceNumber, "", shard)),
			"InvalidArgumentException: Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber or " +
				"(2) TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified AFTER_SEQUENCE_NUMBER and no StartingSequenceNumber."},
		"a number too many": {ask(numbered(types.ShardIteratorTypeLatest, number, shard)),
			"InvalidArgumentException: Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber or " +
				"(2) TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified LATEST and also a StartingSequenceNumber."},
		"no time": {ask(numbered(types.ShardIteratorTypeAtTimestamp, "", shard)), "InvalidArgumentException: "},
		"a time to come": {ask(func(in *kinesis.GetShardIteratorInput) {
			in.ShardIteratorType, in.Timestamp = types.ShardIteratorTypeAtTimestamp, aws.Time(time.Now().Add(time.Hour))
		}), "InvalidArgumentException: The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "},
		"dry run": {ask(func(in *kinesis.GetShardIteratorInput) { in.DryRun = aws.Bool(true) }), "DryRunOperationException: "},
	} {
		if !strings.HasPrefix(c.got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, c.got, c.want)
		}
	}
}

func TestIteratorExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		f.create("s", 1)
		iterator := f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon)
		time.Sleep(5 * time.Minute)
		next := f.get(iterator).NextShardIterator
		time.Sleep(time.Millisecond)
		_, err := f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator})
		want := "ExpiredIteratorException: Iterator expired. The iterator was created at time Sat Jan 01 00:00:00 UTC 2000 while right now it is " +
			"Sat Jan 01 00:05:00 UTC 2000 which is further in the future than the tolerated delay of 300000 milliseconds."
		if refusal(err) != want {
			t.Errorf("an iterator of five minutes:\n got %s\nwant %s", refusal(err), want)
		}
		time.Sleep(4 * time.Minute)
		f.get(next) // its five minutes count from its own answer
	})
}

func TestGetRecordsRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 1)
	f.create("other", 1)
	iterator := f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon)
	for i := range len(*iterator) {
		garbled := []byte(*iterator)
		garbled[i] ^= 1
		_, err := f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: aws.String(string(garbled))})
		if want := "InvalidArgumentException: Invalid ShardIterator."; refusal(err) != want {
			t.Errorf("iterator garbled at %d: %v", i, err)
		}
	}
	for name, c := range map[string]struct {
		in   kinesis.GetRecordsInput
		want string
	}{
		"limit 0": {kinesis.GetRecordsInput{ShardIterator: iterator, Limit: aws.Int32(0)},
			"ValidationException: 1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		"limit 10001": {kinesis.GetRecordsInput{ShardIterator: iterator, Limit: aws.Int32(10001)},
			"ValidationException: 1 validation error detected: Value '10001' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 10000"},
		"another stream's ARN": {kinesis.GetRecordsInput{ShardIterator: iterator, StreamARN: aws.String("arn:aws:kinesis:us-east-1:000000000000:stream/other")},
			"InvalidArgumentException: "},
		"dry run": {kinesis.GetRecordsInput{ShardIterator: iterator, DryRun: aws.Bool(true)}, "DryRunOperationException: "},
	} {
		_, err := f.client.GetRecords(t.Context(), &c.in)
		if got := refusal(err); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestSizeOfAnAnswer checks the bounds of one GetRecords call.
func TestSizeOfAnAnswer(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 1)
	f.putMany("s", 10_500, 10)
	out := f.get(f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon))
	if len(out.Records) != 10_000 || *out.MillisBehindLatest == 0 {
		t.Errorf("%d records, %d ms behind; want 10000, behind", len(out.Records), *out.MillisBehindLatest)
	}
	if out = f.get(out.NextShardIterator); len(out.Records) != 500 || *out.MillisBehindLatest != 0 {
		t.Errorf("then %d records, %d ms behind; want 500 at the tip", len(out.Records), *out.MillisBehindLatest)
	}
	limited, err := f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{
		ShardIterator: f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon), Limit: aws.Int32(7)})
	if err != nil || len(limited.Records) != 7 {
		t.Errorf("with limit 7: %v", err)
	}

	// With their keys of one byte, ten records have 10 MiB to the byte; without
	// keys, there would be room for an empty one.
	f.create("large", 1)
	f.putMany("large", 10, 1<<20-1)
	f.putMany("large", 1, 0)
	out = f.get(f.iterator("large", shard0, types.ShardIteratorTypeTrimHorizon))
	if len(out.Records) != 10 {
		t.Errorf("%d records of 1 MiB, want 10", len(out.Records))
	}
}

// putMany writes count records of a size with a key of one byte.
func (f *fixture) putMany(stream string, count, size int) {
	f.Helper()
	for count > 0 {
		entries := make([]types.PutRecordsRequestEntry, min(count, 500))
		for i := range entries {
			entries[i] = types.PutRecordsRequestEntry{Data: bytes.Repeat([]byte{'x'}, size), PartitionKey: aws.String("k")}
		}
		count -= len(entries)
		out, err := f.client.PutRecords(f.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: entries})
		if err != nil {
			f.Fatal(err)
		}
		if *out.FailedRecordCount != 0 {
			f.Fatalf("%d entries failed: %s", *out.FailedRecordCount, *out.Records[0].ErrorMessage)
		}
	}
}

func TestMillisBehindLatest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		f.create("s", 1)
		f.put("s", "a", "0")
		arrived := time.Now()
		time.Sleep(90 * time.Second)
		f.put("s", "a", "1")
		get := func(limit int32, iterator *string) *kinesis.GetRecordsOutput {
			out, err := f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator, Limit: &limit})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		out := get(1, f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon))
		if *out.MillisBehindLatest != 90_000 || !out.Records[0].ApproximateArrivalTimestamp.Equal(arrived) {
			t.Errorf("%d ms behind after the record of %v", *out.MillisBehindLatest, out.Records[0].ApproximateArrivalTimestamp)
		}
		if out = get(1, out.NextShardIterator); *out.MillisBehindLatest != 0 {
			t.Errorf("%d ms behind at the tip", *out.MillisBehindLatest)
		}
		f.put("s", "a", "2")
		f.put("s", "a", "3")
		if out = get(1, out.NextShardIterator); *out.MillisBehindLatest == 0 {
			t.Error("not behind, with a record of the same millisecond to come")
		}
	})
}

// TestEndOfAShard reads closed shards to their end, in both ways of telling it.
func TestEndOfAShard(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		f := start(t, local.Config{Unlimited: true, EndWithRecords: together})
		f.create("s", 1)
		f.put("s", "a", "last but one")
		f.put("s", "a", "last")
		f.split("s", shard0, half)
		f.merge("s", "shardId-000000000001", "shardId-000000000002")

		out, err := f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{Limit: aws.Int32(1),
			ShardIterator: f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon)})
		if err != nil || out.NextShardIterator == nil || out.ChildShards != nil {
			t.Fatalf("before the last record: %+v, %v", out, err)
		}
		out = f.get(out.NextShardIterator)
		if len(out.Records) != 1 {
			t.Fatalf("%d records", len(out.Records))
		}
		if ended := out.NextShardIterator == nil; ended != together {
			t.Errorf("EndWithRecords %v: ended with the records: %v", together, ended)
		}
		if !together {
			if out.ChildShards != nil {
				t.Error("children are told before the end")
			}
			out = f.get(out.NextShardIterator)
		}
		if out.NextShardIterator != nil || *out.MillisBehindLatest != 0 || len(out.ChildShards) != 2 {
			t.Fatalf("at the end: next %v, %d ms behind, %d children", out.NextShardIterator, *out.MillisBehindLatest, len(out.ChildShards))
		}
		child := out.ChildShards[1]
		if *child.ShardId != "shardId-000000000002" || !slices.Equal(child.ParentShards, []string{shard0}) || *child.HashKeyRange.StartingHashKey != half {
			t.Errorf("child %s of %v from %s", *child.ShardId, child.ParentShards, *child.HashKeyRange.StartingHashKey)
		}
		out = f.get(f.iterator("s", "shardId-000000000002", types.ShardIteratorTypeLatest))
		if len(out.ChildShards) != 1 || !slices.Equal(out.ChildShards[0].ParentShards, []string{"shardId-000000000001", "shardId-000000000002"}) {
			t.Errorf("end of an empty shard: children %v", out.ChildShards)
		}
	}
}

// TestResumeAtTheEnd starts after the last record of a closed shard.
func TestResumeAtTheEnd(t *testing.T) {
	t.Parallel()
	const refused = "InvalidArgumentException: Invalid SequenceNumber for ShardIteratorType AFTER_SEQUENCE_NUMBER, " +
		"SequenceNumber has reached max possible value for the shard."
	for _, refuse := range []bool{false, true} {
		f := start(t, local.Config{Unlimited: true, RefuseEnd: refuse})
		f.create("s", 1)
		first, _ := f.put("s", "a", "0")
		last, _ := f.put("s", "a", "1")
		after := func(number string) (*string, string) {
			out, err := f.client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{StreamName: aws.String("s"), ShardId: aws.String(shard0),
				ShardIteratorType: types.ShardIteratorTypeAfterSequenceNumber, StartingSequenceNumber: &number})
			if err != nil {
				return nil, refusal(err)
			}
			return out.ShardIterator, ""
		}
		if _, err := after(last); err != "" {
			t.Errorf("after the last record of an open shard: %s", err)
		}
		f.split("s", shard0, half)
		if iterator, _ := after(first); iterator == nil || len(f.drain(iterator)) != 1 {
			t.Error("after the first record of a closed shard there is not one")
		}
		iterator, err := after(last)
		if refuse && err != refused {
			t.Errorf("after the last record: %s, want %s", err, refused)
		}
		if !refuse && (err != "" || f.get(iterator).NextShardIterator != nil) {
			t.Errorf("after the last record the shard has not ended: %s", err)
		}
		end := *f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")})[0].SequenceNumberRange.EndingSequenceNumber
		if _, err := after(end); err != refused {
			t.Errorf("after EndingSequenceNumber: %s, want %s", err, refused)
		}
	}
}

// TestAnyRecordComesBack sends keys and data of all sorts through both codecs.
func TestAnyRecordComesBack(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 1)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringN(1, 256, -1).Draw(t, "key")
		data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
		out, err := f.client.PutRecord(f.Context(), &kinesis.PutRecordInput{StreamName: aws.String("s"), PartitionKey: &key, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		back := f.get(f.iterator("s", shard0, types.ShardIteratorTypeAtSequenceNumber, at(*out.SequenceNumber))).Records[0]
		if *back.PartitionKey != key || !bytes.Equal(back.Data, data) || *back.SequenceNumber != *out.SequenceNumber {
			t.Fatalf("%q %x came back as %q %x", key, data, *back.PartitionKey, back.Data)
		}
	})
}
