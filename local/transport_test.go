package local_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/local"
)

// TestLoopback repeats the life of a stream on a port: over HTTP/1.1 and over
// HTTP/2 without TLS, with the SDK's default retries (it must not need them).
func TestLoopback(t *testing.T) {
	t.Parallel()
	for name, enable := range map[string]func(*http.Protocols){
		"HTTP1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP2": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			server := local.New(local.Config{Unlimited: true})
			endpoint := serve(t, server)
			transport := &http.Transport{Protocols: new(http.Protocols)}
			enable(transport.Protocols)
			seen := &protocolOf{inner: transport}
			defer transport.CloseIdleConnections()

			config := server.AWSConfig()
			config.BaseEndpoint = aws.String(endpoint)
			config.HTTPClient = &http.Client{Transport: seen}
			lifeOfAStream(&fixture{t, server, kinesis.NewFromConfig(config)})
			if want := "HTTP/" + map[string]string{"HTTP1": "1.1", "HTTP2": "2.0"}[name]; seen.proto != want {
				t.Errorf("spoke %s, want %s", seen.proto, want)
			}
		})
	}
}

// protocolOf remembers the protocol of the last answer.
type protocolOf struct {
	inner http.RoundTripper
	proto string
}

func (p *protocolOf) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.inner.RoundTrip(r)
	if err == nil {
		p.proto = answer.Proto
	}
	return answer, err
}

// TestAnswersOnTheWire looks at what no SDK shows: the bytes.
func TestAnswersOnTheWire(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 500_000_000, time.UTC)
	server := local.New(local.Config{Now: func() time.Time { return now }})
	const amz = "application/x-amz-json-1.1"
	for _, c := range []struct {
		operation, media, body string
		status                 int
		answer                 string
	}{
		{"CreateStream", amz, `{"StreamName":"s","ShardCount":1}`, 200, ``},
		{"CreateStream", amz + "; charset=utf-8", `{"StreamName":"t","ShardCount":1,"Tags":{"a":"b"}}`, 200, ``},
		{"PutRecord", amz, `{"StreamName":"s","PartitionKey":"k\u00e9\"","Data":"AAEC"}`, 200,
			`{"ShardId":"shardId-000000000000","SequenceNumber":"49680269475022600000000000000000000000000000000000000000","EncryptionType":"NONE"}`},
		{"ListStreams", amz, ``, 200,
			`{"HasMoreStreams":false,"StreamNames":["s","t"],"StreamSummaries":[` +
				`{"StreamName":"s","StreamARN":"arn:aws:kinesis:us-east-1:000000000000:stream/s","StreamStatus":"ACTIVE","StreamModeDetails":{"StreamMode":"PROVISIONED"},"StreamCreationTimestamp":1795255200.500},` +
				`{"StreamName":"t","StreamARN":"arn:aws:kinesis:us-east-1:000000000000:stream/t","StreamStatus":"ACTIVE","StreamModeDetails":{"StreamMode":"PROVISIONED"},"StreamCreationTimestamp":1795255200.500}]}`},
		{"DeleteStream", amz, `{"StreamARN":"arn:aws:kinesis:us-east-1:12:stream/s"}`, 400,
			`{"__type":"ValidationException","message":"1 validation error detected: Value 'arn:aws:kinesis:us-east-1:12:stream/s' at 'streamARN' ` +
				`failed to satisfy constraint: Member must satisfy regular expression pattern: arn:aws.*:kinesis:.*:\\d{12}:stream/\\S+"}`},
		{"PutRecords", amz, `{"StreamName":"s","Records":[{"Data":"","PartitionKey":"k"},{}]}`, 400,
			`{"__type":"ValidationException","message":"2 validation errors detected: Value null at 'records.2.member.data' failed to satisfy constraint: Member must not be null; ` +
				`Value null at 'records.2.member.partitionKey' failed to satisfy constraint: Member must not be null"}`},
		{"GetRecords", amz, `{"ShardIterator":"what"}`, 400, `{"__type":"InvalidArgumentException","message":"Invalid ShardIterator."}`},
		{"GetRecords", amz, `{"ShardIterator":7}`, 400, `{"__type":"SerializationException","message":"*`},
		{"GetRecords", amz, `{"ShardIterator`, 400, `{"__type":"SerializationException","message":"*`},
		{"GetGroceries", amz, `{}`, 400, `{"__type":"UnknownOperationException","message":"*`},
		{"ListStreams", "application/x-amz-cbor-2.0", ``, 400, `{"__type":"UnknownOperationException","message":"*`},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.media)
		r.Header.Set("X-Amz-Target", "Kinesis_20131202."+c.operation)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		got := w.Body.String()
		if c.operation == "PutRecord" { // all but the sequence number
			got = regexp.MustCompile(`\d{56}`).ReplaceAllString(got, "49680269475022600000000000000000000000000000000000000000")
		}
		want, open := strings.CutSuffix(c.answer, "*")
		if w.Code != c.status || got != want && !(open && strings.HasPrefix(got, want)) {
			t.Errorf("%s %s:\n got %d %s\nwant %d %s", c.operation, c.body, w.Code, got, c.status, c.answer)
		}
		h := w.Result().Header
		if h.Get("Date") != "Sat, 21 Nov 2026 10:00:00 GMT" || h.Get("X-Amzn-Requestid") == "" || h.Get("X-Amz-Id-2") == "" ||
			h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) || h.Get("Content-Type") != amz {
			t.Errorf("%s: headers %v", c.operation, h)
		}
	}
}

func TestTooLargeRequest(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/", io.LimitReader(zeros{}, 33<<20))
	w := httptest.NewRecorder()
	local.New(local.Config{}).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 33 MiB: %d", w.Code)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestServeStops checks that the end of the context ends Serve, and that a broken
// listener is an error.
func TestServeStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- local.New(local.Config{}).ListenAndServe(ctx, "127.0.0.1:0") }()
	stop()
	if err := <-done; err != nil {
		// The listener may have been refused the context that had ended.
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := local.New(local.Config{}).Serve(t.Context(), listener); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serving on a closed listener: %v", err)
	}
}

// TestInProcessClient checks what the SDK relies on: the request's context, the
// answer's length, and a body that stays shut.
func TestInProcessClient(t *testing.T) {
	t.Parallel()
	server := local.New(local.Config{})
	ask := func(ctx context.Context) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, "POST", "http://anywhere/", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
		r.Header.Set("X-Amz-Target", "Kinesis_20131202.ListStreams")
		return server.HTTPClient().Do(r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	answer, err := ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil || int64(len(data)) != answer.ContentLength || answer.Header.Get("Content-Length") != strconv.Itoa(len(data)) {
		t.Errorf("%d bytes, told %d, %v", len(data), answer.ContentLength, err)
	}
	answer.Body.Close()
	answer.Body.Close()
	if _, err := answer.Body.Read(data); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("reading a closed body: %v", err)
	}
}
