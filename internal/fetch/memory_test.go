package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/fxamacker/cbor/v2"

	"github.com/leatstream/leat/internal/wire"
	"github.com/leatstream/leat/lease"
)

// static is a Kinesis that gives the same answer to every GetRecords; it is a client's HTTPClient.
type static struct {
	answer []byte
	read   func() // before each read of an answer
}

// newStatic answers with n records of size bytes each.
func newStatic(t testing.TB, format wire.Format, n, size int) *static {
	t.Helper()
	if format == wire.CBOR {
		records := make([]map[string]any, n)
		for i := range records {
			records[i] = map[string]any{
				"SequenceNumber": sequenceOf(i), "PartitionKey": keyOf(i), "Data": make([]byte, size),
				"ApproximateArrivalTimestamp": cbor.Tag{Number: 1, Content: 1_700_000_000_123 + i},
			}
		}
		answer, err := cbor.Marshal(map[string]any{"MillisBehindLatest": 1000, "NextShardIterator": "next", "Records": records})
		if err != nil {
			t.Fatal(err)
		}
		return &static{answer: answer}
	}
	var b bytes.Buffer
	b.WriteString(`{"MillisBehindLatest":1000,"NextShardIterator":"next","Records":[`)
	data := base64.StdEncoding.EncodeToString(make([]byte, size))
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"ApproximateArrivalTimestamp":1.7E9,"Data":"%s","PartitionKey":"%s","SequenceNumber":"%s"}`, data, keyOf(i), sequenceOf(i))
	}
	b.WriteString("]}")
	return &static{answer: b.Bytes()}
}

func sequenceOf(i int) string {
	return fmt.Sprintf("49590338271490256608559692538361571095921575989136%06d", i)
}
func keyOf(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", i*7919, i) }

func (s *static) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	answer := s.answer
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
		answer = []byte(`{"ShardIterator":"first"}`)
	}
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(answer)), Header: http.Header{},
		Body: stream{Reader: bytes.NewReader(answer), read: s.read}}, nil
}

// client is leat's, or with Auto the bare SDK's.
func (s *static) client(format wire.Format) *kinesis.Client {
	return kinesis.New(kinesis.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""), HTTPClient: s,
	}, func(o *kinesis.Options) {
		if format != wire.Auto {
			o.HTTPClient = MeteredHTTP(s)
			o.Protocol = wire.New(o.Protocol, format, nil)
		}
	})
}

// heap is how many bytes are in use, garbage left out.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what a pool has dropped goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryIsWhatTheBudgetSays: while an answer is read, and while its records are held, no more is in use than the
// budget has granted. (P8)
func TestMemoryIsWhatTheBudgetSays(t *testing.T) {
	const besides = 192 << 10 // the SDK's request and answer, what the pools keep
	for _, format := range []wire.Format{wire.JSON, wire.CBOR} {
		for _, test := range []struct{ n, size int }{
			{9000, 1024}, {10_000, 128}, {10_000, 0}, {100, 1000}, {1, 100}, {160, 60_000}, {100, 100_000}, {9, 1 << 20}, {2, 5 << 20}, {1, 10 << 20},
		} {
			t.Run(fmt.Sprintf("%v/%dx%d", format, test.n, test.size), func(t *testing.T) {
				server := newStatic(t, format, test.n, test.size)
				credit := &account{room: 1 << 40}
				client := server.client(format)
				r := NewReader(client, Config{Stream: Stream{Name: streamName}, Shard: firstShard, Start: lease.TrimHorizon(), Credit: credit,
					Quota: Quota{Calls: 1000, Bytes: 1 << 40}})
				// What the client and the pools need once is not the answer's.
				for range 2 {
					b, err := r.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					credit.Give(b.Size)
					r.Rewind(lease.TrimHorizon())
				}
				base := heap()
				var most, paid int64
				reads := 0
				server.read = func() {
					// Every answer is looked at about 15 times: it is read in steps of a window.
					if reads++; reads%(1+len(server.answer)/(15*64<<10)) == 0 {
						if over := heap() - base - credit.balance(); over > most {
							most = over
						}
						paid = max(paid, credit.balance())
					}
				}
				b, err := r.Next(t.Context())
				if err != nil || len(b.Records) != test.n {
					t.Fatalf("%d records, %v", len(b.Records), err)
				}
				server.read = nil
				held := heap() - base
				if most > besides {
					t.Errorf("while reading, %d bytes over what was granted", most)
				}
				// Go's allocator gives whole pages of 8 KiB: up to an eighth more for what a window's records share.
				if held > b.Size+b.Size/8+besides/2 || credit.balance() != b.Size {
					t.Errorf("%d bytes are held, of which %d are known; %d are granted", held, b.Size, credit.balance())
				}
				t.Logf("answer %d bytes, cost %d (%.2f), at most %d over; records pin %d, known %d",
					len(server.answer), paid, float64(paid)/float64(len(server.answer)), most, held, b.Size)

				// One record that is held pins no more than its window's share.
				one := b.Records[test.n/2]
				b = Batch{}
				if rest := heap() - base; rest > max(64<<10, one.Size()*9/8)+besides/2 {
					t.Errorf("one record of %d bytes pins %d", one.Size(), rest)
				}
				runtime.KeepAlive(one)
				runtime.KeepAlive(r)
				runtime.KeepAlive(client)
			})
		}
	}
}

// TestIdleReaderKeepsNoStack: between two calls the goroutine that waits in Next does not keep the stack that the SDK needs for
// one, of 16 KiB at least.
func TestIdleReaderKeepsNoStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, most = 500, 8 << 10
		client := newStatic(t, wire.CBOR, 0, 0).client(wire.CBOR)
		runtime.GC() // frees what stacks other tests have left
		before := stacks()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range readers {
			r := NewReader(client, Config{Stream: Stream{Name: streamName}, Shard: firstShard})
			go func() {
				for ctx.Err() == nil {
					r.Next(ctx)
				}
			}()
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		each := (stacks() - before) / readers
		if each > most {
			t.Errorf("%d bytes of stack for each reader", each)
		}
	})
}

// stacks is how many bytes are in use for goroutines' stacks.
func stacks() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
