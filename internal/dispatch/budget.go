package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Budget bounds the bytes that a process's unhandled records pin, over all its shards (promise P8).
// Each shard takes from it through a Share. It is safe for concurrent use.
//
//   - The bytes taken never exceed the bound, but for one answer: one that is larger than a quarter of
//     the budget is let in alone, over the bound if it must, since it could wait for ever otherwise.
//     Nothing else is granted until it is paid off.
//   - A shard holds at most a quarter, or one answer.
//   - The fair share of a shard is the bound divided by the open shards. A shard that stays within it, or
//     holds nothing, has precedence: if the budget is short, others above theirs lose the tail of
//     what they have not handed out. Without a tail to drop it waits, in order of arrival.
//   - A shard above its fair share waits until nobody within theirs does. It cannot starve: its own
//     records are handled, and then it is within.
//
// What handlers hold cannot be taken back: handlers that never return can fill the whole budget
// between them, if enough of them do.
type Budget struct {
	max int64

	mu      sync.Mutex // never held while waiting or calling drop
	used    int64
	peak    int64
	shares  []*Share
	waiters []*taker // in order of arrival
}

// Share is one shard's part of a Budget. It has the methods of fetch.Credit, and is safe for
// concurrent use.
type Share struct {
	budget *Budget
	drop   func(want int64) int64
	held   int64 // this and closed: under Budget.mu
	closed bool
}

// taker is a Take that waits.
type taker struct {
	share   *Share
	n       int64
	done    chan struct{} // closed when granted, or when the share is closed
	granted bool
}

// ErrShareClosed says that the shard's share has been closed.
var ErrShareClosed = errors.New("the shard's share of the byte budget is closed")

// dropAgain is how often the first in the queue looks for tails to drop again: bytes that were in a
// reader's hands at first may lie in a lane by now.
const dropAgain = 100 * time.Millisecond

// NewBudget returns a budget of max bytes, which must be above 0. leat.Config refuses less than 16 MiB:
// one answer can have 10 MiB.
func NewBudget(max int64) *Budget { return &Budget{max: max} }

// Max returns the bound in bytes.
func (b *Budget) Max() int64 { return b.max }

// Used returns the bytes that are taken now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Peak returns the most bytes that were ever taken at one time.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peak
}

// Shard opens a shard's share; Close ends it.
//
// The budget calls drop when it is short and the shard holds more than its fair share: drop forgets
// undelivered records from the shard's tail, at least want bytes of them if there are as many, rewinds the
// reader to before them, and returns the bytes that it freed. The budget books those itself: drop must
// not Give them, nor Take. It is called with no lock held, from any goroutine, also from several at
// once and shortly after Close, and must not block.
func (b *Budget) Shard(drop func(want int64) (freed int64)) *Share {
	s := &Share{budget: b, drop: drop}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shares = append(b.shares, s)
	return s
}

// Take blocks until n bytes are the shard's. It returns ctx's cause once ctx is done and
// ErrShareClosed once the share is; then nothing is taken.
func (s *Share) Take(ctx context.Context, n int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if n <= 0 {
		return nil
	}
	b := s.budget
	b.mu.Lock()
	if s.closed {
		b.mu.Unlock()
		return ErrShareClosed
	}
	t := &taker{share: s, n: n, done: make(chan struct{})}
	b.waiters = append(b.waiters, t)
	b.serve()
	granted := t.granted
	b.mu.Unlock()
	if granted {
		return nil
	}

	retry := time.NewTimer(dropAgain)
	defer retry.Stop()
	for first := true; ; first = false {
		b.dropFor(t, first)
		select {
		case <-t.done:
			return t.result()
		default:
		}
		select {
		case <-t.done:
			return t.result()
		case <-ctx.Done():
			return b.abandon(t, context.Cause(ctx))
		case <-retry.C:
			retry.Reset(dropAgain)
		}
	}
}

// Give gives n bytes back. On a closed share it does nothing, as all has been given back.
func (s *Share) Give(n int64) {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(s, n)
	b.serve()
}

