package local_test

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/leatstream/leat/local"
)

var fuzzedOperations = []string{"CreateStream", "DeleteStream", "DescribeStreamSummary", "GetRecords", "GetShardIterator",
	"ListShards", "ListStreams", "MergeShards", "PutRecord", "PutRecords", "SplitShard"}

var fuzzedBodies = []string{
	`{}`, `null`, `[]`, `{"StreamName":"s"}`, `{"StreamName":null,"StreamARN":":stream/"}`,
	`{"StreamName":"s","ShardFilter":{},"StreamModeDetails":{},"Timestamp":null,"Records":[{}]}`,
	`{"StreamName":"s","ShardId":"shardId-000000000000","ShardIteratorType":"AT_TIMESTAMP","Timestamp":-1e300}`,
	`{"StreamName":"s","ShardToSplit":"shardId-000000000001","NewStartingHashKey":"99"}`,
	`{"NextToken":"eyJTdHJlYW0iOiJzIiwiRmlsdGVyIjp7fX0=","ShardIterator":"AQ=="}`,
}

// answerTo is what a new server answers to a request, with a stream that was resharded.
func answerTo(t *testing.T, operation, media, body string) (status int, answer []byte) {
	t.Helper()
	now := time.UnixMilli(1_795_255_200_500)
	server := local.New(local.Config{ShardLimit: 20, Now: func() time.Time { return now }})
	for _, call := range [][3]string{
		{"CreateStream", jsonMedia, `{"StreamName":"s","ShardCount":1}`},
		{"SplitShard", jsonMedia, `{"StreamName":"s","ShardToSplit":"shardId-000000000000","NewStartingHashKey":"4711"}`},
		{operation, media, body},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(call[2]))
		r.Header.Set("Content-Type", call[1])
		r.Header.Set("X-Amz-Target", "Kinesis_20131202."+call[0])
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		status, answer = w.Code, w.Body.Bytes()
	}
	return status, answer
}

// checkAnswer checks that an answer has a known status, and a type where it is an error.
func checkAnswer(t *testing.T, status int, tree any) {
	t.Helper()
	members, _ := tree.(map[string]any)
	kind, _ := members["__type"].(string)
	if status != http.StatusOK && status != http.StatusBadRequest || (status == http.StatusOK) != (kind == "") {
		t.Errorf("%d %v", status, tree)
	}
}

// FuzzRequest sends any body to any operation: each answer is JSON, and nothing panics.
func FuzzRequest(f *testing.F) {
	for i := range fuzzedOperations {
		for _, body := range fuzzedBodies {
			f.Add(uint8(i), body)
		}
	}
	f.Fuzz(func(t *testing.T, operation uint8, body string) {
		status, answer := answerTo(t, fuzzedOperations[int(operation)%len(fuzzedOperations)], jsonMedia, body)
		checkAnswer(t, status, treeOfJSON(t, answer))
	})
}

// FuzzRequestCBOR sends any body to any operation: each answer is CBOR; what the second decoder refuses is refused; and
// what can be said in JSON is answered as in JSON.
func FuzzRequestCBOR(f *testing.F) {
	for seed := range uint64(3) {
		shapes := shapes{rand.New(rand.NewPCG(seed, 0))}
		for i := range fuzzedOperations {
			for _, body := range slices.Concat(fuzzedBodies, []string{
				`{"StreamName":"s","Records":[{"Data":"dGVh","PartitionKey":"k"},{"Data":"","PartitionKey":"ü","ExplicitHashKey":"7"}]}`,
				`{"StreamName":"s","ShardCount":2,"Tags":{"a":"b"},"Data":"dGVh","PartitionKey":"k","DryRun":true}`,
				`{"StreamName":"s","ShardFilter":{"Type":"AT_TIMESTAMP","Timestamp":1795255200.25},"MaxResults":1,"Limit":-3}`,
			}) {
				f.Add(uint8(i), string(shapes.request([]byte(body))))
			}
		}
	}
	f.Fuzz(func(t *testing.T, operation uint8, body string) {
		op := fuzzedOperations[int(operation)%len(fuzzedOperations)]
		status, answer := answerTo(t, op, cborMedia, body)
		tree := treeOfCBOR(t, answer)
		checkAnswer(t, status, tree)
		refused := isSerialization(tree)
		if body != "" && looseCBOR.Wellformed([]byte(body)) != nil {
			if !refused {
				t.Errorf("%s %x is not CBOR, and answered with %v", op, body, tree)
			}
			return
		}
		said, ok := saidInJSON(body)
		if !ok {
			return
		}
		statusInJSON, answer := answerTo(t, op, jsonMedia, said)
		inJSON := treeOfJSON(t, answer)
		if refused && isSerialization(inJSON) {
			return // each in its own words
		}
		if status != statusInJSON || !reflect.DeepEqual(tree, inJSON) {
			t.Errorf("%s %x: %d %s\nin JSON %s: %d %s", op, body, status, show(tree), said, statusInJSON, show(inJSON))
		}
	})
}

