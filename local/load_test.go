package local_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

func (f *fixture) load(lines ...string) {
	f.Helper()
	if err := f.server.Load(strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		f.Fatal(err)
	}
}

// TestLoad: streams as they are declared, records by their keys and in their order.
func TestLoad(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Transition: time.Hour})
	f.load(
		`{"stream":"orders","shards":2,"retentionHours":48,"maxRecordSizeKiB":2048}`,
		`	`,
		`{"stream":"orders","shard":"shardId-000000000007","sequenceNumber":"4959","partitionKey":"k","data":"höher","later":{"a":1}}`,
		`{"stream":"orders","partitionKey":"k","explicitHashKey":"0","dataBase64":"/w0="}`,
		`{"stream":"orders","partitionKey":"k","explicitHashKey":"340282366920938463463374607431768211455","data":""}`,
		`{"stream":"clicks","partitionKey":"k","data":"1"}`,
		`{"stream":"none","shards":3}`)

	out, err := f.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: aws.String("orders")})
	if err != nil {
		t.Fatal(err)
	}
	d := out.StreamDescriptionSummary
	if d.StreamStatus != types.StreamStatusActive || *d.OpenShardCount != 2 || *d.RetentionPeriodHours != 48 || *d.MaxRecordSizeInKiB != 2048 {
		t.Errorf("orders is %+v", d)
	}
	for stream, want := range map[string][]string{
		"orders": {"\xff\r", "höher", ""}, // MD5("k") is in the upper half
		"clicks": {"1"},
		"none":   nil,
	} {
		var got []string
		for _, shard := range f.list(&kinesis.ListShardsInput{StreamName: &stream}) {
			got = append(got, texts(f.drain(f.iterator(stream, *shard.ShardId, types.ShardIteratorTypeTrimHorizon)))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", stream, got, want)
		}
	}
	// A put goes behind what was loaded.
	number, shard := f.put("clicks", "k", "2")
	read := f.drain(f.iterator("clicks", shard, types.ShardIteratorTypeTrimHorizon))
	if len(read) != 2 || *read[1].SequenceNumber != number || *read[0].SequenceNumber >= number {
		t.Errorf("clicks has %d records after a put of number %s", len(read), number)
	}
}

// TestLoadHasNoQuota: more than a second's writes of a shard in no time.
func TestLoadHasNoQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		line := fmt.Sprintf("{\"stream\":\"s\",\"partitionKey\":\"k\",\"data\":%q}\n", strings.Repeat("x", 1000))
		f.load(strings.Repeat(line, 3000))
		if got := len(f.get(f.iterator("s", "shardId-000000000000", types.ShardIteratorTypeTrimHorizon)).Records); got != 3000 {
			t.Errorf("%d records, want 3000", got)
		}
	})
}

// TestLoadedTimes: an arrival time is kept where a record of the stream can have it.
func TestLoadedTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Unlimited: true})
		now := time.Now()
		at := func(data string, hours int) string {
			return fmt.Sprintf(`{"stream":"s","partitionKey":"k","data":%q,"arrivalTime":%q}`,
				data, now.Add(time.Duration(hours)*time.Hour).In(time.FixedZone("", 3600)).Format(time.RFC3339Nano))
		}
		// ages checks for how many hours ago the stream's records arrived.
		ages := func(want ...string) {
			t.Helper()
			var got []string
			for _, r := range f.drain(f.iterator("s", "shardId-000000000000", types.ShardIteratorTypeTrimHorizon)) {
				got = append(got, fmt.Sprintf("%s %v", r.Data, now.Sub(*r.ApproximateArrivalTimestamp).Hours()))
			}
			if !slices.Equal(got, want) {
				t.Errorf("records %q, want %q", got, want)
			}
		}
		f.create("s", 1)
		f.load(at("a", -20), at("b", -22), at("c", -10))
		ages("a 20", "b 20", "c 10")
		horizon := f.list(&kinesis.ListShardsInput{StreamName: aws.String("s"), ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtTrimHorizon}})
		if len(horizon) != 1 {
			t.Errorf("%d shards at the horizon, want 1", len(horizon))
		}
		from := f.iterator("s", "shardId-000000000000", types.ShardIteratorTypeAtTimestamp, func(in *kinesis.GetShardIteratorInput) {
			in.Timestamp = aws.Time(now.Add(-15 * time.Hour))
		})
		if got := texts(f.drain(from)); !slices.Equal(got, []string{"c"}) {
			t.Errorf("from 15 hours ago: %q", got)
		}
		// Neither in the future, nor past the retention; and never back.
		f.load(at("d", 1), at("e", -1))
		ages("a 20", "b 20", "c 10", "d 0", "e 0")
		time.Sleep(12 * time.Hour)
		ages("c 10", "d 0", "e 0")
		f.load(at("f", -30))
		ages("c 10", "d 0", "e 0", "f -12")
	})
}

