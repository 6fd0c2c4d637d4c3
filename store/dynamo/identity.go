package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leatstream/leat/lease"
)

// ErrReplaced says that the table was deleted and made again, or restored, while the Store was in use: its
// leases are not those that the workers know. The Store never uses it. Errors that wrap ErrReplaced wrap
// lease.ErrStoreGone, too.
var ErrReplaced = errors.New("the lease table was replaced by another one of its name")

// quiet is how long the table may have told nothing before it is taken for possibly another one.
const quiet = 3 * time.Second

// identity is what tells whether the table is still the one that was opened. Store.mu guards it.
type identity struct {
	id       string
	heard    time.Time // when the table answered last
	doubt    bool      // it may be another one by now
	next     time.Time // when to ask next, if in doubt
	replaced error     // once it is known

	turn chan struct{} // held by who asks
}

// begin sets the id, once.
func (t *identity) begin(id string) error {
	if t.id != "" && t.id != id && t.replaced == nil {
		t.replaced = fmt.Errorf("%w: TableId %s, was %s: %w", ErrReplaced, id, t.id, lease.ErrStoreGone)
	}
	if t.replaced != nil {
		return t.replaced
	}
	t.id, t.heard, t.doubt = id, time.Now(), false
	return nil
}

// hear notes an answer.
func (t *identity) hear(now time.Time) {
	// The monotonic clock may stand still while the machine is suspended, the wall clock may jump: either may tell.
	wall := now.Round(0).Sub(t.heard.Round(0))
	if now.Sub(t.heard) > quiet || wall > quiet || wall < 0 {
		t.doubt = true
	}
	t.heard = now
}

// due says whether to ask which table it is.
func (t *identity) due(now time.Time) bool { return t.doubt && !now.Before(t.next) }

// answered is called after each answer of the table. An answer that may come from another table is not
// believed before the TableId is known to be the same; if that cannot be told now, it is.
func (s *Store) answered(ctx context.Context) error {
	s.mu.Lock()
	now := time.Now()
	s.table.hear(now)
	ask := s.table.due(now)
	s.mu.Unlock()
	if !ask {
		return nil
	}
	select {
	case s.table.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-s.table.turn }()
	s.mu.Lock()
	now = time.Now()
	ask, replaced := s.table.due(now), s.table.replaced
	if ask {
		s.table.next = now.Add(quiet)
	}
	s.mu.Unlock()
	if !ask || replaced != nil { // somebody else has asked while we waited
		return replaced
	}
	short, cancel := context.WithTimeout(ctx, s.cfg.AttemptTimeout) // an answer is waiting
	defer cancel()
	d, err := s.describe(short)
	switch {
	case errors.Is(err, lease.ErrStoreGone):
		return lease.ErrStoreGone
	case err != nil:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.begin(tableID(d))
}

// missed is called after the answer that there is no table.
func (s *Store) missed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.doubt, s.table.next = true, time.Time{}
}
