package lease

import (
	"errors"
	"time"
)

// MemberConfig is what a Member needs to know. All durations must be set.
type MemberConfig struct {
	ID        string    // never used before: name + random incarnation
	Stream    string    // its name
	ARN       string    // of the stream
	Created   time.Time // when the stream was created
	Start     Position  // where a new group begins; never LATEST: the caller turns it into a time
	MaxShards int       // 0 is no bound

	Failover   time.Duration // D: silence after which a worker's leases may move
	Heartbeat  time.Duration // D/3
	Watch      time.Duration // between reads of the members
	Relist     time.Duration // between reads of the leases, and listings of the shards, when all is quiet
	Checkpoint time.Duration // at least this between two checkpoint writes of a lease
}

// ErrFenced says that another worker has shut this one out because it was silent for too long.
var ErrFenced = errors.New("fenced: silent for longer than the failover time")

// ErrRecreated says that the stream is not the one that the group has read: it was deleted and created again
// under the same name.
var ErrRecreated = errors.New("stream was recreated under the same name")
