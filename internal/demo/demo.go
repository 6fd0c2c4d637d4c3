package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/file"
)

// Demo is one run of the demo.
type Demo struct {
	Quick bool
	Out   io.Writer
	// Command returns the arguments, program first, that start a worker process.
	Command func(Worker) []string
}

// Bounds of a run. A step that takes longer than patience has failed.
const (
	shards      = 4
	workers     = 3
	quickRounds = 1
	fullRounds  = 3
	patience    = 20 * time.Second
	calmTime    = 3 * time.Second

	// sharePatience is longer: what was moved for balance rests for a minute.
	sharePatience = 90 * time.Second
)

// ErrBroken says that a promise did not hold: records lost, out of order, or repeated without need.
var ErrBroken = errors.New("a promise was broken")

// run is the state of one run.
type run struct {
	Demo
	began    time.Time
	group    *group
	producer *producer
	client   *kinesis.Client
	deaths   []death
	pauses   []time.Duration
}

// Run runs the demo. It ends by itself, leaves no process behind, and removes its folder unless
// something failed.
func (d Demo) Run(ctx context.Context) error {
	rounds := fullRounds
	if d.Quick {
		rounds = quickRounds
	}
	var longest time.Duration
	v, err := d.play(ctx, func(ctx context.Context, r *run) error {
		if err := r.join(ctx); err != nil {
			return err
		}
		for range rounds {
			if err := r.round(ctx); err != nil {
				return err
			}
		}
		longest = slices.Max(r.pauses)
		return nil
	})
	if err == nil {
		fmt.Fprintf(d.Out, "%d records, %d lost, %d out of order, %d repeated, longest pause %.1f s\n",
			v.Records, v.Lost, v.OutOfOrder, v.Repeated, longest.Seconds())
		if !v.ok() {
			err = ErrBroken
		}
	}
	return err
}

// play sets the stage, lets the act happen to a group at work, and judges what the handlers did.
func (d Demo) play(ctx context.Context, act func(context.Context, *run) error) (v verdict, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{Demo: d, began: time.Now()}
	dir, err := os.MkdirTemp("", "leat-demo-")
	if err != nil {
		return v, err
	}
	defer func() {
		if err == nil && v.ok() || ctx.Err() != nil {
			os.RemoveAll(dir) //nolint:errcheck // a temporary folder
		} else {
			r.say("leases, workers' logs and what the handlers wrote are kept in %s", dir)
		}
	}()

	server := local.New(local.Config{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return v, fmt.Errorf("listening on loopback: %w", err)
	}
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(func() { server.Serve(ctx, listener) }) //nolint:errcheck // a demo without it fails by itself
	r.client = kinesis.NewFromConfig(server.AWSConfig())
	feed, err := newFeed()
	if err != nil {
		return v, err
	}
	r.producer = &producer{client: r.client, feed: feed}
	r.group = &group{command: d.Command, endpoint: "http://" + listener.Addr().String(), dir: dir}
	r.group.store = file.New(r.group.storeDir())
	if _, err := r.group.store.Open(ctx, true); err != nil {
		return v, fmt.Errorf("opening the lease store: %w", err)
	}
	defer r.group.end()
	background.Go(func() { r.group.follow(ctx) })
	if err := r.story(ctx, act); err != nil {
		return v, err
	}
	return r.judge()
}

// story is what happens, step by step.
func (r *run) story(ctx context.Context, act func(context.Context, *run) error) error {
	_, err := r.client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: aws.String(streamName), ShardCount: aws.Int32(shards)})
	if err != nil {
		return fmt.Errorf("creating the stream: %w", err)
	}
	r.say("an embedded Kinesis serves stream %q with %d shards at %s", streamName, shards, r.group.endpoint)
	for range workers {
		if err := r.startWorker(); err != nil {
			return err
		}
	}
	producing, stopProducing := context.WithCancel(ctx)
	defer stopProducing()
	produced := make(chan error, 1)
	go func() { produced <- r.producer.run(producing) }()
	r.say("%d earthquake reports a second go in, keyed by network", perSecond)
	if err := r.awaitStarts(ctx, time.Now(), "", r.openIDs); err != nil {
		return err
	}
	if err := act(ctx, r); err != nil {
		return err
	}
	stopProducing()
	if err := <-produced; err != nil {
		return err
	}
	return r.finish(ctx)
}

