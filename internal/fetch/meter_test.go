package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/wire"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// do is an HTTPClient.
type do func(*http.Request) (*http.Response, error)

func (f do) Do(r *http.Request) (*http.Response, error) { return f(r) }

// stream is a body that tells of its reads.
type stream struct {
	io.Reader
	read   func()
	closed *bool
}

func (s stream) Read(p []byte) (int, error) {
	if s.read != nil {
		s.read()
	}
	return s.Reader.Read(p)
}

func (s stream) Close() error {
	if s.closed != nil {
		*s.closed = true
	}
	return nil
}

func ok(length int64, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: length, Body: body, Header: http.Header{}}
}

func request(t *testing.T, ctx context.Context) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://kinesis.test/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// testLimit is how many records the tests' calls ask for.
const testLimit = 100

func cost(length int64) int64 { return wire.Cost(length, testLimit) }

func metering(ctx context.Context, c Credit) (context.Context, *meter) {
	m := &meter{credit: c, limit: testLimit, waiting: func(bool) {}}
	return context.WithValue(ctx, meterKey{}, m), m
}

func TestBytesAreTakenBeforeTheBodyIsRead(t *testing.T) {
	credit := &account{}
	const size = 300_000
	for _, length := range []int64{size, -1, 1000, -1} { // -1: unknown
		n := length
		if n < 0 {
			n = size
		}
		var before []int64
		body := stream{Reader: bytes.NewReader(make([]byte, n)), read: func() { before = append(before, credit.balance()) }}
		ctx, m := metering(t.Context(), credit)
		answer, err := MeteredHTTP(do(func(*http.Request) (*http.Response, error) { return ok(length, body), nil })).Do(request(t, ctx))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(answer.Body); err != nil || int64(len(got)) != n {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
		answer.Body.Close()
		want := cost(length)
		if length < 0 {
			want = cost(MaxAnswer)
		}
		// Only of a body of unknown length, the first 64 KiB come before.
		unpaid := 0
		for _, held := range before {
			if held == 0 {
				unpaid++
			} else if held != want {
				t.Errorf("held %d, want %d", held, want)
			}
		}
		if length >= 0 && unpaid > 0 || length < 0 && unpaid != 1 {
			t.Errorf("length %d: %d reads before anything was taken", length, unpaid)
		}
		credit.Give(m.close())
		if held := credit.balance(); held != 0 {
			t.Errorf("%d bytes leaked", held)
		}
	}
}

func TestShortAnswerOfUnknownLengthCostsItsLength(t *testing.T) {
	credit := &account{}
	ctx, m := metering(t.Context(), credit)
	closed := false
	client := MeteredHTTP(do(func(*http.Request) (*http.Response, error) {
		return ok(-1, stream{Reader: strings.NewReader("hello"), closed: &closed}), nil
	}))
	answer, err := client.Do(request(t, ctx))
	if err != nil {
		t.Fatal(err)
	}
	if taken := m.close(); taken != cost(5) {
		t.Errorf("taken %d", taken)
	}
	if got, _ := io.ReadAll(answer.Body); string(got) != "hello" {
		t.Errorf("read %q", got)
	}
	if answer.Body.Close(); !closed {
		t.Error("the body was not closed")
	}
}

func TestAnswerOfUnknownLengthIsBounded(t *testing.T) {
	ctx, m := metering(t.Context(), &account{})
	endless := io.LimitReader(zeros{}, MaxAnswer+1)
	answer, err := MeteredHTTP(do(func(*http.Request) (*http.Response, error) { return ok(-1, io.NopCloser(endless)), nil })).Do(request(t, ctx))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, answer.Body); err == nil || n != MaxAnswer {
		t.Errorf("read %d bytes, %v", n, err)
	}
	answer.Body.Close()
	m.close()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestNothingLeaks: whatever ends a GetRecords call, no byte of the budget stays taken.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		w.put(0, 3, 1000)
		inner := w.server.HTTPClient()
		broken := func(body io.ReadCloser) io.ReadCloser {
			return stream{Reader: io.MultiReader(io.LimitReader(body, 100), failing{})}
		}
		for name, trouble := range map[string]do{
			"no answer": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
			"broken body": func(r *http.Request) (*http.Response, error) {
				answer, err := inner.Do(r)
				if err == nil {
					answer.Body = broken(answer.Body)
				}
				return answer, err
			},
			"not JSON": func(*http.Request) (*http.Response, error) {
				return ok(6, io.NopCloser(strings.NewReader("[[[[[["))), nil
			},
			"an empty object": func(*http.Request) (*http.Response, error) {
				return ok(2, io.NopCloser(strings.NewReader("{}"))), nil
			},
			"empty": func(*http.Request) (*http.Response, error) { return ok(0, http.NoBody), nil },
			"server error": func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 503, ContentLength: 2, Body: io.NopCloser(strings.NewReader("{}")), Header: http.Header{}}, nil
			},
		} {
			for _, retries := range []bool{false, true} {
				failures := 4
				client := kinesis.NewFromConfig(w.server.AWSConfig(), func(o *kinesis.Options) {
					o.HTTPClient = MeteredHTTP(do(func(r *http.Request) (*http.Response, error) {
						if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") && failures > 0 {
							failures--
							return trouble(r)
						}
						return inner.Do(r)
					}))
				})
				var api API = client
				if retries { // an API that does not do as it is told
					api = retrying{client}
				}
				r := NewReader(api, w.config(lease.TrimHorizon()))
				b := first(t, r)
				if len(b.Records) != 3 || w.credit.balance() != b.Size || b.Size < 3000 {
					t.Errorf("%s: %d records of %d bytes, %d bytes held", name, len(b.Records), b.Size, w.credit.balance())
				}
				var size int64
				for i := range b.Records {
					size += b.Records[i].Size()
				}
				if size != b.Size {
					t.Errorf("%s: the batch says %d bytes, its records %d", name, b.Size, size)
				}
				w.credit.Give(b.Size)
			}
		}
	})
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type retrying struct{ API }

