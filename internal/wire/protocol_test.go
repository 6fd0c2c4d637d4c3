package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"
	"github.com/fxamacker/cbor/v2"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/local"
)

// server answers every request; it is the client's HTTPClient.
type server struct {
	answer  func(request map[string]any, format Format) (status int, body []byte)
	unknown bool // the answers do not tell their length

	formats []Format // of the requests
	header  http.Header
	request map[string]any
}

func (s *server) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.header = r.Header
	format := JSON
	if r.Header.Get("Content-Type") == cborType {
		format = CBOR
		s.request = nil
		if err := cbor.Unmarshal(body, &s.request); err != nil {
			return nil, err
		}
	}
	s.formats = append(s.formats, format)
	status, answer := s.answer(s.request, format)
	length := int64(len(answer))
	if s.unknown {
		length = -1
	}
	return &http.Response{StatusCode: status, ContentLength: length, Body: io.NopCloser(bytes.NewReader(answer)),
		Header: http.Header{"Content-Type": {"text/nothing"}}}, nil
}

type client struct {
	*kinesis.Client
	protocol *Protocol
	told     []string
}

func newClient(s kinesis.HTTPClient, format Format) *client {
	c := new(client)
	c.Client = kinesis.New(kinesis.Options{
		Region: "us-east-1", HTTPClient: s, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
		}),
	}, func(o *kinesis.Options) {
		c.protocol = New(o.Protocol, format, func(reason string) { c.told = append(c.told, reason) })
		o.Protocol = c.protocol
	})
	return c
}

// get makes one call for records.
func (c *client) get(t *testing.T) (*Batch, *kinesis.GetRecordsOutput, error) {
	t.Helper()
	b := &Batch{Template: record.Record{Stream: "orders", Shard: "shardId-000000000000", Token: 7}}
	out, err := c.GetRecords(WithBatch(t.Context(), b), &kinesis.GetRecordsInput{
		ShardIterator: aws.String("iterator"), StreamARN: aws.String("arn:aws:kinesis:us-east-1:123456789012:stream/orders"),
		Limit: aws.Int32(10_000), DryRun: aws.Bool(true),
	})
	return b, out, err
}

func TestProtocolSpeaksBothFormats(t *testing.T) {
	s := newSample(700, 300)
	for _, unknown := range []bool{false, true} {
		for _, format := range []Format{Auto, CBOR, JSON} {
			srv := &server{unknown: unknown, answer: func(_ map[string]any, asked Format) (int, []byte) {
				if asked == CBOR {
					return 200, s.cbor(t)
				}
				return 200, s.json()
			}}
			c := newClient(srv, format)
			b, out, err := c.get(t)
			if err != nil {
				t.Fatal(err)
			}
			want := s.records[5]
			want.Stream, want.Shard, want.Token = "orders", "shardId-000000000000", 7
			if !b.Filled || len(b.Records) != 700 || !reflect.DeepEqual(b.Records[5], want) || len(out.Records) != 0 {
				t.Errorf("%v: %d records, %+v", format, len(b.Records), b.Records[5])
			}
			if *out.NextShardIterator != s.next || *out.MillisBehindLatest != s.behind {
				t.Errorf("%v: %q %d", format, *out.NextShardIterator, *out.MillisBehindLatest)
			}
			asked := CBOR
			if format == JSON {
				asked = JSON
			}
			if srv.formats[0] != asked || len(c.told) != 0 || c.protocol.Format() != asked {
				t.Errorf("%v: asked in %v, told %v", format, srv.formats, c.told)
			}
			if !strings.HasPrefix(srv.header.Get("Authorization"), "AWS4-HMAC-SHA256 ") || srv.header.Get("X-Amz-Target") != "Kinesis_20131202.GetRecords" {
				t.Errorf("%v: header %v", format, srv.header)
			}
			wantRequest := map[string]any{"ShardIterator": "iterator", "Limit": uint64(10_000), "DryRun": true,
				"StreamARN": "arn:aws:kinesis:us-east-1:123456789012:stream/orders"}
			if asked == CBOR && !reflect.DeepEqual(srv.request, wantRequest) {
				t.Errorf("request %v", srv.request)
			}
			// A call without a batch is the SDK's own.
			plain, err := c.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: aws.String("iterator")})
			if err != nil || len(plain.Records) != 700 || srv.formats[1] != JSON {
				t.Errorf("%v: %v", format, err)
			}
		}
	}
}

