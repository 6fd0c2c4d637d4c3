package lease

// Action is what a member wants done, returned by Member.Step. The caller carries it out in any order
// and as slowly as it must, and tells the answer as an Event. At most one read of each kind and one write
// per key is outstanding.
type Action interface{ action() }

// ReadMembers asks for Store.Members; answered by MembersRead.
type ReadMembers struct{ Consistent bool }

// ReadLeases asks for Store.Leases of the member's stream; answered by LeasesRead.
type ReadLeases struct{}

// WriteItem asks for one attempt of Store.Write; answered by Written.
type WriteItem struct{ Write Write }

// ListShards asks for the stream's shards; answered by Listed.
type ListShards struct {
	// All asks for every shard within retention; otherwise only those that were open at At.
	All bool
	At  Position // TRIM_HORIZON or AT_TIMESTAMP
}

// Open grants a shard: read it after Position and hand its records out, before each Member.Deadline.
type Open struct {
	Shard     string
	Position  Position
	Token     int64 // grows with every owner of the shard; names this epoch in later events and actions
	HashRange HashRange
}

// Drain asks to start no further handler for the shard, to wait for the running ones, and to answer
// Drained. It is always answered.
type Drain struct {
	Shard string
	Token int64
}

// Close ends a grant: the member knows nothing of this epoch any more, and its acks are inert.
type Close struct {
	Shard  string
	Token  int64
	Reason CloseReason
}

// CloseReason says why a grant ended.
type CloseReason uint8

// The reasons.
const (
	CloseReleased CloseReason = iota + 1 // drained and given back, with its last checkpoint
	CloseFinished                        // the shard was handled to its end
	CloseLost                            // the lease is, or may soon be, somebody else's: cancel what runs
)

// String is the reason in lower case.
func (r CloseReason) String() string {
	switch r {
	case CloseReleased:
		return "released"
	case CloseFinished:
		return "finished"
	case CloseLost:
		return "lost"
	}
	return "unknown"
}

// Report tells people what happened. It needs no answer.
type Report struct {
	Kind     ReportKind
	Shard    string
	Worker   string   // the other worker, or the member's own id
	Position Position // where the shard stands
	Err      error
}

// ReportKind says what a Report is about.
type ReportKind string

// The kinds of reports.
const (
	Joined       ReportKind = "joined"        // this worker is a member of the group
	PeerJoined   ReportKind = "peer joined"   // Worker is new
	PeerLeft     ReportKind = "peer left"     // Worker stopped cleanly
	PeerFenced   ReportKind = "peer fenced"   // Worker was silent for too long
	SelfFenced   ReportKind = "fenced"        // this worker was silent for too long; it joins again
	Took         ReportKind = "took"          // this worker took Shard, from Worker if there was one
	Released     ReportKind = "released"      // this worker gave Shard back at Position
	Lost         ReportKind = "lost"          // Shard is Worker's now
	Finished     ReportKind = "finished"      // Shard was handled to its end
	Resharded    ReportKind = "resharded"     // Shard is a new child
	ShardTrimmed ReportKind = "shard trimmed" // Shard passed its retention before it was handled to its end
	OnHold       ReportKind = "on hold"       // operators keep everybody off Shard: Err is a *HoldError; Worker still has it, if any
	HoldEnded    ReportKind = "hold ended"    // they do so no longer
	Unreadable   ReportKind = "unreadable"    // an item of the store cannot be read

	InvariantBroken ReportKind = "invariant broken" // Shard is not as the protocol needs it, and stops: Err is an *InvariantError
)

// Done says that the member has left the group. It is the last action; after ErrFenced the caller may
// join again as a new member with a new id.
type Done struct{ Err error }

func (ReadMembers) action() {}
func (ReadLeases) action()  {}
func (WriteItem) action()   {}
func (ListShards) action()  {}
func (Open) action()        {}
func (Drain) action()       {}
func (Close) action()       {}
func (Report) action()      {}
func (Done) action()        {}