// TestLoadRefusals: an error names the line and the member.
func TestLoadRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, want string }{
		{`{"stream":"s"`, `line 2: unexpected end of JSON input`},
		{`{"stream":"s"} {}`, `line 2: invalid character '{' after top-level value`},
		{`[1]`, `line 2: is a JSON array, not an object`},
		{`{}`, `line 2: stream: is missing`},
		{`{"stream":7}`, `line 2: stream: a JSON number cannot be its value`},
		{`{"stream":"a b"}`, `line 2: stream: "a b" is not a name of up to 128 letters, digits, _ . and -`},
		{`{"stream":"s","shard":4}`, `line 2: unknown field "shard"`},
		{`{"stream":"s","shards":0}`, `line 2: shards: 0 is not from 1 to 2147483647`},
		{`{"stream":"s","shards":"4"}`, `line 2: shards: a JSON string cannot be its value`},
		{`{"stream":"s","shards":21}`, `line 2: stream: LimitExceededException: This request would exceed the shard limit`},
		{`{"stream":"s","retentionHours":1}`, `line 2: retentionHours: 1 is not from 24 to 8760`},
		{`{"stream":"s","maxRecordSizeKiB":1}`, `line 2: maxRecordSizeKiB: 1 is not from 1024 to 10240`},
		{`{"stream":"first"}`, `line 2: stream: ResourceInUseException: Stream first under account 000000000000 already exists.`},
		{`{"partitionKey":"k","data":""}`, `line 2: stream: is missing`},
		{`{"stream":"s","data":""}`, `line 2: partitionKey: is missing`},
		{`{"stream":"s","partitionKey":"","data":""}`, `line 2: partitionKey: is missing`},
		{`{"stream":"s","partitionKey":"` + strings.Repeat("k", 257) + `","data":""}`, `line 2: partitionKey: has more than 256 characters`},
		{`{"stream":"s","partitionKey":"k"}`, `line 2: data: is missing, and dataBase64`},
		{`{"stream":"s","partitionKey":"k","data":{}}`, `line 2: data: a JSON object cannot be its value`},
		{`{"stream":"s","partitionKey":"k","data":"","dataBase64":""}`, `line 2: dataBase64: there is data, too`},
		{`{"stream":"s","partitionKey":"k","dataBase64":"!"}`, `line 2: dataBase64: illegal base64 data at input byte 0`},
		{`{"stream":"s","partitionKey":"k","data":"` + strings.Repeat("x", 1<<20) + `"}`, `line 2: data: InvalidArgumentException: Record of 1048577 bytes exceeds`},
		{`{"stream":"s","partitionKey":"k","data":"","explicitHashKey":"-1"}`, `line 2: explicitHashKey: "-1" is not a number from 0 to 2^128-1`},
		{`{"stream":"s","partitionKey":"k","data":"","arrivalTime":"yesterday"}`, `line 2: arrivalTime: "yesterday" is not a time such as 2026-01-02T15:04:05.000Z`},
		{"{\"stream\":\"s\",\"partitionKey\":\"k\",\"data\":\"\xff\"}", `line 2: is not UTF-8`},
		{strings.Repeat(" ", 62<<20), `line 2: is longer than 61 MiB`},
	} {
		server := local.New(local.Config{ShardLimit: 20})
		err := server.Load(strings.NewReader(`{"stream":"first"}` + "\n" + test.line + "\nnever read"))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.80s: %v, want %s", test.line, err, test.want)
		}
	}

	broken := errors.New("the disk is on fire")
	err := local.New(local.Config{}).Load(io.MultiReader(strings.NewReader("{\"stream\":\"s\"}\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || err.Error() != "reading line 2: the disk is on fire" {
		t.Errorf("a reader that fails: %v", err)
	}
}

func ExampleServer_Load() {
	server := local.New(local.Config{})
	err := server.Load(strings.NewReader(`
		{"stream": "orders", "shards": 4, "retentionHours": 48}
		{"stream": "orders", "partitionKey": "table 4", "data": "tea"}
		{"stream": "orders", "partitionKey": "table 5", "data": "bread", "hashKey": 1}
		{"stream": "clicks", "partitionKey": "home"}`))
	fmt.Println(err)
	// Output: line 5: data: is missing, and dataBase64
}
