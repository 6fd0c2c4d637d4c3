package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/store/file"
)

// The names that all processes of a demo agree on.
const (
	groupName  = "demo"
	streamName = "earthquakes"
)

// Worker is one worker process of the demo.
type Worker struct {
	Name     string
	Endpoint string
	Store    string // folder of the lease store
	Log      string // file that all handlers append to
}

// Run consumes until ctx is done, or until parent ends: a demo that is killed leaves no worker
// behind.
func (w Worker) Run(ctx context.Context, parent io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		io.Copy(io.Discard, parent) //nolint:errcheck // any end of it is the parent's end
	}()
	// O_APPEND makes one order out of all workers' lines: the order in which handlers ran. What is
	// written has left the process; SIGKILL does not take it back.
	log, err := os.OpenFile(w.Log, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("opening the handlers' log: %w", err)
	}
	defer log.Close()
	return leat.Run(ctx, leat.Config{
		Group:    groupName,
		Stream:   streamName,
		Worker:   w.Name,
		Endpoint: w.Endpoint,
		AWS:      localAWS(),
		Store:    file.New(w.Store),
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Handler: leat.HandlerFunc(func(_ context.Context, r *leat.Record) error {
			var n numbered
			if err := json.Unmarshal(r.Data, &n); err != nil {
				return fmt.Errorf("reading an event: %w", err)
			}
			h := handled{worker: w.Name, at: time.Now(), shard: r.Shard, sequence: r.SequenceNumber, key: n.Key, n: n.N}
			_, err := log.WriteString(h.line())
			return err
		}),
	})
}

// localAWS is what the SDK needs to talk to a local server.
func localAWS() *aws.Config {
	return &aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
}
