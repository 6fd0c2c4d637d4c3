// Package dispatch brings the records of a shard to the handler, in order, tried again until they are
// handled, within the process's byte budget.
package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// Gate says whether handlers may start: whether the worker can prove that it holds its leases.
type Gate interface {
	// Open says so of a moment that has just been read, with time.Now.
	Open(now time.Time) bool
	// Changed returns a channel that is closed when Open may have become true.
	Changed() <-chan struct{}
}

// LaneConfig is what a Lane needs.
type LaneConfig struct {
	Start lease.Position
	Gate  Gate

	// Handle is called with one record, or as many as Batch allows, in the shard's order. The slice is the
	// caller's again when Handle has returned, or its deferred ack has come. A *BatchError says that the
	// records before one are handled.
	Handle  func(context.Context, []record.Record) error
	Timeout time.Duration // of one call of Handle, deferred ack included; 0 is no bound
	Batch   Batch
	Retry   Retry

	// GiveUp disposes of a record that is not to be tried again. Once it returns nil the record counts as
	// handled; otherwise it is called again, after a pause. Nil is to try every record for ever.
	GiveUp func(ctx context.Context, r *record.Record, cause error) error

	// Open comes before the first call of Handle, Close after the last one, once each; an error makes
	// them come again, but for a Close with another reason than Finished. Either may be nil.
	Open  func(context.Context) error
	Close func(context.Context, lease.CloseReason) error

	// PerKey is order per key: AtOnce calls of Handle at one time, never two with records of one partition key,
	// and at most MaxInFlight records above the watermark. Otherwise the order is per shard: one call at a time.
	PerKey      bool
	AtOnce      int // 0 is 1
	MaxInFlight int // 0 is 1

	// Range is the shard's, for user records out of aggregated ones: those outside of it are strays, which
	// DropStrays drops. One that is zero, or cannot be read, holds all.
	Range      lease.HashRange
	DropStrays bool

	// Give is called with the bytes that are no longer held.
	Give func(int64)
	// Ended is called once, when every record up to the shard's end is handled, and Close has returned nil.
	Ended func()
	// Notice is called when a record has failed noticeAfter times, or when the shard has waited for
	// the record at its head (a *HeadError); and, with nil, when nothing of that holds any more.
	Notice func(error)
	// Stopped is called when the handler asked for the consumer to stop.
	Stopped func(error)
}

// Batch bounds what one call of Handle gets.
type Batch struct {
	Records int           // 0 is 1
	Bytes   int           // of data and partition keys, but at least one record; 0 is no bound
	Wait    time.Duration // for the batch to fill, from when its first record was read; 0 is to wait for nothing
}

// Retry says how a record that fails is tried again.
type Retry struct {
	Attempts int           // after so many failures the record is given up; 0 is no bound
	MaxAge   time.Duration // a record that fails when it arrived longer ago is given up; 0 is no bound
	Pause    time.Duration // before the second try; it doubles from try to try. 0 is 100 ms
	MaxPause time.Duration // 0 is 30 s
}

// The pauses between two tries of a record, if Retry does not say.
const (
	firstPause = 100 * time.Millisecond
	longestTry = 30 * time.Second
)

// readAhead is how many batches wait at most while another one is handled. The byte budget is the
// bound that counts; this one keeps a quiet shard's memory small.
const readAhead = 2

