package sim

import (
	"time"

	"github.com/leatstream/leat/lease"
)

// Bug is a planted one: a fault of the programs that came before, put into the models around the
// protocol. The checks are worth nothing if one of them is not found.
type Bug uint8

// The planted bugs, at least one for each invariant.
const (
	NoBug Bug = iota
	NoSelfFence
	ProofFromAnswer
	ReleaseAtStart
	AckOnHandOut
	MissingIsEnd
	UnfencedCheckpoint
	LostFence
	SkipFailed
	NoParentGate
	ChildrenAtLatest
	ForgottenChild
	DeafDrain
	BlurredAnswer
	AdoptByOwner
	OldToken
	SilentGap
	DeleteUnlisted
	WholeItem
	GhostHeartbeat
	NoWants
	DoubledWrite
	NoDrainTimeout
	StuckReader
	StopWithoutRelease
	ExitOnError
	NoHolds
	LeavesUntold
	numBugs
)

// bugs says of each planted bug what it is, who had it, and which invariants it breaks; one of them must find it.
var bugs = [numBugs]struct{ name, breaks string }{
	NoBug:              {name: "none"},
	NoSelfFence:        {"handlers are started past the deadline (vmware-go-kcl, harlow)", "S1"},
	ProofFromAnswer:    {"the deadline runs from the answer to a heartbeat (the Java KCL)", "S1"},
	ReleaseAtStart:     {"a release resets the checkpoint", "S2"},
	AckOnHandOut:       {"records count as handled when they are handed out (kinsumer's auto-ack)", "S3"},
	MissingIsEnd:       {"no such shard is taken for the end of the shard (the Java KCL, vmware-go-kcl)", "S3"},
	UnfencedCheckpoint: {"checkpoints are written whoever owns the lease (kcl-rb, vmware-go-kcl, harlow)", "S4"},
	LostFence:          {"a fence is answered and not kept", "S5"},
	SkipFailed:         {"what a handler failed on is passed over (the Java KCL)", "S6"},
	NoParentGate:       {"children are opened before their parents are done (kinsumer, motorway)", "S6 S7"},
	ChildrenAtLatest:   {"a shard without a checkpoint is read from its tip (vmware-go-kcl, motorway, harlow)", "S3 S6"},
	ForgottenChild:     {"a child's new lease is answered and not kept", "S8"},
	DeafDrain:          {"handlers are started while draining", "S9"},
	BlurredAnswer:      {"a refusal does not show the item as it stands", "S10"},
	AdoptByOwner:       {"a refused write counts as landed if the item names its writer (the Java KCL)", "S11"},
	OldToken:           {"handlers are given the token of the process's first epoch", "S12"},
	SilentGap:          {"nobody is told of records that passed their retention (Flink, harlow)", "S13"},
	DeleteUnlisted:     {"leases of shards that a listing lacks are removed (vmware-go-kcl)", "S14"},
	WholeItem:          {"a write replaces the whole item (kcl-rb, vmware-go-kcl)", "S15"},
	GhostHeartbeat:     {"a dead worker's heartbeat goes on (the Java KCL 3)", "L1"},
	NoWants:            {"nobody asks for the leases of others (vmware-go-kcl)", "L2"},
	DoubledWrite:       {"the client sends every write twice (an SDK's own retries)", "L3"},
	NoDrainTimeout:     {"a drain waits for its handlers for ever (the Java KCL 3)", "L4"},
	StuckReader:        {"a reader stops at an error (kinsumer)", "L5"},
	StopWithoutRelease: {"a clean stop releases nothing (the Java KCL)", "L6"},
	ExitOnError:        {"a worker ends when the store does not answer (harlow)", "L7"},
	NoHolds:            {"workers do not see the holds of operators", "hold"},
	LeavesUntold:       {"nobody hears that a worker leaves before it has left (the Java KCL)", "L6"},
}

// String is the bug in words.
func (b Bug) String() string { return bugs[b].name }

// mutate changes what the store is asked to write.
func (b Bug) mutate(world *world, w lease.Write, stands lease.Item, found bool) lease.Write {
	if w.Op != lease.Update {
		return w
	}
	isLease := w.Item.Key.Kind == lease.KindLease
	switch {
	case b == UnfencedCheckpoint && found && isLease && w.Item.Lease.Owner == w.Owner:
		w.Counter, w.Owner = stands.Counter, stands.Lease.Owner
		w.Item.Counter = stands.Counter + 1
	case b == ReleaseAtStart && isLease && w.Owner != "" && w.Item.Lease.Owner == "" && !w.Item.Lease.Checkpoint.IsShardEnd():
		w.Item.Lease.Checkpoint = lease.TrimHorizon()
	case b == NoWants && !isLease:
		w.Item.Worker.Wants = nil
	}
	return w
}

// loses says whether the store forgets what it answers to have written.
func (b Bug) loses(w lease.Write) bool {
	return b == LostFence && w.Item.Worker.State == lease.Fenced ||
		b == ForgottenChild && w.Op == lease.Create && w.Item.Key.Kind == lease.KindLease && !w.Item.Lease.Root
}

// misread changes what the store shows.
func (b Bug) misread(w *world, item lease.Item) lease.Item {
	switch {
	case b == NoParentGate && item.Key.Kind == lease.KindLease:
		item.Lease.Root = true
	case b == NoHolds:
		item.Lease.Hold = lease.Hold{Version: item.Lease.Hold.Version}
	case b == GhostHeartbeat && item.Key.Kind == lease.KindWorker && lives(item.Worker.State) && !w.runs(item.Key.Worker):
		item.Counter += int64(w.now / time.Second)
	}
	return item
}

// hides changes what others see of a worker.
func (b Bug) hides(item lease.Item) lease.Item {
	if b == LeavesUntold && item.Worker.State == lease.Leaving {
		item.Worker.State = lease.Alive
	}
	return item
}

// misanswer changes what a refused write is told to stand there.
func (b Bug) misanswer(item lease.Item) lease.Item {
	if b == BlurredAnswer {
		item.Lease.OwnerSwitches = 0
	}
	return item
}
