package wire

import (
	"encoding/hex"
	"strings"
	"testing"
)

// jsonSeeds are answers, good and bad, for the table test and the fuzzer.
var jsonSeeds = []string{
	`{}`, `{"Records":[]}`, ` { "Records" : [ ] } `, `[]`, `null`, `{`, `{"Records":[`, `{"Records":[{}]`, `{"Records":[{}]}x`,
	`{"Records":null,"NextShardIterator":null,"MillisBehindLatest":null}`,
	`{"MillisBehindLatest":0,"NextShardIterator":"a","Records":[{"Data":"eA==","PartitionKey":"k","SequenceNumber":"1","ApproximateArrivalTimestamp":1.7E9}]}`,
	`{"Records":[{"SequenceNumber":"1","Data":"eHl6"},{"Data":"","SequenceNumber":"2"},{"Data":null,"PartitionKey":null}],"MillisBehindLatest":12}`,
	`{"Records":[{"ApproximateArrivalTimestamp":1700000000.123},{"ApproximateArrivalTimestamp":1700000000123},{"ApproximateArrivalTimestamp":1.700000000123e9},{"ApproximateArrivalTimestamp":17e8},{"ApproximateArrivalTimestamp":-1}]}`,
	`{"Records":[{"ApproximateArrivalTimestamp":"2023-11-14T22:13:20.123Z"},{"ApproximateArrivalTimestamp":"1700000000"},{"ApproximateArrivalTimestamp":0}]}`,
	`{"Records":[{"ApproximateArrivalTimestamp":"soon"}]}`, `{"Records":[{"ApproximateArrivalTimestamp":true}]}`, `{"Records":[{"ApproximateArrivalTimestamp":1e999}]}`,
	`{"Records":[{"PartitionKey":"a\"b\\c\/d\b\f\n\r\té\ud83d\ude00\ud83dx\ude00"}]}`,
	"{\"Records\":[{\"PartitionKey\":\"\xff\xc3\x28 \xe4\xb8\xad\"}]}", "{\"Records\":[{\"PartitionKey\":\"a\nb\"}]}",
	`{"Records":[{"PartitionKey":"\x"}]}`, `{"Records":[{"PartitionKey":"\u12g4"}]}`, `{"Records":[{"PartitionKey":"\u12`,
	`{"Records":[{"Data":"eA="}]}`, `{"Records":[{"Data":"e==="}]}`, `{"Records":[{"Data":"e*=="}]}`, `{"Records":[{"Data":"eA==eA=="}]}`,
	`{"Records":[{"Data":"eH\nl6"}]}`, `{"Records":[{"Data":"eH\/6"}]}`, `{"Records":[{"Data":"AA\u0041A"}]}`, `{"Records":[{"Data":"eA\r\n=="}]}`, `{"Records":[{"Data":7}]}`, "{\"Records\":[{\"Data\":\"eHl6\n\n\n\n\"}]}", "{\"Records\":[{\"Data\":\"eH\x00=\"}]}", "{\"Records\":[{\"Data\":\"eHl6eHl6\n\n\n\neHl6\"}]}",
	`{"Records":[{"Data":"eA==","Data":"eQ=="}],"MillisBehindLatest":1,"MillisBehindLatest":2}`, `{"Records":[{}],"Records":[{}]}`,
	`{"Records":[null]}`, `{"Records":{}}`, `{"Records":[[]]}`, `{"Records":[{},]}`, `{"Records":[,{}]}`, `{"Records":[{}{}]}`, `{"Records":[{"a":1,}]}`, `{,}`,
	`{"data":1,"records":2,"Rec\u006frds":[{"\u0044ata":"eA=="}]}`,
	`{"x":{"y":[1,2,{"z":null}],"w":true},"v":false,"Records":[{"EncryptionType":"KMS","u":[[[]]],"Data":"eA=="}],"t":-0.5e-3}`,
	`{"x":01}`, `{"x":1.}`, `{"x":.5}`, `{"x":-}`, `{"x":1e}`, `{"x":+1}`, `{"x":tru}`, `{"x":nul`, `{"x":truE}`, `{"x" 1}`, `{x:1}`, `{"x":"`, `{"x":1`,
	`{"MillisBehindLatest":12.7}`, `{"MillisBehindLatest":1e30}`, `{"MillisBehindLatest":-5}`, `{"MillisBehindLatest":"5"}`, `{"MillisBehindLatest":123456789012345678}`,
	`{"NextShardIterator":5}`, `{"NextShardIterator":""}`, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	`{"a":"` + strings.Repeat("x", 300) + `","Records":[{"Data":"` + strings.Repeat("eHl6", 100) + `"}]}`,
	`{"ChildShards":[{"ShardId":"s","ParentShards":["p"],"HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"9"}}],"MillisBehindLatest":0}`,
}

