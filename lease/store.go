package lease

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Store keeps the items of groups. All coordination rests on Write being one atomic compare-and-swap
// of one item; leasetest holds the suite that every Store must pass.
//
// A Store is safe for concurrent use. It keeps attributes that it does not know. Every call returns
// soon after ctx is done.
type Store interface {
	// Open makes sure that the store is there, and creates it only if it is absent and create is
	// true. It comes before anything else, and again after it has failed.
	Open(ctx context.Context, create bool) (Info, error)

	// Members returns the group's worker items and its control item: one cheap read. Unless
	// consistent is true the answer may be a few seconds old. If one of them cannot be read the call
	// fails with its *ItemError: a worker that is left out would count as gone.
	Members(ctx context.Context, group string, consistent bool) ([]Item, error)

	// Leases yields the lease items of one stream, in any order, maybe a few seconds old. An item
	// that cannot be read comes as an Item with its Key and an *ItemError, and the sequence goes on; any
	// other error ends it.
	Leases(ctx context.Context, group, stream string) iter.Seq2[Item, error]

	// Get returns one item as it is now, or ErrNotFound; an *ItemError if it cannot be read.
	Get(ctx context.Context, group string, key Key) (Item, error)

	// Write performs one compare-and-swap and returns the item as written. If the condition does not
	// hold the error is a *ConflictError. After any other error the write may or may not have
	// happened, or may still happen; repeating it is always safe.
	Write(ctx context.Context, group string, w Write) (Item, error)
}

// Info is what Open tells of a store.
type Info struct {
	// ID changes when the store (a table, a folder) was deleted and made again.
	ID string
}

// Op is what a Write does.
type Op uint8

// The operations.
const (
	Create  Op = iota + 1 // the item must be absent
	Update                // the item must be at Counter and, if a lease, with Owner
	Delete                // as Update; afterwards the item is absent
	SetHold               // the lease must be there, its Hold one Version before Item's; nothing but Hold is written
)

// String is the operation's name in lower case.
func (o Op) String() string {
	switch o {
	case Create:
		return "create"
	case Update:
		return "update"
	case Delete:
		return "delete"
	case SetHold:
		return "set hold of"
	}
	return "unknown"
}

// Write is one compare-and-swap of one item. It is absolute: Item holds every known attribute as it
// shall be, so that a repetition after a lost answer can be recognised. Only the Hold of a lease is written apart,
// by SetHold: for Create and Update that of Item does not count.
type Write struct {
	Op   Op
	Item Item // Create: with Counter 0; Update: with Counter one above the condition's; Delete: only its Key counts; SetHold: only Key and Hold

	// The condition of Update and Delete.
	Counter int64
	Owner   string // of a lease; "" is free
}

// Check returns why w breaks the rules of writes, or nil. Every Store calls it first.
func (w Write) Check() error {
	if err := w.Item.Key.Check(); err != nil {
		return fmt.Errorf("%s: %w", w.Op, err)
	}
	switch {
	case w.Op == Create && w.Item.Counter != 0:
		return fmt.Errorf("create %s: counter %d, want 0", w.Item.Key, w.Item.Counter)
	case w.Op == Update && w.Item.Counter != w.Counter+1:
		return fmt.Errorf("update %s: counter %d on condition %d, want one more", w.Item.Key, w.Item.Counter, w.Counter)
	case w.Op == SetHold && w.Item.Key.Kind != KindLease:
		return fmt.Errorf("%s %s: it is no lease", w.Op, w.Item.Key)
	case w.Op == SetHold && w.Item.Lease.Hold.Version < 1:
		return fmt.Errorf("%s %s: version %d, want one above that of the hold that stands", w.Op, w.Item.Key, w.Item.Lease.Hold.Version)
	case w.Op == SetHold:
		if err := w.Item.Lease.Hold.check(); err != nil {
			return fmt.Errorf("%s %s: %w", w.Op, w.Item.Key, err)
		}
	case w.Op != Create && w.Op != Update && w.Op != Delete:
		return fmt.Errorf("write %s: unknown operation %d", w.Item.Key, w.Op)
	}
	return nil
}

// Applies says whether the condition of w holds for the item as it stands; found is false if the
// item is absent.
func (w Write) Applies(item Item, found bool) bool {
	switch w.Op {
	case Create:
		return !found
	case SetHold:
		return found && item.Lease.Hold.Version+1 == w.Item.Lease.Hold.Version
	}
	return found && item.Counter == w.Counter && item.Lease.Owner == w.Owner
}

// Apply returns the item after w, which is no Delete and whose condition holds for the item as it
// stands. (An absent one is the zero Item.)
func (w Write) Apply(stands Item) Item {
	if w.Op == SetHold {
		stands.Lease.Hold = w.Item.Lease.Hold
		return stands
	}
	written := w.Item
	written.Lease.Hold = stands.Lease.Hold
	return written
}

// Landed says whether an item, shown by a conflict, is as w has written it: an earlier try of w had
// landed, and its answer was lost. Only the same write has the same owner, counter and values, or
// the same id of a hold; two writers' equal writes, such as two fences, have an equal effect.
func (w Write) Landed(stands Item, found bool) bool {
	if w.Op == Delete || !found {
		return w.Op == Delete && !found
	}
	return w.Apply(stands).Equal(stands)
}

// ErrNotFound says that there is no such item.
var ErrNotFound = errors.New("item not found")

// ErrStoreGone says that the store itself (a table, a folder) is not there. It is never created again
// while a worker runs.
var ErrStoreGone = errors.New("lease store not found")

// ConflictError says that the condition of a Write did not hold: this attempt wrote nothing. An earlier attempt at the same
// Write, whose answer was lost, may have: see Write.Landed.
type ConflictError struct {
	Item  Item // as it stands
	Found bool // false: the item is absent
}

// Error implements error.
func (e *ConflictError) Error() string {
	if !e.Found {
		return "conflict: the item is absent"
	}
	return fmt.Sprintf("conflict: %s is at counter %d, owner %q", e.Item.Key, e.Item.Counter, e.Item.Lease.Owner)
}

// ItemError says that an item of the store cannot be read: it is corrupt, foreign, or of a later
// version. Nothing overwrites it.
type ItemError struct {
	Key string // as it stands in the store
	Err error
}

// Error implements error.
func (e *ItemError) Error() string { return fmt.Sprintf("item %q: %v", clip(e.Key), e.Err) }

// Unwrap returns the cause.
func (e *ItemError) Unwrap() error { return e.Err }
