//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"errors"
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
	Failing        int           // one in so many calls of the handler fails, and one panics; 0: none
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
			if w.Failing > 0 {
				switch rand.IntN(w.Failing) {
				case 0:
					return errors.New("a handler's error")
				case 1:
					panic("a handler's panic")
				}
			}
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
	go tell(done, func() { log.Debug("stats", "all", fmt.Sprintf("%+v", c.Stats()), "health", c.Health()) })
	go watchStalls(done, w.Failover, func(from, to time.Time) {
		file.WriteString(stall{w.Name, from, to}.line()) //nolint:errcheck // the calls fail, too
	})
	return c.Run(ctx)
}

// tell lets the worker say how it is, now and then.
func tell(done <-chan struct{}, say func()) {
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			say()
		}
	}
}

// watchStalls finds the times in which this process did not get to run: a heartbeat may have come too late then.
func watchStalls(done <-chan struct{}, failover time.Duration, found func(from, to time.Time)) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	before := time.Now()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		now := time.Now()
		if now.Sub(before) > unnoticed(failover) {
			found(before, now)
		}
		before = now
	}
}

// awsConfig is what the SDK needs to talk to a server on this machine.
func awsConfig() *aws.Config {
	return &aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
}
