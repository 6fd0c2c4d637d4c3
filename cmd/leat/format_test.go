package main

import (
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat"
)

func sample(data string) *leat.Record {
	return &leat.Record{
		Stream: "orders", Shard: "shardId-000000000000", SequenceNumber: "49", PartitionKey: "k<1>",
		Data: []byte(data), ArrivalTime: time.UnixMilli(1767366245678),
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	tests := []struct{ format, want string }{
		{"%s", "tea"},
		{`%k\t%q %S\n`, "k<1>\t49 shardId-000000000000\n"},
		{"%t|%T", "2026-01-02T15:04:05.678Z|1767366245678"},
		{`100%% \\ %n`, "100% \\ \n"},
		{"no verb, just t\u00eaxt", "no verb, just t\u00eaxt"},
		{"%x", "error: unknown verb %x"},
		{"%\u00ea", "error: unknown verb %\u00ea"},
		{`\q`, `error: unknown verb \q`},
		{"a%", "error: ends in %"},
		{`a\`, `error: ends in \`},
	}
	for _, test := range tests {
		write, err := parseFormat(test.format)
		want, fails := strings.CutPrefix(test.want, "error: ")
		switch {
		case fails != (err != nil):
			t.Errorf("%q: %v, want %q", test.format, err, test.want)
		case fails && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "%k partition key")):
			t.Errorf("%q: %v does not say %q and the verbs", test.format, err, want)
		case !fails:
			if got := string(write([]byte("> "), sample("tea"))); got != "> "+want {
				t.Errorf("%q: %q, want %q", test.format, got, want)
			}
		}
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	const head = `{"stream":"orders","shard":"shardId-000000000000","sequenceNumber":"49",`
	const time = `"arrivalTime":"2026-01-02T15:04:05.678Z",`
	aggregated := sample("tea")
	aggregated.Aggregated, aggregated.ExplicitHashKey = true, "7"
	tests := []struct {
		record *leat.Record
		want   string
	}{
		{sample("tea"), head + `"partitionKey":"k<1>",` + time + `"data":"tea"}`},
		{sample(""), head + `"partitionKey":"k<1>",` + time + `"data":""}`},
		{sample("\xff"), head + `"partitionKey":"k<1>",` + time + `"dataBase64":"/w=="}`},
		{aggregated, head + `"subSequenceNumber":0,"partitionKey":"k<1>","explicitHashKey":"7",` + time + `"data":"tea"}`},
	}
	for _, test := range tests {
		if got := string(writeJSON(nil, test.record)); got != test.want+"\n" {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
