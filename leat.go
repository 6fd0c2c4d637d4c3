// Package leat consumes Amazon Kinesis streams with a group of workers: it shares the shards out,
// survives crashes, deploys and resharding, keeps each partition key's order, and loses nothing.
//
//	err := leat.Run(ctx, leat.Config{
//		Group:   "billing",
//		Stream:  "orders",
//		Handler: leat.HandlerFunc(func(ctx context.Context, r *leat.Record) error {
//			return charge(ctx, r.Data)
//		}),
//	})
//
// Every process that runs this is a worker of the group "billing". Leases and checkpoints are kept in the DynamoDB table
// "leat", which the first worker creates; [Config.Store] puts them elsewhere. A new group begins with the oldest record that
// the stream keeps ([Config.Start]).
//
// Records may be handled one by one ([Handler]), in batches ([BatchHandler]), or by shard ([ShardHandler]); in the order of
// their shard or of their key ([Order]). [Retry] says what becomes of a record that cannot be handled. [Defer] acknowledges
// later. [Tail] reads a stream without a group.
//
// # What it promises
//
// Every record is handled at least once: a checkpoint passes a record only once its handler has returned nil, or once it
// was given up as [Config.Retry] says. Records of one partition key are handled one at a time, in order, also
// across workers, failovers, splits and merges. A clean stop repeats nothing (with [PerKey]: nothing but what was
// handled above a record that is failing just then); a crash repeats what came after the last checkpoint. A
// worker that cannot prove that a shard is its own starts no handler for it.
//
// A handler that is paused inside its own side effect can still overlap with the next owner of its
// shard. A sink that keeps the highest [Record.Token] per shard and refuses lower ones closes that gap.
//
// # Tests
//
// Package local is a Kinesis in memory: with its AWSConfig as [Config.AWS] a whole group runs in a test, without a socket.
package leat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/engine"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/lease"
)

// Errors that Run returns, wrapped; see errors.Is.
var (
	// ErrStreamNotFound says that the stream does not exist, or no longer does: in this region, at this endpoint.
	ErrStreamNotFound = errors.New("stream not found")

	// ErrStreamRecreated says that the stream was deleted and created again under the same name: the
	// group's checkpoints are another stream's. Nothing was changed; use another group, or delete the leases.
	ErrStreamRecreated = lease.ErrRecreated

	// ErrTrimmed says that records passed the stream's retention unread. Run ends with it if OnTrimmed is Halt; Tail tells
	// it, and goes on.
	ErrTrimmed = errors.New("records passed the stream's retention unread")

	// ErrNotReleased says that the worker stopped, but could not give its shards back: others take
	// them after the failover time, and repeat what came after the last checkpoints.
	ErrNotReleased = engine.ErrNotReleased

	// ErrHandlerExited says that a handler called runtime.Goexit, as t.FailNow does, instead of returning.
	ErrHandlerExited = dispatch.ErrHandlerExited

	// ErrRunTwice says that Run was called a second time.
	ErrRunTwice = errors.New("a Consumer runs once: make a new one")
)

// Consumer is one worker of a group. Make it with New and run it once.
type Consumer struct {
	cfg    Config
	budget *dispatch.Budget
	clock  func() lease.Time // nil is the machine's; tests set it
	engine onceSet[*engine.Engine]
}

