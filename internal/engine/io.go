package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/lease"
)

// leasesTimeout bounds one read of all leases, which may be many pages.
const leasesTimeout = 30 * time.Second

// troubleAfter is how many calls of one kind fail in a row before people hear of it.
const troubleAfter = 3

// wellAfter is how long no call fails before people hear that trouble is over: a store that throttles fails and succeeds by turns.
const wellAfter = 10 * time.Second

// storeHealth is how the calls to the store go. Each kind has a count of its own: reads may fail, for a policy or an item that
// cannot be read, while all writes succeed, and the other way round.
type storeHealth struct {
	calls [callKinds]struct {
		failures int
		err      error // of the last one
	}
	failed time.Time // the last time that any did
	told   bool
}

// callKind says which of two calls to the store may fail for a reason that the other does not have.
type callKind int

const (
	members callKind = iota
	leases
	writes

	callKinds // how many there are
)

// err is what is wrong, if anything is.
func (h *storeHealth) err() error {
	for _, c := range h.calls {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// attempt is the time-out of one call to the store: short enough that a heartbeat can be tried several
// times before the failover time is over.
func (e *Engine) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(time.Second, e.cfg.FailoverTime/6))
}

// noteStore keeps count of calls to the store, and tells people when it stops and starts to answer.
func (e *Engine) noteStore(ctx context.Context, kind callKind, err error) {
	if err != nil && ctx.Err() != nil {
		return // the loop is over
	}
	e.said.Lock() // until it is told: trouble and its end must not pass each other
	defer e.said.Unlock()
	e.mu.Lock()
	h := &e.store
	c := &h.calls[kind]
	c.err = err
	say := lease.ReportKind("")
	if err == nil {
		c.failures = 0
		if h.told && h.err() == nil && time.Since(h.failed) >= wellAfter {
			h.told = false
			say = StoreBack
		}
	} else if c.failures, h.failed = c.failures+1, time.Now(); !h.told && (c.failures >= troubleAfter || errors.Is(err, lease.ErrStoreGone)) {
		h.told = true
		say = StoreTrouble
	}
	e.mu.Unlock()
	if say != "" {
		e.cfg.Event(Event{Kind: say, Err: err})
	}
}

func (e *Engine) readMembers(ctx context.Context, a lease.ReadMembers) lease.Event {
	timed, cancel := e.attempt(ctx)
	defer cancel()
	items, err := e.cfg.Store.Members(timed, e.cfg.Group, a.Consistent)
	if err != nil {
		err = fmt.Errorf("reading the members of group %s: %w", e.cfg.Group, err)
	}
	e.noteStore(ctx, members, err)
	return lease.MembersRead{Items: items, Consistent: a.Consistent, Err: err}
}

func (e *Engine) readLeases(ctx context.Context) lease.Event {
	timed, cancel := context.WithTimeout(ctx, leasesTimeout)
	defer cancel()
	var read lease.LeasesRead
	for item, err := range e.cfg.Store.Leases(timed, e.cfg.Group, e.cfg.Stream.Name) {
		if bad, ok := errors.AsType[*lease.ItemError](err); ok {
			read.Bad = append(read.Bad, bad)
		} else if err != nil {
			read.Err = fmt.Errorf("reading the leases of group %s, stream %s: %w", e.cfg.Group, e.cfg.Stream.Name, err)
		} else {
			read.Items = append(read.Items, item)
		}
	}
	e.noteStore(ctx, leases, read.Err)
	return read
}

// write makes one attempt. What is neither a success nor a conflict may have happened all the same:
// the member repeats it.
func (e *Engine) write(ctx context.Context, w lease.Write) lease.Event {
	timed, cancel := e.attempt(ctx)
	defer cancel()
	written := lease.Written{Key: w.Item.Key, Outcome: lease.Landed, Found: true}
	item, err := e.cfg.Store.Write(timed, e.cfg.Group, w)
	written.Item = item
	if conflict, ok := errors.AsType[*lease.ConflictError](err); ok {
		written.Outcome, written.Item, written.Found = lease.Conflict, conflict.Item, conflict.Found
		err = nil
	} else if err != nil {
		err = fmt.Errorf("writing %s of group %s: %w", w.Item.Key, e.cfg.Group, err)
		written.Outcome, written.Err = lease.Unknown, err
	}
	e.noteStore(ctx, writes, err)
	return written
}

func (e *Engine) listShards(ctx context.Context, a lease.ListShards) lease.Event {
	at := &a.At
	if a.All {
		at = nil
	}
	shards, err := e.cfg.List(ctx, at)
	if errors.Is(err, fetch.ErrMissing) {
		if gone := e.cfg.Verify(ctx); gone != nil {
			e.stopWith(gone)
		}
	}
	if ctx.Err() == nil {
		e.noteListing(err)
	}
	return lease.Listed{Shards: shards, Err: err}
}

// noteListing tells people when the stream's shards cannot be listed, and when they can again. The listing has been tried for
// a while, if there is any use.
func (e *Engine) noteListing(err error) {
	e.mu.Lock()
	was := e.unlisted
	e.unlisted = err != nil
	e.mu.Unlock()
	switch {
	case err != nil && !was:
		e.say(Event{Kind: Stuck, Err: err})
	case err == nil && was:
		e.say(Event{Kind: Moving})
	}
}
