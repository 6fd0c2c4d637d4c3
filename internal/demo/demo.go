package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/file"
)

// Demo is one run of the demo.
type Demo struct {
	Quick   bool // one round instead of three
	Rolling bool // another story: every worker of a group is restarted, one after the other
	Out     io.Writer

	// Command returns the arguments, program first, that start a worker process.
	Command func(Worker) []string

	// Watch is shown the run about ten times a second, from one goroutine. Nil is nobody.
	Watch func(State)
}

// A step that takes longer than patience has failed.
const (
	patience = 20 * time.Second
	calmTime = 3 * time.Second

	// sharePatience is longer: what was moved for balance rests for a minute.
	sharePatience = 90 * time.Second
)

// stage is what a story begins with.
type stage struct {
	shards, workers int
	keys            int // of each network: see feed
}

// ErrBroken says that a promise did not hold: records lost, out of order, or repeated without need.
var ErrBroken = errors.New("a promise was broken")

// run is the state of one run.
type run struct {
	Demo
	stage
	began    time.Time
	group    *group
	producer *producer
	client   *kinesis.Client
	deaths   []death
	pauses   []pause
	verdict  verdict
	calls    []handled // all of them, once the story is over
	scene    scene
	besides
}

// pause is how long a shard stood still after a signal to its owner: until the next handler start.
type pause struct {
	shard string
	took  time.Duration
}

// Run runs the demo. It ends by itself, leaves no process behind, and removes its folder unless
// something failed.
func (d Demo) Run(ctx context.Context) error {
	if d.Rolling {
		return d.rolling(ctx)
	}
	rounds := 3
	if d.Quick {
		rounds = 1
	}
	r, err := d.play(ctx, stage{shards: 4, workers: 3, keys: 1}, func(ctx context.Context, r *run) error {
		if err := r.join(ctx); err != nil {
			return err
		}
		for n := range rounds {
			r.scene.round(n+1, rounds)
			if err := r.round(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	longest := slices.MaxFunc(r.pauses, func(a, b pause) int { return cmp.Compare(a.took, b.took) })
	fmt.Fprintf(d.Out, "%s, longest pause %.1f s\n", r.verdict, longest.took.Seconds())
	if !r.verdict.ok() {
		return ErrBroken
	}
	return nil
}

// play sets the stage, lets the act happen to a group at work, and judges what the handlers did.
func (d Demo) play(parent context.Context, on stage, act func(context.Context, *run) error) (r *run, err error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	r = &run{Demo: d, stage: on, began: time.Now(), besides: besides{end: cancel}}
	dir, err := os.MkdirTemp("", "leat-demo-")
	if err != nil {
		return r, err
	}
	defer func() {
		if err == nil && r.verdict.ok() || parent.Err() != nil {
			os.RemoveAll(dir) //nolint:errcheck // a temporary folder
		} else {
			r.say("leases, workers' logs and what the handlers wrote are kept in %s", dir)
		}
	}()

	server := local.New(local.Config{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r, fmt.Errorf("listening on loopback: %w", err)
	}
	defer r.wait()
	defer cancel()
	r.beside(func() { server.Serve(ctx, listener) }) //nolint:errcheck // a demo without it fails by itself
	r.client = kinesis.NewFromConfig(server.AWSConfig())
	feed, err := newFeed(on.keys)
	if err != nil {
		return r, err
	}
	r.producer = &producer{client: r.client, feed: feed}
	r.group = &group{command: d.Command, endpoint: "http://" + listener.Addr().String(), dir: dir}
	r.group.store = file.New(r.group.storeDir())
	if _, err := r.group.store.Open(ctx, true); err != nil {
		return r, fmt.Errorf("opening the lease store: %w", err)
	}
	defer r.group.end()
	r.beside(func() { r.group.follow(ctx) })
	if err := r.createStream(ctx); err != nil {
		return r, err
	}
	if d.Watch != nil {
		r.beside(func() { r.watch(ctx) })
	}
	if err := r.story(ctx, act); err != nil {
		return r, err
	}
	return r, r.judge()
}

func (r *run) createStream(ctx context.Context) error {
	_, err := r.client.CreateStream(ctx, &kinesis.CreateStreamInput{
		StreamName: aws.String(streamName), ShardCount: aws.Int32(int32(r.shards)),
	})
	if err != nil {
		return fmt.Errorf("creating the stream: %w", err)
	}
	r.say("an embedded Kinesis serves stream %q with %d shards at %s", streamName, r.shards, r.group.endpoint)
	return nil
}

// story is what happens, step by step.
func (r *run) story(ctx context.Context, act func(context.Context, *run) error) error {
	r.scene.doing("%d workers start", r.workers)
	for range r.workers {
		if _, err := r.startWorker(); err != nil {
			return err
		}
	}
	producing, stopProducing := context.WithCancel(ctx)
	defer stopProducing()
	produced := make(chan error, 1)
	r.beside(func() { produced <- r.producer.run(producing) })
	r.say("%d earthquake reports a second go in, keyed by network", perSecond)
	if err := r.awaitStarts(ctx, time.Now(), "", r.openIDs); err != nil {
		return err
	}
	if err := act(ctx, r); err != nil {
		return err
	}
	stopProducing()
	select {
	case err := <-produced:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.finish(ctx)
}

// judge compares what was put with what the handlers did.
func (r *run) judge() (err error) {
	if r.calls, err = readCalls(r.group.logFile()); err != nil {
		return err
	}
	r.verdict = judge(r.producer.sofar(), r.calls, r.deaths)
	if len(r.deaths) > 0 {
		r.say("killed workers had handled %d records after their last checkpoints; repeats beside these: %d",
			r.verdict.Bound, r.verdict.Unexplained)
	}
	return nil
}

// readCalls reads all that the handlers wrote, in order.
func readCalls(name string) ([]handled, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var calls []handled
	for line := range strings.Lines(string(text)) {
		call, err := parseLine(line)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

func (r *run) say(format string, args ...any) {
	at, text := time.Since(r.began), fmt.Sprintf(format, args...)
	r.scene.said(at, text)
	fmt.Fprintf(r.Out, "%5.1f s  %s\n", at.Seconds(), text)
}

func join[V any](set map[string]V) string {
	if len(set) == 0 {
		return "no shard"
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