// calm lets the group run for a while, so that each step meets it at work.
func (r *run) calm(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(calmTime):
	}
}

// round kills a worker, splits a shard, merges two, and stops a worker cleanly.
func (r *run) round(ctx context.Context) error {
	r.calm(ctx)
	if err := r.endBusiest(ctx, syscall.SIGKILL); err != nil {
		return err
	}
	r.calm(ctx)
	if err := r.startWorker(); err != nil {
		return err
	}
	if err := r.reshard(ctx, func(open []openShard) (string, error) {
		parent, err := split(ctx, r.client, open)
		return "split " + parent, err
	}); err != nil {
		return err
	}
	r.calm(ctx)
	if err := r.reshard(ctx, func(open []openShard) (string, error) {
		a, b, err := merge(ctx, r.client, open)
		return fmt.Sprintf("merged %s and %s", a, b), err
	}); err != nil {
		return err
	}
	r.calm(ctx)
	if err := r.endBusiest(ctx, syscall.SIGTERM); err != nil {
		return err
	}
	r.calm(ctx)
	return r.startWorker()
}

func (r *run) startWorker() error {
	p, err := r.group.start()
	if err == nil {
		r.say("started worker %s (process %d)", p.name, p.cmd.Process.Pid)
	}
	return err
}

// join starts one more worker, which gets its share from live ones.
func (r *run) join(ctx context.Context) error {
	if err := r.startWorker(); err != nil {
		return err
	}
	return r.awaitShare(ctx, r.group.workers[len(r.group.workers)-1])
}

// endBusiest ends the worker with the most shards.
func (r *run) endBusiest(ctx context.Context, signal syscall.Signal) error {
	items, err := r.group.leases(ctx)
	if err != nil {
		return err
	}
	return r.end(ctx, r.group.busiest(items), signal)
}

// end ends a worker with a signal, and waits until every shard that it held is handled by another.
func (r *run) end(ctx context.Context, p *process, signal syscall.Signal) error {
	items, err := r.group.leases(ctx)
	if err != nil {
		return err
	}
	at := time.Now()
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("ending worker %s: %w", p.name, err)
	}
	verb := "stopped worker %s cleanly (SIGTERM)"
	if signal == syscall.SIGKILL {
		verb = "killed worker %s (SIGKILL)"
		<-p.done
		// It writes no more. Where its checkpoints stand now is where others go on.
		if items, err = r.group.leases(ctx); err != nil {
			return err
		}
		r.deaths = append(r.deaths, death{worker: p.name, checkpoints: owned(items, p.name)})
	}
	held := owned(items, p.name)
	r.say(verb+", which held %s", p.name, join(held))
	if err := r.awaitStarts(ctx, at, p.name, func(context.Context) ([]string, error) {
		return slices.Sorted(maps.Keys(held)), nil
	}); err != nil {
		return err
	}
	if signal == syscall.SIGTERM {
		return r.exited(p)
	}
	return nil
}

// exited waits for a worker that was asked to stop; it has to end well.
func (r *run) exited(p *process) error {
	select {
	case <-p.done:
	case <-time.After(patience):
		return fmt.Errorf("worker %s did not stop within %v", p.name, patience)
	}
	if p.err != nil {
		return fmt.Errorf("worker %s stopped with %w", p.name, p.err)
	}
	return nil
}

