package explore

import "github.com/leatstream/leat/lease"

// Bug is a planted one, in the store or the shell around the members. Bugs inside of the members are patches, applied
// with go test -overlay.
type Bug uint8

// The planted bugs.
const (
	NoBug                Bug = iota
	UnfencedCheckpoint       // checkpoints are written whoever owns the lease (kcl-rb, vmware-go-kcl, harlow)
	OwnerOnlyCheckpoint      // checkpoints are conditional on the owner, not on the counter (kinsumer)
	TakeAnyCounter           // a lease is taken whatever its counter is (motorway)
	FenceAnyHeartbeat        // a worker is fenced whatever its heartbeat is
	ProofFromAnswer          // the deadline runs from the heartbeat's answer (the Java KCL)
	OwnPatience              // an observer waits for its own failover time, not the other's
	ShortPatience            // an observer waits for two thirds of the failover time
	NoSelfFence              // handlers are started past the deadline (vmware-go-kcl, harlow)
	ClockStops               // the lease clock does not count the time in which its worker is suspended
	AdoptAny                 // a conflict that shows the own id and the next counter counts as success, whatever the values
	TransferWithoutFinal     // a lease is given back without its last checkpoint
	DeafDrain                // handlers are started while draining
	AckOnHandOut             // records count as handled when they are handed out (kinsumer's auto-ack)
	NoParentGate             // children are opened before their parents are done (kinsumer, motorway)
	NoChildren               // SHARD_END is written, though the children's leases were never made
	SeenAtRequest            // an observer counts silence from before the read that showed a heartbeat
	ReusedID                 // a worker joins again under its old id, over its old item
	CreateOver               // a lease is made though there is one (a plain put)
	numBugs
)

// String is the bug in words.
func (b Bug) String() string {
	return [...]string{"none", "unfenced checkpoint", "owner-only checkpoint", "take at any counter", "fence any heartbeat",
		"proof from the answer", "own patience", "short patience", "no self-fence", "clock stops", "adopt any value", "transfer without final checkpoint",
		"deaf drain", "ack on hand-out", "no parent gate", "no children", "seen at request", "reused id", "create over"}[b]
}

// loosens says whether the store takes a write whose condition does not hold.
func (b Bug) loosens(w lease.Write, stands lease.Item, found bool) bool {
	is, was := w.Item.Lease, stands.Lease
	onLease := w.Item.Key.Kind == lease.KindLease
	switch b {
	case UnfencedCheckpoint:
		return found && onLease && w.Op == lease.Update && is.Owner == w.Owner
	case OwnerOnlyCheckpoint:
		return found && onLease && w.Op == lease.Update && is.Owner == w.Owner && was.Owner == w.Owner
	case TakeAnyCounter:
		return found && onLease && w.Op == lease.Update && is.Owner != w.Owner && is.Owner != ""
	case FenceAnyHeartbeat:
		return found && w.Op == lease.Update && w.Item.Worker.State == lease.Fenced
	case ReusedID:
		return w.Op == lease.Create && w.Item.Key.Kind == lease.KindWorker
	case CreateOver:
		return w.Op == lease.Create && onLease
	}
	return false
}

// alters is what the write becomes on its way.
func (b Bug) alters(w lease.Write, stands lease.Item) lease.Write {
	if b == TransferWithoutFinal && w.Op == lease.Update && w.Item.Lease.Owner != w.Owner && !w.Item.Lease.Checkpoint.IsShardEnd() {
		w.Item.Lease.Checkpoint = stands.Lease.Checkpoint
	}
	if b == NoParentGate && w.Op == lease.Update {
		w.Item.Lease.Parents = stands.Lease.Parents
	}
	return w
}

// misread is how an item looks to its readers.
func (b Bug) misread(it lease.Item) lease.Item {
	if b == NoParentGate {
		it.Lease.Parents = nil
	}
	if b == OwnPatience {
		it.Worker.Failover = 0
	}
	if b == ShortPatience && it.Key.Kind == lease.KindWorker {
		it.Worker.Failover = it.Worker.Failover / 3 * 2
	}
	return it
}

// adopts says whether a conflict is taken for success.
func (b Bug) adopts(w *write, it *item) bool {
	return b == AdoptAny && it != nil && it.Lease.Owner != "" && it.Lease.Owner == w.sender && it.Counter == w.Item.Counter
}