// Run consumes until ctx is done: New and Consumer.Run in one.
func Run(ctx context.Context, cfg Config) error {
	c, err := New(cfg)
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// New checks the configuration, and returns all of its faults at once. It does no IO.
func New(cfg Config) (*Consumer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("leat: configuration: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Consumer{cfg: cfg, budget: dispatch.NewBudget(cfg.MaxBuffered)}, nil
}

// Run joins the group and handles records until ctx is done. Then it starts no further handler, waits
// for the running ones, writes the last checkpoints, gives its shards back and returns nil. Handlers that
// take longer than DrainTimeout are cancelled.
//
// It returns an error if the stream or the store cannot be had at the start, if a handler asked for
// Stop, or if nothing more can be done: see the errors of this package. What passes by itself is tried
// again (at the start, for a minute), and told to Events and Logger.
func (c *Consumer) Run(ctx context.Context) error {
	api, stream, err := c.begin(ctx)
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("leat: %w", err)
	}
	e := engine.New(engine.Config{
		Group:  c.cfg.Group,
		Worker: c.worker(),
		Stream: stream,
		Start:  c.cfg.Start,
		Store:  c.cfg.Store,
		List: func(ctx context.Context, at *lease.Position) ([]lease.Shard, error) {
			return fetch.List(ctx, api, stream.Stream, at)
		},
		Read: func(shard string, start lease.Position, token int64, credit fetch.Credit, notice func(fetch.Notice)) engine.Reader {
			return fetch.NewReader(api, fetch.Config{
				Stream: stream.Stream, Shard: shard, Start: start, Token: token,
				PollInterval: c.cfg.PollInterval, Quota: fetch.Quota{Calls: c.cfg.ReadQuota.Calls, Bytes: c.cfg.ReadQuota.Bytes},
				Credit: credit, Notice: notice,
			})
		},
		Verify:  func(ctx context.Context) error { return verify(ctx, api, stream) },
		Handler: c.handlerOf(stream.Name),
		Budget:  c.budget,
		Batch:   c.cfg.bounds(),
		Retry: dispatch.Retry{
			Attempts: c.cfg.Retry.Attempts, MaxAge: c.cfg.Retry.MaxAge,
			Pause: c.cfg.Retry.Pause, MaxPause: c.cfg.Retry.MaxPause,
		},
		GiveUp:             c.giveUp(),
		PerKey:             c.cfg.Order.perKey,
		AtOnce:             c.cfg.Order.n,
		MaxInFlight:        c.cfg.MaxInFlight,
		HaltOnTrimmed:      c.cfg.OnTrimmed == Halt,
		DropStrays:         c.cfg.OnStray == Skip,
		MaxShards:          c.cfg.MaxShards,
		CheckpointInterval: c.cfg.CheckpointInterval,
		FailoverTime:       c.cfg.FailoverTime,
		HandlerTimeout:     c.cfg.HandlerTimeout,
		DrainTimeout:       c.cfg.DrainTimeout,
		Clock:              c.clock,
		Event:              func(ev engine.Event) { c.tell(stream.Name, ev) },
	})
	if !c.engine.set(e) {
		return fmt.Errorf("leat: %w", ErrRunTwice)
	}
	if err := e.Run(ctx); err != nil {
		if _, ok := errors.AsType[*engine.TrimmedError](err); ok {
			err = fmt.Errorf("%w: %w", ErrTrimmed, err)
		}
		return fmt.Errorf("leat: group %s, stream %s: %w", c.cfg.Group, stream.Name, err)
	}
	return nil
}

// worker is the name of this worker: the host's if the configuration has none.
func (c *Consumer) worker() string {
	if c.cfg.Worker != "" {
		return c.cfg.Worker
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		return host
	}
	return "worker"
}

// tell brings an event of the engine to the log and to the user.
func (c *Consumer) tell(stream string, ev engine.Event) {
	attrs := []slog.Attr{slog.String("group", c.cfg.Group), slog.String("stream", stream)}
	attr := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	attr("shard", ev.Shard)
	attr("worker", ev.Worker)
	if ev.Shard != "" {
		attr("position", ev.Position.String())
	}
	if ev.Err != nil {
		attr("error", ev.Err.Error())
	}
	if panicked, ok := errors.AsType[*PanicError](ev.Err); ok {
		attr("stack", string(panicked.Stack))
	}
	kind := c.eventKind(ev.Kind)
	c.cfg.Logger.LogAttrs(context.Background(), kind.level(), "leat: "+string(kind), attrs...)
	if c.cfg.Events != nil {
		c.cfg.Events(Event{
			Kind: kind, Time: time.Now(), Group: c.cfg.Group, Stream: stream,
			Worker: ev.Worker, Shard: ev.Shard, Position: ev.Position, Err: ev.Err,
		})
	}
}
