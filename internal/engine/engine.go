// Package engine is the shell around the lease protocol: it owns the goroutines and the timers,
// carries out the protocol's actions, and tells it what came of them. What it does with shards it does
// through a Reader and a Lane.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// Reader reads one shard. *fetch.Reader is one.
type Reader interface {
	Next(context.Context) (fetch.Batch, error)
	Rewind(after lease.Position)
	Status() string
}

// Config is what an Engine needs. All fields but Clock and GiveUp must be set.
type Config struct {
	Group  string
	Worker string // name; the engine adds a random incarnation
	Stream fetch.StreamInfo
	Start  lease.Position

	Store   lease.Store
	List    func(context.Context, *lease.Position) ([]lease.Shard, error)
	Read    func(shard string, start lease.Position, token int64, credit fetch.Credit, notice func(fetch.Notice)) Reader
	Verify  func(context.Context) error // of the stream: nil if it is still there and the same
	Handler func(Shard) Handler         // called once for each epoch of a shard
	Budget  *dispatch.Budget

	// See dispatch.LaneConfig.
	Batch       dispatch.Batch
	Retry       dispatch.Retry
	GiveUp      func(context.Context, *record.Record, error) error // nil: never
	PerKey      bool
	AtOnce      int
	MaxInFlight int

	HaltOnTrimmed      bool
	DropStrays         bool // user records that do not belong to their shard
	MaxShards          int
	CheckpointInterval time.Duration
	FailoverTime       time.Duration
	HandlerTimeout     time.Duration
	DrainTimeout       time.Duration

	Event func(Event)
	Clock func() lease.Time // nil is BootClock
}

// Shard is one epoch of a shard, from where this worker took it to where it gives it up.
type Shard struct {
	ID       string
	Position lease.Position // everything up to it was handled
	Token    int64
}

// Handler is what one epoch of a shard is handled by; see dispatch.LaneConfig. Open and Close may be nil.
type Handler struct {
	Open   func(context.Context) error
	Handle func(context.Context, []record.Record) error
	Close  func(context.Context, lease.CloseReason) error
}

// Event is what the engine tells people. Kind is a lease.ReportKind or one of the kinds below.
type Event struct {
	Kind     lease.ReportKind
	Worker   string
	Shard    string
	Position lease.Position
	Err      error
}

// Kinds of events beside the protocol's reports.
const (
	Left         lease.ReportKind = "left"
	Retrying     lease.ReportKind = "retrying"
	Stuck        lease.ReportKind = "stuck"
	Moving       lease.ReportKind = "moving"
	GaveUp       lease.ReportKind = "gave up"
	CloseFailed  lease.ReportKind = "close failed"
	Trimmed      lease.ReportKind = "trimmed"
	StoreTrouble lease.ReportKind = "store trouble"
	StoreBack    lease.ReportKind = "store back"
)

// ErrNotReleased says that a stop could not give the leases back, because the store did not answer.
var ErrNotReleased = errors.New("leases were not released: the store did not answer; other workers take them after the failover time")

// inertAfter is how long a cancelled handler may still take to end before its ack no longer counts.
const inertAfter = 5 * time.Second

// Engine runs one worker of a group. Make one with New; Run it once.
type Engine struct {
	cfg   Config
	proof *proof

	fail chan error // asks for a stop, with an error for Run
	said sync.Mutex // one event at a time

	mu     sync.Mutex // guards the rest, which Stats reads
	id     string
	grants map[string]*grant // by shard: the open ones, and those whose handlers have not all returned
	holds  map[string]error  // by shard: why operators keep everybody off it
	halted map[string]ShardStats
	store  storeHealth

	unlisted bool // the stream's shards cannot be listed, and people know it
}

// New returns an engine that has done nothing yet.
func New(cfg Config) *Engine {
	at := func(time.Time) lease.Time { return cfg.Clock() }
	if cfg.Clock == nil {
		cfg.Clock, at = BootClock, clockAt
	}
	return &Engine{
		cfg:    cfg,
		proof:  newProof(at),
		fail:   make(chan error, 1),
		grants: map[string]*grant{},
		holds:  map[string]error{},
		halted: map[string]ShardStats{},
	}
}

// Run joins the group and works until ctx is done, then drains, releases and returns nil; or until
// something ends it for good.
func (e *Engine) Run(ctx context.Context) error {
	stop := &stopping{asked: ctx.Done()}
	for {
		// What runs in the background outlives ctx: it is needed to stop in order.
		err := e.incarnation(context.WithoutCancel(ctx), stop)
		switch {
		case errors.Is(err, lease.ErrFenced) && !stop.begun:
			continue // join again, as somebody new
		case errors.Is(err, lease.ErrFenced), err == nil:
			e.say(Event{Kind: Left, Worker: e.id})
			return stop.err
		default:
			return errors.Join(stop.err, err)
		}
	}
}

// stopping is where a stop stands, across incarnations.
type stopping struct {
	asked <-chan struct{} // nil once it has begun, or if the context of Run never ends
	begun bool
	err   error // what Run returns for it
}

// incarnation is one membership of the group: the loop around one lease.Member. It is the only
// goroutine that touches the member.
func (e *Engine) incarnation(ctx context.Context, stop *stopping) error {
	ctx, cancel := context.WithCancel(ctx)
	e.setID(fmt.Sprintf("%s@%s", e.cfg.Worker, rand.Text()[:12]))
	l := &loop{
		engine: e,
		ctx:    ctx,
		events: make(chan lease.Event),
		over:   make(chan struct{}),
		member: lease.NewMember(lease.MemberConfig{
			ID:         e.id,
			Stream:     e.cfg.Stream.Name,
			ARN:        e.cfg.Stream.ARN,
			Created:    e.cfg.Stream.Created,
			Start:      e.start(),
			MaxShards:  e.cfg.MaxShards,
			Failover:   e.cfg.FailoverTime,
			Heartbeat:  e.cfg.FailoverTime / 3,
			Watch:      min(time.Second, e.cfg.FailoverTime/6),
			Relist:     time.Minute,
			Checkpoint: e.cfg.CheckpointInterval,
		}),
	}
	defer func() {
		e.closeGrants()
		cancel()
		close(l.over)
		l.tasks.Wait()
	}()
	return l.run(stop)
}

// latestMargin makes up for the Date header's whole seconds.
const latestMargin = time.Second

// start makes LATEST a point in time, by the service's own clock.
func (e *Engine) start() lease.Position {
	if !e.cfg.Start.IsLatest() {
		return e.cfg.Start
	}
	now := e.cfg.Stream.Date
	if now.IsZero() { // a server that is not Kinesis
		now = time.Now()
	}
	return lease.AtTimestamp(now.Add(-latestMargin))
}

func (e *Engine) setID(id string) {
	e.mu.Lock()
	e.id = id
	clear(e.holds) // the new member tells them again
	clear(e.halted)
	e.mu.Unlock()
}

// stopWith asks Run to stop in order and to return err. The first one counts.
func (e *Engine) stopWith(err error) {
	select {
	case e.fail <- err:
	default:
	}
}

// say tells people. One event at a time, in order.
func (e *Engine) say(ev Event) {
	e.said.Lock()
	defer e.said.Unlock()
	e.cfg.Event(ev)
}