// Lane is one shard's way to the handler for one epoch of its lease. Push and Room belong to the
// shard's reader; Run to a goroutine of its own; the rest is for anybody.
//
// Records lie in the queue until a worker looks at them: it takes them one by one, in the shard's order, as
// calls (see call), and hands one or more out together as a turn (see turn). So order per shard and order per key,
// record by record and in batches, are the same lane with other bounds.
type Lane struct {
	cfg     LaneConfig
	made    time.Time
	hashes  kpl.Range
	ctx     context.Context // of the handlers
	cancel  context.CancelCauseFunc
	stop    chan struct{} // closed: start no further handler
	done    chan struct{} // closed: no handler runs, and none will
	workers sync.WaitGroup
	telling sync.Mutex // one Notice at a time; taken before mu

	mu       sync.Mutex
	room     chan struct{} // closed when there may be room
	queue    []*batch      // all but the first have records that were not looked at
	unseen   int64         // bytes of these, as Batch counts them, if it waits
	filling  *time.Timer   // looks again when a batch has waited for long enough; nil if nothing does
	apart    *aggregate    // used up, to be used again
	calls    calls         // the records that were, above the watermark
	stretch  stretch       // what a worker hands out without the lock
	pace     pace          // of the handler, with order per key
	watcher  *time.Timer   // looks whether it has become slow, if watching
	watching bool
	turns    turns          // what may be handed out again
	out      int            // turns that are handed out: running, or waiting for a deferred ack
	frontier Handle         // just above the newest record that was ever handed out
	tracker  *Tracker       // has the same records as calls
	last     lease.Position // of the last record that was read and not dropped
	rewind   bool           // the reader has to read again after last; never together with ended
	ended    bool           // the reader saw the shard's end
	stopping bool
	halted   bool // start no handler at all, not even to fill gaps: see Drain
	over     bool // the shard has ended, and all of it is handled
	inert    bool // acks no longer count

	work    *sync.Cond // there may be a call for a worker, or an end
	started int        // workers
	idle    int        // of these
	waking  bool       // one of them was woken, and has not looked yet
	gated   int        // workers that wait for the gate

	handled int64
	givenUp int64 // of these
	strays  int64 // user records
	queued  int
	freed   int64 // bytes of handled records that were not given back yet
	trouble trouble
}

// LaneState is where a lane stands, for people. The head is the oldest record that is not handled.
type LaneState struct {
	Handled   int64     // records, those that were given up included
	GivenUp   int64     // records
	Strays    int64     // user records that do not belong to the shard
	Queued    int       // records read and not yet handled, the running ones included
	Running   time.Time // when the handler was called that has the head; zero if none has
	Deferred  bool      // it has returned, and its ack is to come from elsewhere
	Attempt   int       // of the head
	Err       error     // of its last try
	Suspended bool      // waits for the gate
	Full      bool      // MaxInFlight holds the records behind up, until the head is handled
	Above     int       // records above the head that are handled
}

// NewLane returns a lane that begins after cfg.Start. Values of ctx reach the handlers, its cancellation
// does not.
func NewLane(ctx context.Context, cfg LaneConfig) *Lane {
	cfg.AtOnce, cfg.MaxInFlight, cfg.Batch.Records = max(1, cfg.AtOnce), max(1, cfg.MaxInFlight), max(1, cfg.Batch.Records)
	if !cfg.PerKey {
		cfg.AtOnce = 1
	}
	cfg.Retry.Pause = cmp.Or(cfg.Retry.Pause, firstPause)
	cfg.Retry.MaxPause = cmp.Or(cfg.Retry.MaxPause, longestTry)
	l := &Lane{
		cfg:     cfg,
		made:    time.Now(),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		room:    make(chan struct{}),
		tracker: NewTracker(cfg.Start),
		last:    cfg.Start,
	}
	if cfg.PerKey {
		l.calls.ofKey = map[uint64]*call{}
	}
	l.hashes, _ = kpl.NewRange(cfg.Range)
	l.work = sync.NewCond(&l.mu)
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return l
}

// Room waits until the lane takes another batch; after the shard's end, until the tail was dropped. If
// it was dropped since the last Push, Room returns the position after which to read again.
func (l *Lane) Room(ctx context.Context) (again lease.Position, rewind bool, err error) {
	for {
		l.mu.Lock()
		if !l.stopping && !l.ended && (len(l.queue) <= readAhead || l.short()) {
			again, rewind = l.last, l.rewind
			l.rewind = false
			l.mu.Unlock()
			return again, rewind, nil
		}
		room := l.room
		l.mu.Unlock()
		select {
		case <-room:
		case <-l.stop:
			return again, false, context.Canceled
		case <-ctx.Done():
			return again, false, ctx.Err()
		}
	}
}

