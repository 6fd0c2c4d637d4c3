package lease

import (
	"math"
	"time"
)

// Time is a reading of a worker's lease clock: a clock that never goes back and counts the time in
// which the machine was suspended. Its origin means nothing; two workers' readings are never compared.
type Time time.Duration

// never is after all times.
const never Time = math.MaxInt64

// Add returns t + d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns t - u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Event is what happened, told to Member.Step: Tick, Stop, the answers to actions, and what became of
// the shards that the member opened.
type Event interface{ event() }

// Tick says that the time Member.Wake has come. A Tick at any other time does no harm.
type Tick struct{}

// Stop asks the member to drain and release its leases and to leave the group.
type Stop struct{}

// MembersRead answers ReadMembers.
type MembersRead struct {
	Items      []Item
	Consistent bool
	Err        error
}

// LeasesRead answers ReadLeases.
type LeasesRead struct {
	Items []Item
	Bad   []*ItemError // items that cannot be read; they are left alone
	Err   error        // the read did not end; Items holds what came before
}

// Outcome is what became of a write.
type Outcome uint8

// The outcomes.
const (
	Landed   Outcome = iota + 1 // Item is as written
	Conflict                    // nothing was written; Item is as it stands, if Found
	Unknown                     // the write may have happened, or may yet happen
)

// Written answers WriteItem.
type Written struct {
	Key     Key
	Outcome Outcome
	Item    Item
	Found   bool
	Err     error // with Unknown: why
}

// Listed answers ListShards.
type Listed struct {
	Shards []Shard
	Err    error
}

// Acked says that every record of the shard up to Position has been handled. ShardEnd means all of
// them, to the end. It may be told as seldom as the checkpoint interval, but ShardEnd at once.
type Acked struct {
	Shard    string
	Token    int64
	Position Position
}

// Ended says that the shard was read to its end and what its children are, if the service told.
type Ended struct {
	Shard    string
	Token    int64
	Children []Shard
}

// Drained answers Drain: no handler of the shard runs any more, or its acks no longer count.
type Drained struct {
	Shard    string
	Token    int64
	Position Position // the last Acked; the zero Position if nothing was handled
}

// Missing says that the service answered that there is no such shard. That is never taken for its end: the
// member lists the shards.
type Missing struct {
	Shard string
	Token int64
}

func (Tick) event()        {}
func (Stop) event()        {}
func (MembersRead) event() {}
func (LeasesRead) event()  {}
func (Written) event()     {}
func (Listed) event()      {}
func (Acked) event()       {}
func (Ended) event()       {}
func (Drained) event()     {}
func (Missing) event()     {}