// Room is a hint of how many bytes to ask for next: what the shard can probably take without waiting, of
// its fair share or, while the budget is not short, of what is free. It is at least half a fair share,
// for which the shard may have to wait, as small answers cost as many calls as large ones; and half, so
// that it can read on while the other half is being handled.
func (s *Share) Room() int64 {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	free := min(b.quarter()-s.held, max(b.fair()-s.held, (b.max-b.used)/4))
	return max(1, b.fair()/2, free)
}

// Held returns the bytes that the shard holds now.
func (s *Share) Held() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.held
}

// Close gives all bytes of the shard back and ends its waiting Takes. It may be called again.
func (s *Share) Close() {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(s, s.held)
	s.closed = true
	b.shares = slices.DeleteFunc(b.shares, func(other *Share) bool { return other == s })
	b.waiters = slices.DeleteFunc(b.waiters, func(t *taker) bool {
		if t.share == s {
			close(t.done)
		}
		return t.share == s
	})
	b.serve()
}

// result is what became of a Take whose done is closed.
func (t *taker) result() error {
	if !t.granted {
		return ErrShareClosed
	}
	return nil
}

// abandon takes t out of the queue. A grant that came at the same time stands: the caller has the
// bytes.
func (b *Budget) abandon(t *taker, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-t.done:
		return t.result()
	default:
	}
	b.waiters = slices.DeleteFunc(b.waiters, func(other *taker) bool { return other == t })
	b.serve() // it may have stood before others
	return err
}

func (b *Budget) quarter() int64 { return max(1, b.max/4) }

// fair is a shard's fair share, at most what it may hold at all.
func (b *Budget) fair() int64 {
	return min(b.quarter(), b.max/int64(max(1, len(b.shares))))
}

// entitled says whether t has precedence over takers above their fair share.
func (b *Budget) entitled(t *taker) bool {
	return t.share.held == 0 || t.share.held+t.n <= b.fair()
}

// serve grants what can be granted: first to the entitled, then to the others, each in order of
// arrival. It stops at the first for whom the budget is short, so that small takers do not starve a large
// one; a taker whose own shard is full holds up nobody.
func (b *Budget) serve() {
	for _, precedence := range []bool{true, false} {
		for i := 0; i < len(b.waiters); {
			t := b.waiters[i]
			if b.entitled(t) != precedence || t.share.held > 0 && t.share.held+t.n > b.quarter() {
				i++
				continue
			}
			// A large answer may go over the bound, once; see Budget.
			if b.used+t.n > b.max && (t.n <= b.quarter() || b.used > b.max) {
				return
			}
			b.waiters = slices.Delete(b.waiters, i, i+1)
			t.share.held += t.n
			b.used += t.n
			b.peak = max(b.peak, b.used)
			t.granted = true
			close(t.done)
		}
	}
}

func (b *Budget) release(s *Share, n int64) {
	n = max(0, min(n, s.held)) // a late Give of a closed share has nothing to give
	s.held -= n
	b.used -= n
}

// dropFor drops tails of others until t is served or there is nothing left to drop. Only a taker with
// precedence may do that; after its first try, only while it is the first of those.
func (b *Budget) dropFor(t *taker, arrived bool) {
	var tried []*Share
	for {
		victim, want := b.victim(t, arrived, tried)
		if victim == nil {
			return
		}
		tried = append(tried, victim)
		freed := victim.drop(want)
		b.mu.Lock()
		b.release(victim, freed)
		b.serve()
		b.mu.Unlock()
	}
}

// victim is the shard that holds the most above its fair share, of those not tried yet, and how many
// bytes are short for t and those before it. Nil: none, or t may not or need not ask.
func (b *Budget) victim(t *taker, arrived bool, tried []*Share) (*Share, int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	want, waits := b.used-b.max, false
	for _, other := range b.waiters {
		if !b.entitled(other) {
			continue
		}
		if other != t && !arrived {
			return nil, 0
		}
		want += other.n
		if other == t {
			waits = true
			break
		}
	}
	if !waits || want <= 0 {
		return nil, 0
	}
	var victim *Share
	for _, s := range b.shares {
		if s != t.share && s.held > b.fair() && (victim == nil || s.held > victim.held) && !slices.Contains(tried, s) {
			victim = s
		}
	}
	if victim == nil {
		return nil, 0
	}
	return victim, want
}
