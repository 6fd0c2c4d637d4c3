//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/store/dynamo"
)

// The names that all processes agree on.
const (
	groupName  = "chaos"
	streamName = "orders"
)

// Worker is a worker process.
type Worker struct {
	Name           string
	Kinesis, Store string // URLs
	Journal        string // file
	Failover       time.Duration
	Checkpoint     time.Duration
	Handling       time.Duration // the most that a handler takes
}

// workerEnv has, in a worker process, the Worker as JSON.
const workerEnv = "LEAT_CHAOS_WORKER"

// RunWorker makes this process a worker if it was started as one, and then does not return: TestMain calls it.
func RunWorker() {
	text := os.Getenv(workerEnv)
	if text == "" {
		return
	}
	var w Worker
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		fmt.Fprintln(os.Stderr, "reading the worker's configuration:", err)
		os.Exit(2)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // any end of it is the end of who started this process
		os.Exit(3)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := w.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run consumes until ctx is done. All that leat can say goes to stderr: its log at every level, its events, its Stats.
func (w Worker) run(ctx context.Context) error {
	file, err := openJournal(w.Journal)
	if err != nil {
		return err
	}
	defer file.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := leat.New(leat.Config{
		Group:  groupName,
		Stream: streamName,
		Worker: w.Name,
		AWS:    awsConfig(), Endpoint: w.Kinesis,
		// As Config.Store nil, but at another address than Kinesis.
		Store: dynamo.New(dynamo.Config{
			AWS: awsConfig(), Endpoint: w.Store, TrialGroup: groupName, AttemptTimeout: min(time.Second, w.Failover/6),
		}),
		FailoverTime:       w.Failover,
		CheckpointInterval: w.Checkpoint,
		Logger:             log,
		Events: func(e leat.Event) {
			log.Debug("event", "all", fmt.Sprintf("%+v", e))
			file.WriteString(event{w.Name, e.Time, string(e.Kind), e.Shard}.line()) //nolint:errcheck // the calls fail, too
		},
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			c := call{worker: w.Name, start: time.Now(), shard: r.Shard, token: r.Token, key: r.PartitionKey, sequence: r.SequenceNumber}
			if _, err := fmt.Sscanf(string(r.Data), canaryData+" %d", &c.n); err != nil {
				return fmt.Errorf("reading a record of shard %s: %w", r.Shard, err)
			}
			time.Sleep(rand.N(w.Handling))
			c.end = time.Now()
			_, err := file.WriteString(c.line())
			return err
		}),
	})
	if err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go w.watch(done, file, func() { log.Debug("stats", "all", fmt.Sprintf("%+v", c.Stats()), "health", c.Health()) })
	return c.Run(ctx)
}

// watch notes when this process did not get to run, and lets it tell how it is.
func (w Worker) watch(done <-chan struct{}, file *os.File, tell func()) {
	const tick = 50 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	before := time.Now()
	for n := 1; ; n++ {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		now := time.Now()
		if now.Sub(before) > w.Failover/6 {
			file.WriteString(stall{w.Name, before, now}.line()) //nolint:errcheck // the calls fail, too
		}
		before = now
		if n%100 == 0 {
			tell()
		}
	}
}

// awsConfig is what the SDK needs to talk to a server on this machine.
func awsConfig() *aws.Config {
	return &aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
}
