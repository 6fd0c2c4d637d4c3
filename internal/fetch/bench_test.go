//go:build unix

package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/wire"
)

// TestMain serves a static answer instead of running tests, if it is a benchmark's child: the server's CPU time is
// not to be counted.
func TestMain(m *testing.M) {
	if what := os.Getenv("LEAT_FETCH_STATIC"); what != "" {
		serve(what)
		return
	}
	os.Exit(m.Run())
}

// serve answers "FORMAT N SIZE" on a port that it prints, until its stdin ends.
func serve(what string) {
	var format wire.Format
	var n, size int
	if _, err := fmt.Sscan(what, &format, &n, &size); err != nil {
		fmt.Println(err)
		return
	}
	t := &testing.B{}
	answer := newStatic(t, format, n, size).answer
	kind := map[wire.Format]string{wire.JSON: "application/x-amz-json-1.1", wire.CBOR: "application/x-amz-cbor-1.1"}[format]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		out, kind := answer, kind
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
			out, kind = []byte(`{"ShardIterator":"first"}`), "application/x-amz-json-1.1"
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
		w.Write(out)
	}))
	fmt.Println(listener.Addr())
	io.Copy(io.Discard, os.Stdin)
}

// startStatic starts a server process and returns its URL.
func startStatic(b *testing.B, format wire.Format, n, size int) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("LEAT_FETCH_STATIC=%d %d %d", format, n, size))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		b.Fatal(err)
	}
	return "http://" + address
}

// BenchmarkRead reads a static server in another process: the answers' bytes only, the bare SDK's loop, and a Reader.
// MB are payload, by the CPU time of this process.
func BenchmarkRead(b *testing.B) {
	inner := awshttp.NewBuildableClient()
	bare := do(func(r *http.Request) (*http.Response, error) { return inner.Do(plainBody(r)) })
	for _, size := range []int{1024, 128} {
		n := min(10_000, 5<<20/size)
		for _, format := range []wire.Format{wire.JSON, wire.CBOR} {
			url := startStatic(b, format, n, size)
			client := func(format wire.Format) *kinesis.Client {
				return kinesis.New(kinesis.Options{
					Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
					BaseEndpoint: aws.String(url), HTTPClient: bare,
				}, func(o *kinesis.Options) {
					if format != wire.Auto {
						o.HTTPClient = MeteredHTTP(NewHTTP(nil, DefaultPollInterval))
						o.Protocol = wire.New(o.Protocol, format, nil)
					}
				})
			}
			run := func(name string, read func(context.Context) (int, error)) {
				b.Run(fmt.Sprintf("reader=%s/codec=%v/size=%d", name, format, size), func(b *testing.B) {
					b.ReportAllocs()
					began := cpuTime(b)
					for b.Loop() {
						if got, err := read(b.Context()); err != nil || got != n {
							b.Fatal(got, err)
						}
					}
					b.ReportMetric(float64(n*size*b.N)/1e6/(cpuTime(b)-began).Seconds(), "MB/cpu-s")
					b.ReportMetric(float64(n), "records/op")
				})
			}
			run("bytes", func(ctx context.Context) (int, error) {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
				if err != nil {
					return 0, err
				}
				request.Header.Set("X-Amz-Target", "Kinesis_20131202.GetRecords")
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					return 0, err
				}
				defer answer.Body.Close()
				_, err = io.Copy(io.Discard, answer.Body)
				return n, err
			})
			if format == wire.JSON {
				sdk := client(wire.Auto)
				run("sdk", func(ctx context.Context) (int, error) {
					out, err := sdk.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: aws.String("next"), Limit: aws.Int32(maxRecords)})
					if err != nil {
						return 0, err
					}
					return len(out.Records), nil
				})
			}
			reader := NewReader(client(format), Config{Stream: Stream{Name: streamName}, Shard: firstShard,
				Quota: Quota{Calls: 1_000_000, Bytes: 1 << 50}})
			run("leat", func(ctx context.Context) (int, error) {
				batch, err := reader.Next(ctx)
				batch.Memory.Settle(0, batch.Memory.Len())
				return len(batch.Records), err
			})
		}
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
