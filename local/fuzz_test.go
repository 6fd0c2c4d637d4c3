package local_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leatstream/leat/local"
)

// FuzzRequest sends any body to any operation of a server with a stream that was
// resharded: each answer is JSON of a known status, and nothing panics.
func FuzzRequest(f *testing.F) {
	operations := []string{"CreateStream", "DeleteStream", "DescribeStreamSummary", "GetRecords", "GetShardIterator",
		"ListShards", "ListStreams", "MergeShards", "PutRecord", "PutRecords", "SplitShard"}
	for i := range operations {
		for _, body := range []string{
			`{}`, `null`, `[]`, `{"StreamName":"s"}`, `{"StreamName":null,"StreamARN":":stream/"}`,
			`{"StreamName":"s","ShardFilter":{},"StreamModeDetails":{},"Timestamp":null,"Records":[{}]}`,
			`{"StreamName":"s","ShardId":"shardId-000000000000","ShardIteratorType":"AT_TIMESTAMP","Timestamp":-1e300}`,
			`{"StreamName":"s","ShardToSplit":"shardId-000000000001","NewStartingHashKey":"99"}`,
			`{"NextToken":"eyJTdHJlYW0iOiJzIiwiRmlsdGVyIjp7fX0=","ShardIterator":"AQ=="}`,
		} {
			f.Add(uint8(i), body)
		}
	}
	f.Fuzz(func(t *testing.T, operation uint8, body string) {
		server := local.New(local.Config{ShardLimit: 20})
		name := operations[int(operation)%len(operations)]
		for _, call := range [][2]string{
			{"CreateStream", `{"StreamName":"s","ShardCount":1}`},
			{"SplitShard", `{"StreamName":"s","ShardToSplit":"shardId-000000000000","NewStartingHashKey":"4711"}`},
			{name, body},
		} {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(call[1]))
			r.Header.Set("Content-Type", "application/x-amz-json-1.1")
			r.Header.Set("X-Amz-Target", "Kinesis_20131202."+call[0])
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			var refusal struct {
				Type string `json:"__type"`
			}
			switch answer := w.Body.Bytes(); {
			case len(answer) > 0 && json.Unmarshal(answer, &refusal) != nil:
				t.Errorf("%s %q: answer %q is not JSON", call[0], call[1], answer)
			case w.Code != http.StatusOK && w.Code != http.StatusBadRequest, (w.Code == http.StatusOK) != (refusal.Type == ""):
				t.Errorf("%s %q: %d %s", call[0], call[1], w.Code, answer)
			}
		}
	})
}
