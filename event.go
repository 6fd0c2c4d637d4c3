package leat

import (
	"log/slog"
	"time"

	"github.com/leatstream/leat/internal/engine"
	"github.com/leatstream/leat/lease"
)

// EventKind says what an Event is about.
type EventKind string

// The kinds of events.
const (
	EventJoined     EventKind = "joined"      // this worker is a member of its group
	EventFenced     EventKind = "fenced"      // this worker was silent for too long and joins again
	EventLeft       EventKind = "left"        // this worker has left its group
	EventPeerJoined EventKind = "peer joined" // Worker is new in the group
	EventPeerLeft   EventKind = "peer left"   // Worker stopped cleanly
	EventPeerFenced EventKind = "peer fenced" // Worker was silent for too long; its shards are shared out

	EventTook     EventKind = "took"      // this worker reads Shard from Position on
	EventReleased EventKind = "released"  // this worker gave Shard back at Position
	EventLost     EventKind = "lost"      // Shard is another worker's
	EventFinished EventKind = "finished"  // Shard was handled to its end
	EventNewShard EventKind = "new shard" // Shard got its lease

	EventRetrying     EventKind = "retrying"      // a record of Shard failed 5 times, and goes on being tried: Err; others may do so too
	EventStuck        EventKind = "stuck"         // Shard cannot be read (what may pass by itself: for a minute), and is tried again, or waits for one record at MaxInFlight: Err. No Shard: the stream's shards cannot be listed
	EventMoving       EventKind = "moving"        // Shard, retrying or stuck before, moves again: no record is retried. No Shard: the shards were listed
	EventSkipped      EventKind = "skipped"       // the record of Shard that ends at Position was given up and dropped, because of Err
	EventDeadLettered EventKind = "dead lettered" // the record of Shard that ends at Position was given up and sent to DeadLetter, because of Err
	EventCloseFailed  EventKind = "close failed"  // ShardHandler.Close returned Err for Shard; it is not called again

	EventTrimmed EventKind = "trimmed" // records of Shard after Position passed their retention unread

	EventOnHold    EventKind = "on hold"    // operators keep every worker off Shard: Err, a *lease.HoldError, says who and why
	EventHoldEnded EventKind = "hold ended" // they do so no longer

	// EventInvariantBroken says that what the lease protocol rests on does not hold for Shard: Err, a *lease.InvariantError, says what. Somebody
	// changed its lease without the counter, or leat or the store has a bug. The shard stands still, and no other worker takes it,
	// until this worker is restarted or the lease is put on hold. The others go on.
	EventInvariantBroken EventKind = "invariant broken"

	EventStoreTrouble EventKind = "store trouble" // the lease store does not answer: Err
	EventStoreBack    EventKind = "store back"    // the lease store answers again: no call has failed for 10 s
	EventUnreadable   EventKind = "unreadable"    // an item of the lease store is corrupt or foreign: Err
)

// Event is something that happened. It holds no data and no keys of records.
type Event struct {
	Kind     EventKind
	Time     time.Time // by this machine's clock
	Group    string
	Stream   string   // its name, also where Config.Stream is an ARN
	Worker   string   // this worker's id, or the other's for the peer events; "" where nobody's is told
	Shard    string   // "" if it is not about one
	Position Position // where the shard stands
	Err      error    // where Kind says so, else nil
}

// eventKind is the public name of what the engine or the protocol reports.
func (c *Consumer) eventKind(k lease.ReportKind) EventKind {
	switch k {
	case engine.GaveUp:
		if c.cfg.DeadLetter != nil {
			return EventDeadLettered
		}
		return EventSkipped
	case lease.SelfFenced:
		return EventFenced
	case lease.Resharded:
		return EventNewShard
	case lease.ShardTrimmed, engine.Trimmed:
		return EventTrimmed
	}
	return EventKind(k) // the other words are the same
}

// level is Error for what a person must end, Warn for what somebody should look at, Info for changes.
func (k EventKind) level() slog.Level {
	switch k {
	case EventFenced, EventLost, EventRetrying, EventStuck, EventSkipped, EventDeadLettered, EventCloseFailed, EventTrimmed,
		EventStoreTrouble, EventUnreadable:
		return slog.LevelWarn
	case EventInvariantBroken:
		return slog.LevelError
	}
	return slog.LevelInfo
}