// Push queues the records that were read since Room returned, and the shard's end. The lane owns the
// slice from now on, and the memory behind it, of which they are the last records. (It may be nil.) If the tail was dropped
// meanwhile, there is a gap before these records: they are dropped too.
func (l *Lane) Push(records []record.Record, memory *record.Memory, end bool) {
	l.mu.Lock()
	if l.rewind || l.stopping {
		l.mu.Unlock()
		l.cfg.Give(sizeOf(records))
		return
	}
	if len(records) > 0 {
		b := &batch{records: records, left: len(records), read: time.Now(), memory: memory}
		if memory != nil {
			b.skipped = memory.Len() - len(records)
		}
		l.queue = append(l.queue, b)
		l.unseen += l.batchSizeOf(records)
		l.last = positionOf(&records[len(records)-1])
		l.queued += len(records)
	}
	l.ended = l.ended || end
	l.share()
	l.mu.Unlock()
}

// Drain hands out nothing above what was handed out. Done tells when the running handlers have returned, and
// deferred acks have come. What waits for its key's turn below a record that was handed out is still handled: it is
// a gap below handled records, which would come again with it. What is being retried is left.
func (l *Lane) Drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopping {
		l.stopping = true
		l.stretch.recall()
		close(l.stop)
		l.work.Broadcast()
	}
}

// Cancel drains, starts no handler at all, and cancels the running handlers' contexts with this cause.
func (l *Lane) Cancel(cause error) {
	l.cancel(cause) // before the workers stop: by it Close is told why they do
	l.mu.Lock()
	l.halted = true
	l.mu.Unlock()
	l.Drain()
}

// Abandon makes acks inert from now on: the watermark stands.
func (l *Lane) Abandon() {
	l.mu.Lock()
	l.catchUp()
	l.inert = true
	l.stretch.recall()
	l.work.Broadcast()
	l.mu.Unlock()
}

// Free gives back what the lane still holds, after its end.
func (l *Lane) Free() {
	l.Abandon()
	l.Cancel(nil)
	l.mu.Lock()
	held := l.freed + l.calls.clear()
	l.turns = turns{}
	for _, b := range l.queue {
		if b.inside != nil && b.inside.open > 0 {
			b.pass() // calls.clear has counted it
		}
		held += sizeOf(b.records[b.next:])
	}
	l.queue, l.queued, l.freed, l.unseen = nil, 0, 0, 0
	if l.filling != nil {
		l.filling.Stop()
	}
	if l.watcher != nil {
		l.watcher.Stop()
	}
	l.trouble.stop()
	l.mu.Unlock()
	if held > 0 {
		l.cfg.Give(held)
	}
}

// Done is closed when no handler runs and none will.
func (l *Lane) Done() <-chan struct{} { return l.done }

// Watermark is the position up to which everything is handled; lease.ShardEnd after the shard's end.
func (l *Lane) Watermark() lease.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catchUp()
	return l.tracker.Watermark()
}

// State is where the lane stands.
func (l *Lane) State() LaneState {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catchUp()
	s := LaneState{
		Handled: l.handled, GivenUp: l.givenUp, Strays: l.strays, Queued: l.queued,
		Suspended: l.gated > 0, Full: l.full(), Above: l.above(),
	}
	if head := l.calls.oldest; head != nil {
		s.Attempt = head.attempt
		if t := head.turn; t != nil {
			s.Running, s.Deferred, s.Err = l.since(t), t.deferred(), t.err
		}
	}
	if t, ok := l.stretch.since(); ok {
		s.Attempt, s.Running = 1, l.made.Add(t)
	}
	return s
}

// above is how many records above the head are handled.
func (l *Lane) above() int { return l.tracker.InFlight() - l.tracker.Unacked() }

// full says whether records wait only since there are too many above the watermark. Order per shard is
// never full: there the records wait for their turn.
func (l *Lane) full() bool {
	return l.cfg.PerKey && l.tracker.InFlight() >= l.cfg.MaxInFlight && l.ahead() != nil
}

// roomChanged wakes Room; the caller holds the lock.
func (l *Lane) roomChanged() {
	close(l.room)
	l.room = make(chan struct{})
}

// HeadError says that a shard waits for its oldest record that is not handled.
type HeadError struct{ Above int }

// Error implements error.
func (e *HeadError) Error() string {
	return fmt.Sprintf("waiting for the record at the head: %d records above it are handled", e.Above)
}