func (a retrying) GetRecords(ctx context.Context, in *kinesis.GetRecordsInput, o ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error) {
	return a.API.GetRecords(ctx, in, append(o, func(o *kinesis.Options) { o.Retryer = retry.NewStandard() })...)
}

// TestSecondTryOfACall: what the first try had taken is given back before the second takes.
func TestSecondTryOfACall(t *testing.T) {
	credit := &account{}
	ctx, m := metering(t.Context(), credit)
	client := MeteredHTTP(do(func(*http.Request) (*http.Response, error) { return ok(100, http.NoBody), nil }))
	for range 2 {
		if _, err := client.Do(request(t, ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if held, taken := credit.balance(), m.close(); held != cost(100) || taken != held {
		t.Errorf("%d bytes held, %d to give back", held, taken)
	}
	// Once the caller has gone, nothing stays taken.
	credit.Give(cost(100))
	if _, err := client.Do(request(t, ctx)); err != nil || credit.balance() != 0 {
		t.Errorf("%d bytes held, %v", credit.balance(), err)
	}
}

// TestSettle: after it the batch's size is taken, whatever the answer had cost.
func TestSettle(t *testing.T) {
	for _, taken := range []int64{0, 50, 100, 150} {
		credit := &account{held: taken}
		r := NewReader(nil, Config{Credit: credit})
		if err := r.settle(t.Context(), taken, 100); err != nil || credit.balance() != 100 {
			t.Errorf("%d were taken: %d held, %v", taken, credit.balance(), err)
		}
	}
}

// leaving is a Credit of a reader whose context ends as soon as it gives something back.
type leaving struct {
	*account
	leave func()
}

func (l leaving) Give(n int64) {
	if l.account.Give(n); n > 0 {
		l.leave()
	}
}

// TestSettleAtTheEnd: whenever the context ends, Next tells a batch, or holds no byte.
func TestSettleAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		w.put(0, 3, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := w.config(lease.TrimHorizon())
		cfg.Credit = leaving{w.credit, cancel}
		b, err := NewReader(w.client, cfg).Next(ctx)
		if held := w.credit.balance(); held != b.Size || ctx.Err() == nil {
			t.Errorf("%d bytes held, %d told, %v", held, b.Size, err)
		}
	})
}

// TestUnmeteredAPIIsPaidToo: without MeteredHTTP a batch is paid for when it is decoded.
func TestUnmeteredAPIIsPaidToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		w.put(0, 3, 1000)
		b := first(t, NewReader(kinesis.NewFromConfig(w.server.AWSConfig()), w.config(lease.TrimHorizon())))
		if held := w.credit.balance(); held != b.Size || len(b.Records) != 3 {
			t.Errorf("%d bytes held of %d", held, b.Size)
		}
	})
}

// TestMemoryIsWaitedForBeforeTheCall: a reader whose shard is full asks for nothing.
func TestMemoryIsWaitedForBeforeTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		w.put(0, 3, 1000)
		api := &hooked{API: w.client}
		r := NewReader(api, w.config(lease.TrimHorizon()))
		w.read(r, count(3))
		w.put(3, 3, 1000)
		gate := make(chan struct{})
		w.credit.mu.Lock()
		w.credit.gate = gate
		w.credit.mu.Unlock()
		time.AfterFunc(4*time.Minute, func() {
			if n := len(api.callTimes()); n != 1 {
				t.Errorf("%d calls", n)
			}
			if s := r.Status(); !strings.HasPrefix(s, "waiting for memory") {
				t.Errorf("status %q", s)
			}
			close(gate)
		})
		w.read(r, count(3))
	})
}