// TestErrorsAreTheSDKsTypes: each error of the service, in CBOR, becomes what it would be had it come in JSON.
func TestErrorsAreTheSDKsTypes(t *testing.T) {
	for _, want := range []smithy.APIError{
		&types.AccessDeniedException{}, &types.DryRunOperationException{}, &types.ExpiredIteratorException{},
		&types.ExpiredNextTokenException{}, &types.InternalFailureException{}, &types.InvalidArgumentException{},
		&types.KMSAccessDeniedException{}, &types.KMSDisabledException{}, &types.KMSInvalidStateException{},
		&types.KMSNotFoundException{}, &types.KMSOptInRequired{}, &types.KMSThrottlingException{},
		&types.LimitExceededException{}, &types.ProvisionedThroughputExceededException{},
		&types.ResourceInUseException{}, &types.ResourceNotFoundException{}, &types.ValidationException{},
		&smithy.GenericAPIError{Code: "UnrecognizedClientException"},
	} {
		code := want.ErrorCode()
		for _, written := range []string{code, "com.amazonaws.kinesis.v20131202#" + code} {
			srv := &server{answer: func(map[string]any, Format) (int, []byte) {
				body, err := cbor.Marshal(map[string]any{"__type": written, "message": "no \"such\" thing", "extra": []int{1}})
				if err != nil {
					t.Fatal(err)
				}
				return 400, body
			}}
			c := newClient(srv, Auto)
			b, _, err := c.get(t)
			got := reflect.New(reflect.TypeOf(want))
			if !errors.As(err, got.Interface()) {
				t.Errorf("%s is %v", written, err)
				continue
			}
			api := got.Elem().Interface().(smithy.APIError)
			if api.ErrorCode() != code || api.ErrorMessage() != "no \"such\" thing" || b.Records != nil {
				t.Errorf("%s is %v", written, api)
			}
			if c.protocol.Format() != CBOR || len(c.told) != 0 {
				t.Errorf("%s ended CBOR: %v", written, c.told)
			}
		}
	}
}

