package local_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

func TestExplicitHashKey(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 3)
	for key, want := range map[string]string{
		"0": "shardId-000000000000",
		"113427455640312821154458202477256070484": "shardId-000000000000",
		"113427455640312821154458202477256070485": "shardId-000000000001",
		"226854911280625642308916404954512140970": "shardId-000000000002",
		"340282366920938463463374607431768211455": "shardId-000000000002",
	} {
		out, err := f.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
			StreamName: aws.String("s"), PartitionKey: aws.String("k"), ExplicitHashKey: &key, Data: []byte("x")})
		if err != nil || *out.ShardId != want {
			t.Errorf("hash key %s: %v, %v, want %s", key, out, err, want)
		}
	}
}

func TestPutRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 1)
	entry := func(data int, key string) types.PutRecordsRequestEntry {
		return types.PutRecordsRequestEntry{Data: make([]byte, data), PartitionKey: &key}
	}
	hashed := entry(1, "k")
	hashed.ExplicitHashKey = aws.String("340282366920938463463374607431768211456")
	_, err := f.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String("large"), ShardCount: aws.Int32(1), MaxRecordSizeInKiB: aws.Int32(10240)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stream  string
		entries []types.PutRecordsRequestEntry
		want    string // the start of it; empty: no refusal
	}{
		"1 MiB with its key":    {"s", []types.PutRecordsRequestEntry{entry(1<<20-1, "k")}, ""},
		"over 1 MiB by its key": {"s", []types.PutRecordsRequestEntry{entry(1<<20, "k")}, "InvalidArgumentException: "},
		"10 MiB with its key":   {"large", []types.PutRecordsRequestEntry{entry(10<<20-1, "k")}, ""},
		"over 10 MiB": {"large", []types.PutRecordsRequestEntry{entry(10<<20+1, "k")},
			"ValidationException: 1 validation error detected: Value 'java.nio.HeapByteBuffer[pos=0 lim=10485761 cap=10485761]' at 'records.1.member.data' " +
				"failed to satisfy constraint: Member must have length less than or equal to 10485760"},
		"over 10 MiB together": {"large", []types.PutRecordsRequestEntry{entry(5<<20, "k"), entry(5<<20, "k")}, "InvalidArgumentException: Records size exceeds 10 MB limit"},
		"500 entries":          {"s", make500(500, entry(0, "k")), ""},
		"501 entries": {"s", make500(501, entry(0, "k")),
			"ValidationException: 1 validation error detected: Value '[...]' at 'records' failed to satisfy constraint: Member must have length less than or equal to 500"},
		"no entries": {"s", []types.PutRecordsRequestEntry{},
			"ValidationException: 1 validation error detected: Value '[]' at 'records' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		"a key of 256 characters": {"s", []types.PutRecordsRequestEntry{entry(1, strings.Repeat("\u00e9", 256))}, ""},
		"a key of 257 characters": {"s", []types.PutRecordsRequestEntry{entry(1, strings.Repeat("k", 257))},
			"ValidationException: 1 validation error detected: Value '" + strings.Repeat("k", 257) + "' at 'records.1.member.partitionKey' failed to satisfy constraint: " +
				"Member must have length less than or equal to 256"},
		"an empty key": {"s", []types.PutRecordsRequestEntry{entry(1, "")},
			"ValidationException: 1 validation error detected: Value null at 'records.1.member.partitionKey' failed to satisfy constraint: Member must not be null"},
		"a hash key of 2^128": {"s", []types.PutRecordsRequestEntry{hashed},
			"InvalidArgumentException: Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was 340282366920938463463374607431768211456"},
		"no such stream": {"none", []types.PutRecordsRequestEntry{entry(1, "k")}, "ResourceNotFoundException: Stream none under account 000000000000 not found."},
	} {
		_, err := f.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &c.stream, Records: c.entries})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := refusal(err); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %.300s\nwant %s", name, got, c.want)
		}
	}
}

func make500(n int, entry types.PutRecordsRequestEntry) []types.PutRecordsRequestEntry {
	entries := make([]types.PutRecordsRequestEntry, n)
	for i := range entries {
		entries[i] = entry
	}
	return entries
}

func TestPutRecordOptions(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 1)
	first, _ := f.put("s", "a", "0")
	put := func(change func(*kinesis.PutRecordInput)) (*kinesis.PutRecordOutput, error) {
		in := &kinesis.PutRecordInput{StreamName: aws.String("s"), PartitionKey: aws.String("a"), Data: []byte("1")}
		change(in)
		return f.client.PutRecord(t.Context(), in)
	}
	out, err := put(func(in *kinesis.PutRecordInput) { in.SequenceNumberForOrdering = &first })
	if err != nil || *out.SequenceNumber <= first {
		t.Errorf("ordered after %s: %v, %v", first, out, err)
	}
	_, err = put(func(in *kinesis.PutRecordInput) { in.SequenceNumberForOrdering = aws.String("4711") })
	if want := "InvalidArgumentException: ExclusiveMinimumSequenceNumber 4711 used in PutRecord on stream s under account 000000000000 is invalid."; refusal(err) != want {
		t.Errorf("got %s\nwant %s", refusal(err), want)
	}
	if _, err = put(func(in *kinesis.PutRecordInput) { in.DryRun = aws.Bool(true) }); code(err) != "DryRunOperationException" {
		t.Errorf("dry run: %v", err)
	}
	_, err = f.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: aws.String("s"), DryRun: aws.Bool(true),
		Records: []types.PutRecordsRequestEntry{{Data: []byte("2"), PartitionKey: aws.String("a")}}})
	if code(err) != "DryRunOperationException" {
		t.Errorf("dry run of PutRecords: %v", err)
	}
	records := f.drain(f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon))
	if len(records) != 2 || !bytes.Equal(records[1].Data, []byte("1")) {
		t.Errorf("dry runs have left %q", texts(records))
	}
}