// TestLimitFitsTheRoom: what is asked for is sized by what the records so far have cost.
func TestLimitFitsTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		for i := range 8 {
			w.put(500*i, 500, 1000)
			time.Sleep(time.Second)
		}
		w.credit.room = 1 << 20
		api := &hooked{API: w.client}
		r := NewReader(api, w.config(lease.TrimHorizon()))
		w.read(r, count(4000))
		if first := api.limit[0]; first != (1<<20)/unknownRecord {
			t.Errorf("first limit %d", first)
		}
		for i, n := range api.limit[1:] {
			if n < 150 || n > 1<<20/1333 {
				t.Errorf("limit %d is %d", i+1, n)
			}
		}
		for i, n := range w.credit.takes {
			if n > 1<<20 {
				t.Errorf("take %d was %d bytes", i, n)
			}
		}
		w.credit.room = 1
		if n := r.limit(); n != 1 {
			t.Errorf("limit %d", n)
		}
		w.credit.room = maxRoom
		if n := r.limit(); n != maxRecords {
			t.Errorf("limit %d", n)
		}
	})
}

// silentClient never answers, and counts how often its idle connections are closed.
type silentClient struct{ closed int }

func (c *silentClient) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func (c *silentClient) CloseIdleConnections() { c.closed++ }

// A connection that nobody answers on may be half open, and so may all others: the next call gets a new one.
func TestSilenceClosesIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &silentClient{}
		if _, err := MeteredHTTP(inner).Do(request(t, t.Context())); err == nil || inner.closed != 1 {
			t.Errorf("%v, closed %d times", err, inner.closed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the caller's own
		defer cancel()
		if _, err := MeteredHTTP(inner).Do(request(t, ctx)); err == nil || inner.closed != 1 {
			t.Errorf("%v, closed %d times", err, inner.closed)
		}
	})
}

// TestTimeouts: a peer that falls silent ends the call after its time-out, before the header and within the body; waiting for
// memory does not count.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := do(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		_, err := MeteredHTTP(silent).Do(request(t, t.Context()))
		var timeout interface{ Timeout() bool }
		if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(began) != answerTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		credit := &account{gate: make(chan struct{})}
		ctx, m := metering(t.Context(), credit)
		stalls := do(func(r *http.Request) (*http.Response, error) {
			return ok(10, stream{Reader: io.MultiReader(strings.NewReader("12345"), blocked{r.Context()})}), nil
		})
		began = time.Now()
		time.AfterFunc(10*time.Minute, func() { close(credit.gate) })
		answer, err := MeteredHTTP(stalls).Do(request(t, ctx))
		if err != nil || time.Since(began) != 10*time.Minute {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if _, err := io.ReadFull(answer.Body, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // a slow reader is no stalled peer
		began = time.Now()
		got, err := io.ReadAll(answer.Body)
		if string(got) != "345" || !errors.As(err, &timeout) || time.Since(began) != stallTimeout {
			t.Errorf("read %q, %v after %v", got, err, time.Since(began))
		}
		answer.Body.Close()
		m.close()

		// The end of the caller's context is its own error.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := MeteredHTTP(silent).Do(request(t, ctx)); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(errTimeout)) {
			t.Errorf("%v", err)
		}
	})
}

type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

// TestBodyHidesWriteTo: net/http must copy the request's body by Read, also when it sends it again.
func TestBodyHidesWriteTo(t *testing.T) {
	sent := request(t, t.Context())
	sent.Body = struct {
		io.ReadCloser
		io.WriterTo
	}{io.NopCloser(strings.NewReader("{}")), strings.NewReader("{}")}
	before := sent.Body
	_, err := MeteredHTTP(do(func(r *http.Request) (*http.Response, error) {
		again, err := r.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []io.ReadCloser{r.Body, again} {
			if _, ok := body.(io.WriterTo); ok {
				t.Error("the body has a WriteTo")
			}
			if got, err := io.ReadAll(body); string(got) != "{}" || err != nil {
				t.Errorf("body %q, %v", got, err)
			}
		}
		return ok(0, http.NoBody), nil
	})).Do(sent)
	if err != nil {
		t.Fatal(err)
	}
	if sent.Body != before {
		t.Error("the caller's request was changed")
	}
}

// TestLoopback: the client of our own talks to a server on a port, answers within a millisecond included.
func TestLoopback(t *testing.T) {
	server := httptest.NewServer(local.New(local.Config{Unlimited: true}))
	defer server.Close()
	client := kinesis.NewFromConfig(local.New(local.Config{}).AWSConfig(), func(o *kinesis.Options) {
		o.HTTPClient = MeteredHTTP(NewHTTP(nil, DefaultPollInterval))
		o.Protocol = wire.New(o.Protocol, wire.Auto, nil)
		o.BaseEndpoint = aws.String(server.URL)
		o.Retryer = aws.NopRetryer{}
	})
	_, err := client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: aws.String(streamName), ShardCount: aws.Int32(1)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if _, err := client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: aws.String(streamName)}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	r := NewReader(client, Config{Stream: Stream{Name: streamName}, Shard: firstShard})
	if b, err := r.Next(t.Context()); err != nil || b.Behind != 0 {
		t.Errorf("%+v, %v", b, err)
	}
}
