package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/metrics"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/store/memory"
)

// contender is what a measured process of the throughput is told.
type contender struct {
	URL     string
	Size    int           // of each payload that the handler must get; 0: any
	Apart   bool          // the bare loop takes aggregated records apart
	JSON    bool          // leat asks for JSON
	PerKey  int           // leat's order; 0 is PerShard
	Warm    time.Duration // before the measuring begins
	Period  time.Duration // of measuring
	Profile string        // where a CPU profile goes; empty: nowhere
}

// figures is what was measured in Period.
type figures struct {
	Records     int64
	Allocations uint64
	CPU         time.Duration
	Wall        time.Duration
	Peak        int64 // of the process's memory, in bytes
}

// counter is the handler of all contenders: it counts, and looks whether it gets what it should.
type counter struct {
	size    int
	records atomic.Int64
	wrong   atomic.Int64
}

func (c *counter) handle(data []byte) {
	if c.size > 0 && len(data) != c.size {
		c.wrong.Add(1)
	}
	c.records.Add(1)
}

// mostPeriods is how many periods may pass before the first record.
const mostPeriods = 100

// measure lets work run, and measures it once it is warm.
func (c contender) measure(counter *counter, work func(context.Context) error) (f figures, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()

	if err := wait(done, c.Warm); err != nil {
		return f, err
	}
	stop, err := profile(c.Profile)
	if err != nil {
		return f, err
	}
	defer stop()
	began, records, allocations := time.Now(), counter.records.Load(), allocated()
	cpu, _, err := spent()
	if err != nil {
		return f, err
	}
	for range mostPeriods {
		if err := wait(done, c.Period); err != nil {
			return f, err
		}
		if counter.records.Load() != records { // after one period, but on a machine that is very busy
			break
		}
	}
	f.Records, f.Allocations, f.Wall = counter.records.Load()-records, allocated()-allocations, time.Since(began)
	after, peak, err := spent()
	if err != nil {
		return f, err
	}
	f.CPU, f.Peak = after-cpu, peak
	cancel()
	if err := <-done; err != nil {
		return f, err
	}
	if wrong := counter.wrong.Load(); wrong > 0 || f.Records == 0 {
		return f, fmt.Errorf("%d records, of which %d have another size than they should", f.Records, wrong)
	}
	return f, nil
}

// profile writes a CPU profile into a file, until stop is called.
func profile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		file.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close()
	}, nil
}

// wait waits for d, or returns why the work is over.
func wait(done <-chan error, d time.Duration) error {
	select {
	case err := <-done:
		return errors.Join(errors.New("it ended before it was measured"), err)
	case <-time.After(d):
		return nil
	}
}

// allocated is the number of objects that were ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// awsConfig is the SDK's, for a server at hand.
func awsConfig() aws.Config {
	return aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}
}

// hideWriteTo keeps the SDK from dropping a connection whose server answers within a millisecond ("use of closed network
// connection", then a slow retry): the bare loop is not to suffer from a server that is too quick.
type hideWriteTo struct{ inner aws.HTTPClient }

func (c hideWriteTo) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.inner.Do(r)
}

func bareClient(url string) *kinesis.Client {
	return kinesis.NewFromConfig(awsConfig(), func(o *kinesis.Options) {
		o.BaseEndpoint = aws.String(url)
		o.HTTPClient = hideWriteTo{awshttp.NewBuildableClient()}
	})
}

// playBare is the loop that a program without a library has: GetRecords, and the handler for each record. The SDK speaks
// JSON only. Aggregated records it hands out as they are, or takes apart with leat's own package, which is quicker than what
// such a program would use.
func playBare(told []byte, say func(any) error) error {
	var c contender
	if err := json.Unmarshal(told, &c); err != nil {
		return err
	}
	client := bareClient(c.URL)
	counter := &counter{size: c.Size}
	handle := func(_ context.Context, r *types.Record) error {
		counter.handle(r.Data)
		return nil
	}
	if c.Apart {
		handle = func(_ context.Context, r *types.Record) error {
			a, err := kpl.Open(r.Data, 0)
			if err != nil {
				return err
			}
			for user := (record.Record{}); a.Next(&user); {
				counter.handle(user.Data)
			}
			return nil
		}
	}
	f, err := c.measure(counter, func(ctx context.Context) error {
		opened, err := client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
			StreamName: aws.String(streamName), ShardId: aws.String(shardID), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			return err
		}
		for at := opened.ShardIterator; ; {
			answer, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: at, Limit: aws.Int32(maxRecords)})
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			for i := range answer.Records {
				if err := handle(ctx, &answer.Records[i]); err != nil {
					return err
				}
			}
			at = answer.NextShardIterator
		}
	})
	if err != nil {
		return err
	}
	return say(f)
}

// playLeat is a worker of a group: leases, here in memory, with heartbeats; a handler for each record, with its ack; and
// checkpoints, once a second.
func playLeat(told []byte, say func(any) error) error {
	var c contender
	if err := json.Unmarshal(told, &c); err != nil {
		return err
	}
	counter := &counter{size: c.Size}
	cfg := worker(c.URL, func(r *leat.Record) { counter.handle(r.Data) })
	cfg.CheckpointInterval = time.Second
	cfg.ReadQuota = noQuota
	if c.JSON {
		cfg.Format = leat.FormatJSON
	}
	if c.PerKey > 0 {
		cfg.Order = leat.PerKey(c.PerKey)
	}
	f, err := c.measure(counter, func(ctx context.Context) error { return leat.Run(ctx, cfg) })
	if err != nil {
		return err
	}
	if err := checkpointed(cfg); err != nil {
		return err
	}
	return say(f)
}

// noQuota is for servers without limits.
var noQuota = leat.ReadQuota{Calls: 1_000_000, Bytes: 1 << 50}

// worker is a worker of a group whose leases are in memory.
func worker(url string, handle func(*leat.Record)) leat.Config {
	config := awsConfig()
	return leat.Config{
		Group: "bench", Stream: streamName, Worker: "one",
		AWS: &config, Endpoint: url, Store: memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			handle(r)
			return nil
		}),
	}
}

// checkpointed says whether there is a checkpoint at a record: otherwise not the whole consumer was measured.
func checkpointed(cfg leat.Config) error {
	for item, err := range cfg.Store.Leases(context.Background(), cfg.Group, streamName) {
		if err != nil {
			return err
		}
		if _, _, ok := item.Lease.Checkpoint.Sequence(); !ok {
			return fmt.Errorf("the checkpoint of %s is %v", item.Key, item.Lease.Checkpoint)
		}
	}
	return nil
}
