package local_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/fxamacker/cbor/v2"

	"github.com/leatstream/leat/local"
)

const (
	jsonMedia = "application/x-amz-json-1.1"
	cborMedia = "application/x-amz-cbor-1.1"
)

// twins are two servers with one clock that get the same calls: one in JSON, as the SDK made them, one in CBOR, in
// shapes by chance. As an HTTP client they have the answer of the first; that of the second, by the second decoder, must
// say the same.
type twins struct {
	*testing.T
	json, cbor *local.Server
	shapes     shapes
	now        atomic.Int64 // Unix milliseconds
}

func newTwins(t *testing.T, seed uint64) *twins {
	t.Logf("-calls.seed=%d", seed)
	w := &twins{T: t, shapes: shapes{rand.New(rand.NewPCG(seed, 1))}}
	config := local.Config{
		ShardLimit: 50, Unlimited: true, EndWithRecords: true,
		Now: func() time.Time { return time.UnixMilli(w.now.Load()) },
	}
	w.json, w.cbor = local.New(config), local.New(config)
	return w
}

func (w *twins) client() *kinesis.Client {
	config := w.json.AWSConfig()
	config.HTTPClient = w
	config.BaseEndpoint = aws.String("http://127.0.0.1") // else the SDK itself refuses ARNs that are none
	return kinesis.NewFromConfig(config, noRetries, unchecked)
}

// Do implements the SDK's HTTPClient.
func (w *twins) Do(r *http.Request) (*http.Response, error) {
	w.now.Store(time.Now().UnixMilli())
	question, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	shaped := w.shapes.request(question)
	var bodies [2][]byte
	var heads [2]http.Header
	var answers [2]*http.Response
	for i, server := range []*local.Server{w.json, w.cbor} {
		ask := r.Clone(r.Context())
		ask.Body = io.NopCloser(bytes.NewReader([][]byte{question, shaped}[i]))
		ask.Header.Set("Content-Type", []string{jsonMedia, cborMedia}[i])
		if answers[i], err = server.HTTPClient().Do(ask); err != nil {
			return nil, err
		}
		if bodies[i], err = io.ReadAll(answers[i].Body); err != nil {
			return nil, err
		}
		heads[i] = answers[i].Header.Clone()
		delete(heads[i], "Content-Length")
	}
	answers[0].Body = io.NopCloser(bytes.NewReader(bodies[0]))

	if got := heads[1].Get("Content-Type"); got != cborMedia {
		w.Errorf("CBOR was answered with %s", got)
	}
	heads[1].Set("Content-Type", jsonMedia)
	inJSON, inCBOR := treeOfJSON(w, bodies[0]), treeOfCBOR(w, bodies[1])
	if answers[0].StatusCode != answers[1].StatusCode || !reflect.DeepEqual(heads[0], heads[1]) || !reflect.DeepEqual(inJSON, inCBOR) {
		w.Errorf("%s %s\nin CBOR %x\nJSON: %d %v %s\nCBOR: %d %v %s", r.Header.Get("X-Amz-Target"), question, shaped,
			answers[0].StatusCode, heads[0], show(inJSON), answers[1].StatusCode, heads[1], show(inCBOR))
	}
	return answers[0], nil
}

// treeOfJSON is an answer in JSON as encoding/json has it; nil if it is empty.
func treeOfJSON(t testing.TB, body []byte) (tree any) {
	if len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, &tree); err != nil {
		t.Errorf("%q: %v", body, err)
	}
	return tree
}

var strictCBOR = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, DefaultMapType: reflect.TypeFor[map[string]any](),
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// treeOfCBOR is an answer in CBOR as it would be in JSON.
func treeOfCBOR(t testing.TB, body []byte) (tree any) {
	if len(body) == 0 {
		return nil
	}
	if err := strictCBOR.Unmarshal(body, &tree); err != nil {
		t.Errorf("%x: %v", body, err)
	}
	return likeJSON(tree)
}

// likeJSON is a value of the second decoder as encoding/json has it.
func likeJSON(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = likeJSON(v[name])
		}
	case []any:
		for i := range v {
			v[i] = likeJSON(v[i])
		}
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	case time.Time: // tag 1, by the service in milliseconds, which the decoder takes for seconds
		return float64(v.Unix()) / 1000
	}
	return value
}