// TestFallBack: what makes JSON of CBOR, and what does not.
func TestFallBack(t *testing.T) {
	s := newSample(3, 10)
	cborError := func(code string) []byte {
		body, _ := cbor.Marshal(map[string]string{"__type": code, "message": "m"})
		return body
	}
	whole := s.cbor(t)
	for name, test := range map[string]struct {
		status int
		body   []byte
		falls  bool
		sure   bool // only if it is sure that the body came whole: its length was told
		works  bool // the first answer is used all the same
	}{
		"JSON":                   {status: 200, body: s.json(), falls: true, works: true},
		"a page":                 {status: 200, body: []byte("<html>hello</html>"), falls: true},
		"SerializationException": {status: 400, body: []byte(`{"__type":"SerializationException"}`), falls: true},
		"the same in CBOR":       {status: 400, body: cborError("SerializationException"), falls: true},
		"UnknownOperation":       {status: 400, body: []byte(`{"__type":"com.amazon.coral.service#UnknownOperationException"}`), falls: true},
		"UnknownOperation, 404":  {status: 404, body: cborError("UnknownOperationException"), falls: true},
		"UnknownOperation, 500":  {status: 500, body: []byte(`{"__type":"UnknownOperationException"}`)},
		"Serialization, 503":     {status: 503, body: cborError("SerializationException")},
		"an error page":          {status: 502, body: []byte("<html>bad gateway</html>")},
		"a refusal page":         {status: 403, body: []byte("<html>forbidden</html>")},
		"throttled":              {status: 400, body: cborError("ProvisionedThroughputExceededException")},
		"nothing":                {status: 200, body: nil, works: true},
		"nothing, 500":           {status: 500, body: nil},
		"half an answer":         {status: 200, body: whole[:len(whole)/2], sure: true},
		"too much":               {status: 200, body: append(bytes.Clone(whole), 0), sure: true},
	} {
		for _, unknown := range []bool{false, true} {
			first := true
			srv := &server{unknown: unknown, answer: func(_ map[string]any, asked Format) (int, []byte) {
				if first {
					first = false
					return test.status, test.body
				}
				if asked == CBOR {
					return 200, whole
				}
				return 200, s.json()
			}}
			test := test
			test.falls = test.falls || test.sure && !unknown
			c := newClient(srv, Auto)
			b, _, err := c.get(t)
			if works := err == nil; works != test.works {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil && len(test.body) > 0 && len(b.Records) != 3 || err != nil && b.Records != nil {
				t.Errorf("%s: %d records, %v", name, len(b.Records), err)
			}
			if errors.Is(err, ErrNoCBOR) != (test.falls && !test.works) {
				t.Errorf("%s: %v", name, err)
			}
			for range 3 {
				if b, _, err := c.get(t); err != nil || len(b.Records) != 3 {
					t.Errorf("%s: later %d records, %v", name, len(b.Records), err)
				}
			}
			want, told := CBOR, 0
			if test.falls {
				want, told = JSON, 1
			}
			if !reflect.DeepEqual(srv.formats, []Format{CBOR, want, want, want}) || len(c.told) != told {
				t.Errorf("%s: asked in %v, told %q", name, srv.formats, c.told)
			}
		}

		// A forced format stays.
		for _, format := range []Format{CBOR, JSON} {
			srv := &server{answer: func(map[string]any, Format) (int, []byte) { return test.status, test.body }}
			c := newClient(srv, format)
			for range 2 {
				if _, _, err := c.get(t); errors.Is(err, ErrNoCBOR) {
					t.Errorf("%s, forced: %v", name, err)
				}
			}
			if !reflect.DeepEqual(srv.formats, []Format{format, format}) || len(c.told) != 0 {
				t.Errorf("%s: forced %v, asked in %v", name, format, srv.formats)
			}
		}
	}
}

// TestToldOnce: many calls that were made in CBOR learn together that it does not work; it is told once.
func TestToldOnce(t *testing.T) {
	const calls = 8
	var asked, told atomic.Int32
	all := make(chan struct{})
	c := newClient(refusing(func() {
		if asked.Add(1) == calls {
			close(all)
		}
		<-all
	}), Auto)
	c.protocol.told = func(string) { told.Add(1) }
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			if _, _, err := c.get(t); !errors.Is(err, ErrNoCBOR) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if told.Load() != 1 || c.protocol.Format() != JSON {
		t.Errorf("told %d times, now %v", told.Load(), c.protocol.Format())
	}
}

type refusing func()

func (f refusing) Do(*http.Request) (*http.Response, error) {
	f()
	return &http.Response{StatusCode: 400, ContentLength: -1, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(`{"__type":"UnknownOperationException"}`))}, nil
}

// TestBrokenConnectionIsNoAnswer: whatever came before the connection broke, it says nothing about formats.
func TestBrokenConnectionIsNoAnswer(t *testing.T) {
	for n := range 40 {
		c := newClient(broken{newSample(1, 10).json()[:n]}, Auto)
		_, _, err := c.get(t)
		if err == nil || errors.Is(err, ErrNoCBOR) || c.protocol.Format() != CBOR {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

type broken struct{ start []byte }

func (b broken) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, ContentLength: 1000, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(b.start))}, nil
}

// TestLocalSpeaksCBOR: the embedded server does, in records and in errors. Its encoder shares nothing with the decoder here.
func TestLocalSpeaksCBOR(t *testing.T) {
	srv := local.New(local.Config{})
	c := newClient(srv.HTTPClient(), Auto)
	orders := aws.String("orders")
	if _, err := c.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: orders, ShardCount: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	put, err := c.PutRecord(t.Context(), &kinesis.PutRecordInput{StreamName: orders, PartitionKey: aws.String("k"), Data: []byte("tea")})
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
		StreamName: orders, ShardId: put.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	b := new(Batch)
	if _, err := c.GetRecords(WithBatch(t.Context(), b), &kinesis.GetRecordsInput{ShardIterator: at.ShardIterator}); err != nil {
		t.Fatal(err)
	}
	if len(b.Records) != 1 || string(b.Records[0].Data) != "tea" || b.Records[0].SequenceNumber != *put.SequenceNumber ||
		time.Since(b.Records[0].ArrivalTime) > time.Hour {
		t.Errorf("got %+v", b.Records)
	}
	var bad *types.InvalidArgumentException
	if _, _, err := c.get(t); !errors.As(err, &bad) {
		t.Errorf("a bad iterator: %v", err)
	}
	if c.protocol.Format() != CBOR || len(c.told) != 0 {
		t.Errorf("CBOR was given up: %q", c.told)
	}
}