func isSerialization(tree any) bool {
	members, ok := tree.(map[string]any)
	return ok && members["__type"] == "SerializationException"
}

var looseCBOR = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxNestedLevels: 65535}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// saidInJSON is a request in JSON. It is not ok if the second decoder does not read it, or if JSON has no such values.
func saidInJSON(body string) (said string, ok bool) {
	if body == "" {
		return "", true
	}
	var tree any
	if err := strictCBOR.Unmarshal([]byte(body), &tree); err != nil {
		return "", false
	}
	tree, ok = sayable("", tree)
	if !ok {
		return "", false
	}
	b, err := json.Marshal(tree)
	return string(b), err == nil
}

// requestMembers are those of all requests. Others are left out: encoding/json would take them in any case, upper or lower.
var requestMembers = []string{"StreamName", "StreamARN", "ShardCount", "StreamModeDetails", "StreamMode", "MaxRecordSizeInKiB", "Tags",
	"RecordDistributionStrategy", "ShardIterator", "Limit", "DryRun", "ShardId", "ShardIteratorType", "StartingSequenceNumber",
	"Timestamp", "NextToken", "ExclusiveStartShardId", "ExclusiveStartStreamName", "MaxResults", "StreamCreationTimestamp", "ShardFilter",
	"Type", "ShardToMerge", "AdjacentShardToMerge", "ShardToSplit", "NewStartingHashKey", "Records", "Data", "PartitionKey",
	"ExplicitHashKey", "SequenceNumberForOrdering"}

func sayable(name string, value any) (said any, ok bool) {
	switch v := value.(type) {
	case cbor.Tag:
		return sayable(name, v.Content)
	case map[string]any:
		for key := range v {
			if key == "" {
				return nil, false // or no text: the second decoder takes undefined for an empty one
			}
			if name != "Tags" && !slices.Contains(requestMembers, key) {
				delete(v, key)
				continue
			}
			if v[key], ok = sayable(key, v[key]); !ok {
				return nil, false
			}
		}
		return v, true
	case []any:
		if name == "Data" {
			return nil, false // encoding/json takes a list of bytes
		}
		for i := range v {
			if v[i], ok = sayable(name, v[i]); !ok {
				return nil, false
			}
		}
		return v, true
	case string:
		return v, name != "Data" && !strings.HasSuffix(name, "Timestamp")
	case []byte:
		return base64.StdEncoding.EncodeToString(v), name == "Data"
	case uint64:
		return inSeconds(name, float64(v), json.Number(strconv.FormatUint(v, 10)))
	case int64:
		return inSeconds(name, float64(v), json.Number(strconv.FormatInt(v, 10)))
	case float64:
		return inSeconds(name, v, nil)
	case time.Time:
		if v.Nanosecond()%1e6 != 0 {
			return nil, false // rounded in two ways
		}
		return inSeconds(name, float64(v.Unix())+float64(v.Nanosecond()/1e6)/1000, nil)
	case big.Int, cbor.SimpleValue:
		return nil, false
	}
	return value, true
}

// inSeconds is a number, in seconds if it is a time. Times beyond all clocks cannot be said.
func inSeconds(name string, number float64, other any) (any, bool) {
	if !strings.HasSuffix(name, "Timestamp") {
		return other, other != nil
	}
	if number >= 1e11 {
		number /= 1000
	}
	return number, number >= 0 && number < 1e11 && number == float64(int64(number*1000))/1000
}
