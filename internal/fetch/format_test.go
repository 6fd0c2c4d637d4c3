package fetch

import (
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/internal/wire"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// TestReaderGoesOnInJSON: a service that refuses CBOR costs one call and nothing else: no failure, no back-off, no byte.
func TestReaderGoesOnInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		want := w.put(0, 20, 100)
		refused := 0
		var told []string
		client := kinesis.NewFromConfig(w.server.AWSConfig(), func(o *kinesis.Options) {
			o.HTTPClient = MeteredHTTP(do(func(r *http.Request) (*http.Response, error) {
				if r.Header.Get("Content-Type") != "application/x-amz-cbor-1.1" {
					return w.server.HTTPClient().Do(r)
				}
				refused++
				return &http.Response{StatusCode: http.StatusBadRequest, ContentLength: -1, Header: http.Header{},
					Body: io.NopCloser(strings.NewReader(`{"__type":"UnknownOperationException"}`))}, nil
			}))
			o.Protocol = wire.New(o.Protocol, wire.Auto, func(reason string) { told = append(told, reason) })
		})
		began := time.Now()
		r := NewReader(client, w.config(lease.TrimHorizon()))
		var most time.Duration
		got := w.read(r, func(_ Batch, all []record.Record) bool {
			most = max(most, r.status.stalled(time.Now()))
			return len(all) >= 20
		})
		if !slices.Equal(w.sequences(got), want) || got[3].PartitionKey != "key-3" || got[3].Shard != firstShard || got[3].Token != 7 {
			t.Errorf("got %d records, %+v", len(got), got[3])
		}
		if refused != 1 || len(told) != 1 || most != 0 || time.Since(began) > 250*time.Millisecond {
			t.Errorf("%d calls were refused, told %q, stalled %v, it took %v", refused, told, most, time.Since(began))
		}
		if held := w.credit.balance(); held != 0 {
			t.Errorf("%d bytes leaked", held)
		}
	})
}

// TestHugeAnswerIsRefused: a length that no answer of the service has is not read, nor paid for.
func TestHugeAnswerIsRefused(t *testing.T) {
	credit := &account{}
	ctx, m := metering(t.Context(), credit)
	closed := false
	_, err := MeteredHTTP(do(func(*http.Request) (*http.Response, error) {
		return ok(MaxAnswer+1, stream{Reader: zeros{}, closed: &closed}), nil
	})).Do(request(t, ctx))
	if err == nil || !strings.Contains(err.Error(), "at most") || !closed {
		t.Errorf("%v, closed %v", err, closed)
	}
	if m.close() != 0 || len(credit.takes) != 0 {
		t.Errorf("taken %v", credit.takes)
	}
}

// TestIdleShardHoldsNoAnswer: the number that a checkpoint will hold keeps nothing else in memory.
func TestIdleShardHoldsNoAnswer(t *testing.T) {
	server := newStatic(t, wire.CBOR, 380, 128)
	client := server.client(wire.CBOR)
	var places []lease.Position
	var readers []*Reader
	base := int64(0)
	for i := range 12 {
		if i == 2 {
			base = heap() // what is needed once has been made
		}
		r := NewReader(client, Config{Stream: Stream{Name: streamName}, Shard: firstShard, Quota: Quota{Calls: 1000, Bytes: 1 << 40}})
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		place, err := b.Records[len(b.Records)-1].Position()
		if err != nil {
			t.Fatal(err)
		}
		places, readers = append(places, place), append(readers, r)
	}
	if held := heap() - base; held > 10*8<<10 {
		t.Errorf("ten idle readers and their checkpoints hold %d bytes", held)
	}
	runtime.KeepAlive(places)
	runtime.KeepAlive(readers)
}