// TestCBORSaysWhatJSONSays makes the calls of the scripts, and random ones.
func TestCBORSaysWhatJSONSays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/calls/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts of calls", err)
	}
	made := func(s *side, calls func(func(call) bool)) {
		for c := range calls {
			if c.op == "" {
				if err := s.forget(t.Context()); err != nil {
					t.Error(err)
				}
				continue
			}
			if _, err := s.answer(t.Context(), c); err != nil {
				t.Errorf("%v: %v", c, err)
			}
			if t.Failed() {
				return
			}
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		made(&side{client: newTwins(t, *callSeed).client(), saved: map[string]any{}}, slices.Values(parseCalls(t, string(text))))
	}
	random := &side{client: newTwins(t, *callSeed).client(), saved: map[string]any{}}
	caller := &randomCaller{Rand: rand.New(rand.NewPCG(*callSeed, 0)), side: random, calls: map[string]members{}}
	made(random, func(yield func(call) bool) {
		for i := range *callCount {
			if !yield(caller.next(i)) {
				return
			}
		}
	})
}

// TestCBORSizes is about the lengths at which an item's head grows.
func TestCBORSizes(t *testing.T) {
	t.Parallel()
	w := newTwins(t, *callSeed)
	f := &fixture{t, w.json, w.client()}
	f.create("s", 1)
	var want []string
	for _, size := range []int{0, 1, 23, 24, 255, 256, 65535, 65536, 1 << 19} {
		data := strings.Repeat("x", size)
		f.put("s", strings.Repeat("k", max(1, min(size, 256))), data)
		want = append(want, data)
	}
	if got := texts(f.drain(f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon))); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
}

// TestCBORFailures are errors of every origin: each is CBOR, and says what it says in JSON.
func TestCBORFailures(t *testing.T) {
	t.Parallel()
	w := newTwins(t, *callSeed)
	f := &fixture{t, w.json, w.client()}
	f.create("s", 1)
	iterator := f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon)
	for _, kind := range []local.FaultKind{local.Throttle, local.Error, local.ExpireIterator} {
		for _, server := range []*local.Server{w.json, w.cbor} {
			server.SetFaults(1, local.Fault{Kind: kind, Op: "GetRecords", Share: 1})
		}
		if _, err := f.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator}); err == nil {
			t.Errorf("kind %d: no error", kind)
		}
	}
	for body, want := range map[string]string{
		"":                              "none", // as in JSON
		"\xa0":                          "none",
		"\xf6":                          "none",
		"\xbf\xff":                      "none",
		"\xd9\xd9\xf7\xa0":              "none", // the tag that says: this is CBOR
		"\xa1\x61x\xa1\x01\xf5":         "none", // what is not known may have any keys
		"\xa1\x61x\x82\xf9\x7c\x00\xf7": "none", // and values: infinite, undefined
		"\xa1\x65Limit\x01":             "none",
		"\xa1\x65Limit\x19\x00\x01":     "none",
		"\xa1\x65Limit\xf6":             "none",
		"\xa1\x65Limit\x1b\x00\x00\x00\x01\x00\x00\x00\x00": "SerializationException", // 2^32
		"\xa1\x65Limit\x3b\xff\xff\xff\xff\xff\xff\xff\xff": "SerializationException",
		"\xa1\x65Limit\x61x": "SerializationException",
		"\xa1\x65Limit":      "SerializationException",
		"\xa1\x01\x01":       "SerializationException", // a member without a name
		"\xa0\xa0":           "SerializationException",
		"\x80":               "SerializationException",
		"\xff":               "SerializationException",
		"\xbf":               "SerializationException",
		"\xa2\x65Limit\x01":  "SerializationException",
		"\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x65Limit\x01": "SerializationException",
		"\xa1\x63x\xc3\x28\x01":                             "SerializationException", // not UTF-8
		"\xa1\x61x\x7f\x41x\xff":                            "SerializationException", // bytes in a text
		"\xa1\x61x\xf8\x14":                                 "SerializationException", // true in two bytes
		"\xa1\x61x\x1c":                                     "SerializationException",
		"\xa1\x61x" + strings.Repeat("\x81", 99) + "\x01":   "SerializationException",
		`{"Limit":1}`:                                       "SerializationException",
	} {
		r, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", cborMedia)
		r.Header.Set("X-Amz-Target", "Kinesis_20131202.ListStreams")
		answer, err := w.cbor.HTTPClient().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		kind := "none"
		if tree := treeOfCBOR(t, got).(map[string]any); answer.StatusCode != http.StatusOK {
			kind = fmt.Sprint(tree["__type"])
		}
		if kind != want {
			t.Errorf("%x: %s, want %s", body, kind, want)
		}
	}
}
