package lease

import (
	"cmp"
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

	Failover   time.Duration // D: silence after which this worker's leases may move; at most MaxFailover
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

// Member is one worker's side of the protocol: a value that Step changes and nothing else does. It is
// not safe for concurrent use. Step never reads a clock; the caller tells the time.
type Member struct {
	cfg   MemberConfig
	phase phase
	steps uint64 // Steps so far: what orders an answer before a later request
	now   Time
	wake  Time
	out   []Action

	// The worker's own item.
	me       Item
	deadline Time
	nextBeat Time
	settleAt Time // nothing is taken before a look at the members after this
	stopping bool
	failure  error // why it stops, if not because it was asked to

	writes      map[Key]*write // outstanding, one per key
	outstanding [purposes]int  // of writes, how many are for what
	sendAt      Time           // of writes, the first that waits to be sent is due

	// The members of the group, as read.
	peers        map[string]*peer
	silentAt     Time // of peers, the first to be silent for too long will be so; 0: to be looked for
	membersAsked bool
	membersBegun uint64 // step that asked
	membersNext  Time
	membersRetry Time   // no read before it, after an error
	membersLast  Time   // of the last answer
	membersKnown bool   // there was an answer
	consistentAt uint64 // step that asked for the last consistent read which was answered
	askNow       bool   // a consistent read is needed

	// The control item, and what it is to become.
	control      Item
	controlFound bool
	bump         bool // tell the others to read the leases

	// The leases of the stream, as read.
	view          map[string]*viewed
	viewOrder     []*viewed       // of view, sorted by shard; nil: to be made anew
	unreadable    map[string]bool // item keys; replaced by each read
	leasesAsked   bool
	leasesBegun   uint64
	leasesBegunAt Time
	leasesKnown   bool
	leasesLast    Time   // of the last answer
	leasesShown   uint64 // step that asked for it
	leasesNext    Time
	leasesEcho    Time // a second look after a change, because the first may be stale; 0 is none
	leasesPause   time.Duration
	stale         bool // the plan is out of date
	planned       Time // when it was last made
	tidied        bool // cleaned up since the last read

	// The shards of the stream, as listed.
	listed        map[string]Shard
	roots         map[string]Shard // open at the group's start; only while their leases are made
	wantAll       bool
	wantRoots     *ListShards
	listAsked     *ListShards
	listAskedAt   uint64
	listAskedTime Time
	listBegun     uint64 // step that asked for the listing in listed
	listAt        Time   // of that step
	listNext      Time   // no listing before it
	listPause     time.Duration
	auditAt       Time
	auditStep     uint64          // of the last audit
	suspects      map[string]bool // shards without a lease in the last audit, and not seen to have one since
	remake        bool            // all leases are gone: make the first ones again

	// What balance takes.
	changedAt Time     // when the membership last changed
	wants     []string // leases that others are asked for
	restUntil Time     // a lease in the view may move again then; 0 is none
	holdDue   Time     // when a hold in the view runs out; 0 is never

	held      map[string]*holding
	heldOrder []*holding // of held, sorted by shard; nil: to be made anew
	heldDue   Time
	halted    map[string]bool // shards that stand still: an invariant is broken
}

type phase uint8

const (
	joining phase = iota
	active
	leaving
	gone
)

// NewMember returns a member that has done nothing yet. Its first Step makes it join.
func NewMember(cfg MemberConfig) *Member {
	return &Member{
		cfg: cfg,
		me: Item{Key: WorkerKey(cfg.ID), Worker: Worker{
			State: Alive, Streams: []string{cfg.Stream}, MaxShards: cfg.MaxShards,
			Failover: (cfg.Failover + time.Millisecond - 1).Truncate(time.Millisecond), // never below what this worker counts
		}},
		writes:     map[Key]*write{},
		peers:      map[string]*peer{},
		view:       map[string]*viewed{},
		unreadable: map[string]bool{},
		held:       map[string]*holding{},
		halted:     map[string]bool{},
		askNow:     true,
	}
}

// Deadline is the time until which this worker is the only one that may hand out records of the
// shards that it was granted. Every start of a handler is preceded by a look at the lease clock.
func (m *Member) Deadline() Time { return m.deadline }

// Wake is the time at which the member wants a Tick if nothing else happens before.
func (m *Member) Wake() Time { return m.wake }

// Step tells the member what happened and returns what it wants done. now never goes back. The
// returned slice is the caller's.
func (m *Member) Step(now Time, ev Event) []Action {
	if m.phase == gone {
		return nil
	}
	m.now, m.out = now, nil
	m.steps++
	switch e := ev.(type) {
	case Stop:
		m.leave(nil)
	case MembersRead:
		m.onMembers(e)
	case LeasesRead:
		m.onLeases(e)
	case Listed:
		m.onListed(e)
	case Written:
		m.onWritten(e)
	case Acked:
		m.onAcked(e)
	case Ended:
		m.onEnded(e)
	case Drained:
		m.onDrained(e)
	case Missing:
		m.onMissing(e)
	}
	m.advance()
	return m.out
}

// advance looks at the whole state and does what is due. It is level-triggered: events only change
// the state, so that nothing hangs on the order in which they come.
func (m *Member) advance() {
	if m.phase == gone {
		return
	}
	m.wake = m.now + Time(m.cfg.Relist)
	m.beat()
	m.fenceSilent()
	m.syncControl()
	m.endHolds()
	m.advanceHeld()
	m.rest()
	m.take()
	m.tidy()
	m.list()
	m.readMembers()
	m.readLeases()
	m.sendWrites()
}

// wakeAt makes sure that the member is stepped at t.
func (m *Member) wakeAt(t Time) {
	if t < m.wake {
		m.wake = max(t, m.now)
	}
}

func (m *Member) do(a Action) { m.out = append(m.out, a) }

// suspended says whether the member cannot prove that it is a member: it starts nothing new.
func (m *Member) suspended() bool { return m.now >= m.deadline }

// failover is a worker's own failover time: how long it may go on without a heartbeat.
func (m *Member) failover(p *peer) time.Duration {
	return cmp.Or(p.item.Worker.Failover, m.cfg.Failover)
}

// patience is how long a worker must be silent before it is fenced: its failover time, and a margin for clocks whose rates
// differ.
func (m *Member) patience(p *peer) time.Duration {
	failover := m.failover(p)
	return failover + max(failover/50, 200*time.Millisecond)
}
