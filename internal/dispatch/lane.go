// Package dispatch brings the records of a shard to the handler: one at a time, in order, tried again
// until they are handled, within the process's byte budget.
package dispatch

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// Gate says whether handlers may start: whether the worker can prove that it holds its leases.
type Gate interface {
	Open() bool
	// Changed returns a channel that is closed when Open may have become true.
	Changed() <-chan struct{}
}

// LaneConfig is what a Lane needs.
type LaneConfig struct {
	Start   lease.Position
	Gate    Gate
	Handle  func(context.Context, *record.Record) error
	Timeout time.Duration // of one call of Handle; 0 is no bound

	// Give is called with the bytes that are no longer held.
	Give func(int64)
	// Ended is called once, when every record up to the shard's end is handled.
	Ended func()
	// Notice is called when a record has failed noticeAfter times, and, with nil, when it is handled after all.
	Notice func(error)
	// Stopped is called when the handler asked for the consumer to stop.
	Stopped func(error)
}

// The pauses between two tries of a record, and the number of tries after which people hear of it.
const (
	firstPause  = 100 * time.Millisecond
	longestTry  = 30 * time.Second
	noticeAfter = 5
)

// readAhead is how many batches wait at most while another one is handled. The byte budget is the
// bound that counts; this one keeps a quiet shard's memory small.
const readAhead = 2

// Lane is one shard's way to the handler for one epoch of its lease. Push and Room belong to the
// shard's reader; Run to a goroutine of its own; the rest is for anybody.
type Lane struct {
	cfg    LaneConfig
	ctx    context.Context // of the handlers
	cancel context.CancelCauseFunc
	stop   chan struct{} // closed: start no further handler
	done   chan struct{} // closed: no handler runs, and none will
	wake   chan struct{} // the queue or its end changed; one slot

	mu       sync.Mutex
	room     chan struct{} // closed when there may be room
	tracker  *Tracker
	queue    []*batch
	last     lease.Position // of the last record that was queued and not dropped
	rewind   bool           // the reader has to read again after last; never together with ended
	ended    bool           // the reader saw the shard's end
	stopping bool
	inert    bool // acks no longer count
	state    LaneState

	// given is what the handler gets: a copy, so that a handler that changes its record changes neither
	// the next try nor the bytes that are given back. Only Run touches it.
	given record.Record
}

type batch struct {
	records []record.Record
	next    int
	freed   int64 // bytes of handled records that were not given back yet
}

// LaneState is where a lane stands, for people.
type LaneState struct {
	Handled   int64     // records
	Queued    int       // records read and not yet handled, the running one included
	Running   time.Time // when the running handler was called; zero if none runs
	Attempt   int       // of the record at the head
	Err       error     // of its last try
	Suspended bool      // waits for the gate
}

// NewLane returns a lane that begins after cfg.Start. Values of ctx reach the handlers, its cancellation
// does not.
func NewLane(ctx context.Context, cfg LaneConfig) *Lane {
	l := &Lane{
		cfg:     cfg,
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		wake:    make(chan struct{}, 1),
		room:    make(chan struct{}),
		tracker: NewTracker(cfg.Start),
		last:    cfg.Start,
	}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return l
}

