package sim

import "github.com/leatstream/leat/lease"

// Bug is a planted one: a fault of the programs that came before, put into the models around the
// protocol. The checks are worth nothing if one of them is not found.
type Bug uint8

// The planted bugs.
const (
	NoBug              Bug = iota
	UnfencedCheckpoint     // checkpoints are written whoever owns the lease (kcl-rb, vmware-go-kcl, harlow)
	NoSelfFence            // handlers are started past the deadline (vmware-go-kcl, harlow)
	NoParentGate           // children are opened before their parents are done (kinsumer, motorway)
	AckOnHandOut           // records count as handled when they are handed out (kinsumer's auto-ack)
	DeafDrain              // handlers are started while draining
	MissingIsEnd           // "no such shard" is taken for the end of the shard (the Java KCL, vmware-go-kcl)
	ChildrenAtLatest       // a shard without a checkpoint is read from its tip (vmware-go-kcl, motorway, harlow)
)

// String is the bug in words.
func (b Bug) String() string {
	return [...]string{"none", "unfenced checkpoint", "no self-fence", "no parent gate", "ack on hand-out",
		"deaf drain", "missing is end", "children at latest"}[b]
}

// mutate makes the store take a checkpoint without its condition: the whole item is overwritten.
func (b Bug) mutate(w lease.Write, stands lease.Item, found bool) lease.Write {
	if b == UnfencedCheckpoint && found && w.Op == lease.Update && w.Item.Key.Kind == lease.KindLease && w.Item.Lease.Owner == w.Owner {
		w.Counter, w.Owner = stands.Counter, stands.Lease.Owner
		w.Item.Counter = stands.Counter + 1
	}
	return w
}

// misread shows a child as if it waited for nobody.
func (b Bug) misread(item lease.Item) lease.Item {
	if b == NoParentGate && item.Key.Kind == lease.KindLease {
		item.Lease.Root = true
	}
	return item
}