// cborSeeds are the same in CBOR, in hexadecimal: short keys by name.
var cborSeeds = []string{
	"a0", "bfff", "80", "f6", "a1", "bf", "ff", "a0a0", "d9d9f7a0", "a1f6f6", "a201020304",
	"a1{Records}80", "a1{Records}9fff", "a1{Records}f6", "a1{Records}a0", "a1{Records}9f", "a1{Records}9fa0ff", "a2{Records}80{Records}80",
	"a1{Records}81a4{SequenceNumber}6131{PartitionKey}616b{Data}4178{ApproximateArrivalTimestamp}c11b0000018bcfe5687b",
	"bf{MillisBehindLatest}00{NextShardIterator}6161{Records}9fbf{Data}5f41784179ff{SequenceNumber}7f6131620032ffffffff",
	"a1{Records}82a1{ApproximateArrivalTimestamp}fb41d954fc4007ced9a1{ApproximateArrivalTimestamp}c1fa4eca8641",
	"a1{Records}81a1{ApproximateArrivalTimestamp}c074323032332d31312d31345432323a31333a32305a", "a1{Records}81a1{ApproximateArrivalTimestamp}f97c00",
	"a1{Records}81a1{ApproximateArrivalTimestamp}c249010000000000000000", "a1{Records}81a1{ApproximateArrivalTimestamp}f93c00", "a1{Records}81a1{ApproximateArrivalTimestamp}f90001",
	"a1{MillisBehindLatest}c24101", "a1{MillisBehindLatest}c3420100", "a1{MillisBehindLatest}1bffffffffffffffff", "a1{MillisBehindLatest}3bffffffffffffffff", "a1{MillisBehindLatest}6135", "a1{MillisBehindLatest}f97e00",
	"a1{Records}81a1{Data}6178", "a1{Records}81a1{Data}6465413d3d", "a1{Records}81a1{Data}7f626541623d3dff", "a1{Records}81a1{Data}c06465413d3d", "a1{Records}81a1{Data}6565413d3d0a", "a1{Records}81a1{Data}5f6178ff", "a1{Records}81a1{Data}5f5f4178ffff", "a1{Records}81a1{Data}5fff", "a1{Records}81a1{Data}f7", "a1{Records}81a1{Data}d7d64178",
	"a1{Records}81a1{Data}5affffffff", "a1{Records}81a1{Data}5bffffffffffffffff", "a1{Records}9bffffffffffffffff", "a1{Records}9a00ffffff",
	"a1{PartitionKey}fe", "a1{PartitionKey}1c", "a1{PartitionKey}f818", "a1{PartitionKey}f8ff", "a1{PartitionKey}1f", "a1{PartitionKey}df00", "a1{PartitionKey}ff",
	"a1{Records}81a1{PartitionKey}62ffc3", "a1{Records}81a1{PartitionKey}7f61c361a9ff", "a1{Records}81a1{PartitionKey}40",
	"a17f6352656367636f726473ff80", "bf7f6352656364636f7264617380ffff", "a1c0{Records}80", "a3818000a00041780f", "bf00ff", "a100ff", "9f00",
	"a1{ChildShards}81a3{ShardId}6173{ParentShards}816170{HashKeyRange}a2{StartingHashKey}6130{EndingHashKey}6139", "a1{ChildShards}80", "a1{ChildShards}81f6", "a1{ChildShards}81a100{ShardId}",
	"a100" + strings.Repeat("81", 200) + "00", "a100" + strings.Repeat("c0", 200) + "00", "a100" + strings.Repeat("9f", 40) + strings.Repeat("ff", 40),
}

// cborOf replaces {Name} by the name in CBOR.
func cborOf(t testing.TB, seed string) []byte {
	var body []byte
	for seed != "" {
		if seed[0] == '{' {
			name, rest, _ := strings.Cut(seed[1:], "}")
			body, seed = appendString(body, name), rest
			continue
		}
		i := strings.IndexByte(seed, '{')
		if i < 0 {
			i = len(seed)
		}
		b, err := hex.DecodeString(seed[:i])
		if err != nil {
			t.Fatalf("%s: %v", seed, err)
		}
		body, seed = append(body, b...), seed[i:]
	}
	return body
}

// TestJSON and TestCBOR: the fuzzers' seeds, cut everywhere.
func TestJSON(t *testing.T) {
	for _, seed := range jsonSeeds {
		for n := range min(len(seed), 200) {
			agree(t, []byte(seed[:n]), jsonOracle)
		}
		agree(t, []byte(seed), jsonOracle)
	}
}

func TestCBOR(t *testing.T) {
	for _, seed := range cborSeeds {
		body := cborOf(t, seed)
		for n := range body {
			agree(t, body[:n], cborOracle)
		}
		agree(t, body, cborOracle)
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Add(newSample(2, 100).json())
	f.Fuzz(func(t *testing.T, body []byte) {
		if formatOf(body) == JSON {
			agree(t, body, jsonOracle)
		}
	})
}

func FuzzCBOR(f *testing.F) {
	for _, seed := range cborSeeds {
		f.Add(cborOf(f, seed))
	}
	f.Add(newSample(2, 100).cbor(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		if formatOf(body) == CBOR {
			agree(t, body, cborOracle)
		}
	})
}