// Room waits until the lane takes another batch; after the shard's end, until the tail was dropped. If
// it was dropped since the last Push, Room returns the position after which to read again.
func (l *Lane) Room(ctx context.Context) (again lease.Position, rewind bool, err error) {
	for {
		l.mu.Lock()
		if !l.stopping && !l.ended && len(l.queue) <= readAhead {
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
// slice from now on. If the tail was dropped meanwhile, there is a gap before these records: they are
// dropped too.
func (l *Lane) Push(records []record.Record, end bool) {
	l.mu.Lock()
	if l.rewind || l.stopping {
		l.mu.Unlock()
		l.cfg.Give(sizeOf(records))
		return
	}
	if len(records) > 0 {
		l.queue = append(l.queue, &batch{records: records})
		l.last = positionOf(&records[len(records)-1])
		l.state.Queued += len(records)
	}
	l.ended = l.ended || end
	l.mu.Unlock()
	l.signal()
}

// DropTail frees about want bytes of records that no handler has seen, from the newest on, and returns
// how many it freed. The reader reads them again later.
func (l *Lane) DropTail(want int64) (freed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 && freed < want {
		b := l.queue[len(l.queue)-1]
		end := len(b.records)
		for ; end > b.next && freed < want; end-- {
			freed += b.records[end-1].Size()
			b.records[end-1] = record.Record{}
			l.state.Queued--
		}
		l.rewind = l.rewind || end < len(b.records)
		b.records = b.records[:end]
		if end > 0 && !handled(&b.records[end-1]) {
			break // enough is freed, or the handler has the last one
		}
		freed += b.freed
		l.queue = l.queue[:len(l.queue)-1]
	}
	if l.rewind {
		l.ended = false
		l.roomChanged()
		l.last = l.tracker.Watermark()
		if n := len(l.queue); n > 0 {
			records := l.queue[n-1].records
			l.last = positionOf(&records[len(records)-1])
		}
	}
	return freed
}

// Run handles records until the lane is stopped or the shard has ended and all of it is handled. A
// handler that ends the goroutine (runtime.Goexit) ends it too: what follows Run must be deferred.
func (l *Lane) Run() {
	defer close(l.done)
	for {
		r, ok := l.next()
		if !ok || !l.handle(r) {
			return
		}
	}
}

// next waits for the next record. It stays in its batch, at batch.next-1, until it is handled.
func (l *Lane) next() (*record.Record, bool) {
	for {
		l.mu.Lock()
		if l.stopping {
			l.mu.Unlock()
			return nil, false
		}
		if len(l.queue) > 0 && l.queue[0].next < len(l.queue[0].records) {
			b := l.queue[0]
			r := &b.records[b.next]
			b.next++
			l.mu.Unlock()
			return r, true
		}
		if l.ended {
			l.tracker.End()
			l.mu.Unlock()
			l.cfg.Ended()
			return nil, false
		}
		l.mu.Unlock()
		select {
		case <-l.wake:
		case <-l.stop:
		}
	}
}

// handle tries one record until it is handled; false if the lane stops before.
func (l *Lane) handle(r *record.Record) bool {
	l.mu.Lock()
	handle := l.tracker.Add(positionOf(r))
	l.mu.Unlock()
	pause := firstPause
	for attempt := 1; ; attempt++ {
		if !l.mayStart(attempt) {
			return false
		}
		l.given = *r
		l.given.Attempt = attempt
		err := l.call(&l.given)
		if err == nil {
			on := l.ack(r, handle)
			if on && attempt > noticeAfter {
				l.cfg.Notice(nil)
			}
			return on
		}
		l.failed(err)
		if stop, ok := errors.AsType[*StopError](err); ok {
			l.cfg.Stopped(stop.Err)
			<-l.stop
			return false
		}
		if attempt == noticeAfter {
			l.cfg.Notice(err)
		}
		wait := pause
		pause = min(2*pause, longestTry)
		if after, ok := errors.AsType[*RetryAfterError](err); ok {
			wait = after.Pause
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.stop:
			timer.Stop()
			return false
		}
	}
}

// mayStart waits until the worker can prove that the shard is its own. The last look at the gate is
// the last thing before the handler.
func (l *Lane) mayStart(attempt int) bool {
	for {
		changed := l.cfg.Gate.Changed()
		open := l.cfg.Gate.Open()
		l.mu.Lock()
		if l.stopping {
			l.mu.Unlock()
			return false
		}
		l.state.Suspended = !open
		if open {
			l.state.Attempt = attempt
			l.state.Running = time.Now()
			l.mu.Unlock()
			return true
		}
		l.mu.Unlock()
		select {
		case <-changed:
		case <-l.stop:
			return false
		}
	}
}

// call calls the handler; a panic is an error. A handler can also end the goroutine, as t.FailNow does in
// a test: nobody is left to try again, so the consumer stops, rather than to hold a shard that nobody reads.
func (l *Lane) call(r *record.Record) (err error) {
	ctx := l.ctx
	if l.cfg.Timeout > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, l.cfg.Timeout, ErrHandlerTimeout)
		defer cancel()
		ctx = timed
	}
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		} else if !returned {
			l.failed(ErrHandlerExited)
			l.cfg.Stopped(ErrHandlerExited)
		}
	}()
	err = l.cfg.Handle(ctx, r)
	returned = true
	return err
}

func (l *Lane) failed(err error) {
	l.mu.Lock()
	l.state.Err = err
	l.state.Running = time.Time{}
	l.mu.Unlock()
}

// ack counts a record as handled, unless the lane is over. It returns whether to go on.
func (l *Lane) ack(r *record.Record, handle Handle) bool {
	size := r.Size()
	l.mu.Lock()
	if l.inert {
		l.mu.Unlock()
		return false
	}
	l.tracker.Ack(handle)
	l.state.Handled++
	l.state.Queued--
	l.state.Attempt, l.state.Err, l.state.Running = 0, nil, time.Time{}
	b := l.queue[0]
	*r = record.Record{} // its bytes are free, though the batch is not; see handled
	b.freed += size
	give := int64(0)
	if b.next == len(b.records) {
		give, b.freed = b.freed, 0
		l.queue[0] = nil
		l.queue = l.queue[1:]
		l.roomChanged()
	} else if b.freed >= giveAtLeast {
		give, b.freed = b.freed, 0
	}
	l.mu.Unlock()
	if give > 0 {
		l.cfg.Give(give)
	}
	return true
}

// giveAtLeast keeps small records from taking the budget's lock one by one.
const giveAtLeast = 64 << 10

// Drain starts no further handler. Done tells when the running one has returned.
func (l *Lane) Drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopping {
		l.stopping = true
		close(l.stop)
	}
}

// Cancel drains, and cancels the running handler's context with this cause.
func (l *Lane) Cancel(cause error) {
	l.Drain()
	l.cancel(cause)
}

// Abandon makes acks inert from now on: the watermark stands.
func (l *Lane) Abandon() {
	l.mu.Lock()
	l.inert = true
	l.mu.Unlock()
}

// Close frees what the lane still holds, after its end.
func (l *Lane) Close() {
	l.Drain()
	l.cancel(nil)
	l.mu.Lock()
	l.inert = true
	held := int64(0)
	for _, b := range l.queue {
		held += b.freed + sizeOf(b.records)
	}
	l.queue, l.state.Queued = nil, 0
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
	return l.tracker.Watermark()
}

// State is where the lane stands.
func (l *Lane) State() LaneState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// roomChanged wakes Room; the caller holds the lock.
func (l *Lane) roomChanged() {
	close(l.room)
	l.room = make(chan struct{})
}

func (l *Lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func sizeOf(records []record.Record) (n int64) {
	for i := range records {
		if !handled(&records[i]) {
			n += records[i].Size()
		}
	}
	return n
}

// handled says whether a queued record was handled: those were emptied.
func handled(r *record.Record) bool { return r.SequenceNumber == "" }

// positionOf is the position after a record. A record with a bad sequence number does not get this far.
func positionOf(r *record.Record) lease.Position {
	p, _ := r.Position()
	return p
}