// reshard changes the stream and waits until the new shards are handled.
func (r *run) reshard(ctx context.Context, change func([]openShard) (string, error)) error {
	open, err := openShards(ctx, r.client, r.producer.feed.keys())
	if err != nil {
		return err
	}
	what, err := change(open)
	if err != nil {
		return err
	}
	r.say("%s", what)
	return r.awaitStarts(ctx, time.Now(), "", func(ctx context.Context) ([]string, error) {
		now, err := r.openIDs(ctx)
		isNew := func(id string) bool { return !slices.ContainsFunc(open, func(s openShard) bool { return s.id == id }) }
		return slices.DeleteFunc(now, func(id string) bool { return !isNew(id) }), err
	})
}

// openIDs are the open shards that have keys.
func (r *run) openIDs(ctx context.Context) ([]string, error) {
	open, err := openShards(ctx, r.client, r.producer.feed.keys())
	var ids []string
	for _, s := range open {
		if len(s.hashes) > 0 {
			ids = append(ids, s.id)
		}
	}
	return ids, err
}

// awaitStarts waits until a handler has started after the moment, and not on the worker named, for
// every shard. With a worker named, the times that it took are pauses that a signal caused.
func (r *run) awaitStarts(ctx context.Context, after time.Time, except string, of func(context.Context) ([]string, error)) error {
	wanted, err := of(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := map[string]handled{}
	for seen := 0; len(started) < len(wanted); {
		calls, err := r.group.handledSoFar()
		if err != nil {
			return err
		}
		for _, c := range calls[seen:] {
			if _, ok := started[c.shard]; !ok && c.worker != except && c.at.After(after) && slices.Contains(wanted, c.shard) {
				started[c.shard] = c
			}
		}
		seen = len(calls)
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v only %s of %s are handled: %w", patience, join(started), strings.Join(wanted, ", "), context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(started)) {
		c := started[shard]
		pause := c.at.Sub(after)
		if except != "" {
			r.pauses = append(r.pauses, pause)
		}
		r.say("  %s is handled by %s after %.2f s", shard, c.worker, pause.Seconds())
	}
	return nil
}

// awaitShare waits until a worker that joined handles records: it got shards from live ones.
func (r *run) awaitShare(ctx context.Context, p *process) error {
	deadline := time.Now().Add(sharePatience)
	for seen := 0; ; {
		calls, err := r.group.handledSoFar()
		if err != nil {
			return err
		}
		for _, c := range calls[seen:] {
			if c.worker == p.name {
				r.say("  %s has got %s", p.name, c.shard)
				return nil
			}
		}
		seen = len(calls)
		if time.Now().After(deadline) {
			return fmt.Errorf("worker %s has no shard after %v", p.name, sharePatience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// finish waits until all that was put is handled, and stops the workers.
func (r *run) finish(ctx context.Context) error {
	puts := r.producer.sofar()
	r.say("the producer ends after %d records; the workers finish and stop", len(puts))
	left := map[string]bool{}
	for _, p := range puts {
		left[p.sequence] = true
	}
	deadline := time.Now().Add(patience)
	for seen := 0; len(left) > 0 && time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		calls, err := r.group.handledSoFar()
		if err != nil {
			return err
		}
		for _, c := range calls[seen:] {
			delete(left, c.sequence)
		}
		seen = len(calls)
	}
	running := r.group.running()
	for _, p := range running {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stopping worker %s: %w", p.name, err)
		}
	}
	for _, p := range running {
		if err := r.exited(p); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// judge compares what was put with what the handlers did.
func (r *run) judge() (verdict, error) {
	calls, err := readCalls(r.group.logFile())
	if err != nil {
		return verdict{}, err
	}
	v := judge(r.producer.sofar(), calls, r.deaths)
	r.say("killed workers had handled %d records after their last checkpoints; %d of the repeats are not among them", v.Bound, v.Unexplained)
	return v, nil
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
	fmt.Fprintf(r.Out, "%5.1f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

func join[V any](set map[string]V) string {
	if len(set) == 0 {
		return "no shard"
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
