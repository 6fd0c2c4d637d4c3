package lease

import (
	"slices"
	"time"
)

// Item is one item of a group as it stands in the store. Exactly the part that Key.Kind names is in
// use. Items are shared between the protocol, the store and the caller: nobody changes one, or a
// slice in it, in place.
type Item struct {
	Key Key

	// Counter grows by exactly one with every write to the item but SetHold, and every such write is
	// conditional on it: the KCL's leaseCounter for leases, the heartbeat for workers, the number of changes for the
	// control item.
	Counter int64

	Lease   Lease
	Worker  Worker
	Control Control
}

// Lease is the part of an Item that holds a shard.
type Lease struct {
	Owner         string    // worker id; "" is free
	Checkpoint    Position  // everything up to here has been handled
	OwnerSwitches int64     // changes of owner since the last checkpoint
	Parents       []string  // shard ids, sorted: none, one (split) or two (merge)
	Children      []string  // shard ids, sorted; known once the shard is finished
	HashRange     HashRange // of partition keys' hashes
	Root          bool      // made when the group first saw the stream: waits for no parent
	Hold          Hold      // operators keep workers off; only SetHold writes it
}

// WorkerState is where a worker stands in its life. Fenced and left are final: a worker that goes on
// afterwards joins again under a new id.
type WorkerState uint8

// The states of a worker.
const (
	Alive   WorkerState = iota + 1
	Leaving             // alive, but it gives its leases back and takes none
	Fenced              // silent for too long: another worker has shut it out
	Left                // stopped cleanly
)

// String is the state as it stands in the store: "alive", "leaving", "fenced" or "left".
func (s WorkerState) String() string {
	switch s {
	case Alive:
		return "alive"
	case Leaving:
		return "leaving"
	case Fenced:
		return "fenced"
	case Left:
		return "left"
	}
	return "unknown"
}

// Worker is the part of an Item that holds a worker. It stays under 1 KB, one DynamoDB write unit.
type Worker struct {
	State     WorkerState
	Streams   []string      // names of the streams that it reads
	MaxShards int           // it wants no more shards than this; 0 is no bound
	Failover  time.Duration // its own: it may start handlers for so long after a heartbeat. Whole milliseconds, at most MaxFailover; 0 is not known
	Wants     []string      // "stream/shard", sorted: leases of others that it asks for, for balance
}

// MaxFailover is the longest time that a worker may be silent before others take its leases.
const MaxFailover = 24 * time.Hour

// Control is the part of an Item that holds what a group knows as a whole.
type Control struct {
	Version int // of the layout; ControlVersion
	Streams []StreamRecord
}

// ControlVersion is the version of the layout that this package reads and writes.
const ControlVersion = 1

// StreamRecord is what a group knows of a stream, sorted by Name in Control.
type StreamRecord struct {
	Name    string
	ARN     string
	Created time.Time // tells a recreated stream from the first one; milliseconds
	Start   Position  // where the group began: TRIM_HORIZON or AT_TIMESTAMP, never LATEST
	Ready   bool      // the root leases have all been made
}

// Stream returns the record of the stream, and whether there is one.
func (c Control) Stream(name string) (StreamRecord, bool) {
	for _, s := range c.Streams {
		if s.Name == name {
			return s, true
		}
	}
	return StreamRecord{}, false
}

// Equal says whether two items are the same in every part that this package knows.
func (it Item) Equal(other Item) bool {
	a, b := it.Lease, other.Lease
	return it.Key == other.Key && it.Counter == other.Counter &&
		a.Owner == b.Owner && a.Checkpoint == b.Checkpoint && a.OwnerSwitches == b.OwnerSwitches &&
		slices.Equal(a.Parents, b.Parents) && slices.Equal(a.Children, b.Children) &&
		a.HashRange == b.HashRange && a.Root == b.Root && a.Hold == b.Hold &&
		it.Worker.State == other.Worker.State && it.Worker.MaxShards == other.Worker.MaxShards &&
		it.Worker.Failover == other.Worker.Failover && slices.Equal(it.Worker.Streams, other.Worker.Streams) && slices.Equal(it.Worker.Wants, other.Worker.Wants) &&
		it.Control.Version == other.Control.Version &&
		slices.EqualFunc(it.Control.Streams, other.Control.Streams, StreamRecord.equal)
}

// equal compares times as instants: a store gives them back in another location.
func (s StreamRecord) equal(o StreamRecord) bool {
	return s.Name == o.Name && s.ARN == o.ARN && s.Created.Equal(o.Created) && s.Start == o.Start && s.Ready == o.Ready
}
