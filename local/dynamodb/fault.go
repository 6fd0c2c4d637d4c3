package dynamodb

import (
	"net/http"
	"slices"
	"time"

	"github.com/leatstream/leat/local/internal/ondemand"
)

// FaultKind is what a Fault does to a call.
type FaultKind int

const (
	// Throttle refuses the call before it has any effect: ProvisionedThroughputExceededException for items,
	// ThrottlingException for tables.
	Throttle FaultKind = iota + 1

	// Error answers InternalServerError (HTTP 500) without any effect.
	Error

	// Deny answers AccessDeniedException, as for a caller whose policy lacks the action.
	Deny

	// Delay lets Fault.Delay pass before the call has any effect. It may be followed by another fault.
	Delay

	// DropRequest breaks the connection before the call has any effect.
	DropRequest

	// DropAnswer carries the call out and then breaks the connection.
	DropAnswer

	// Late breaks the connection, and carries the call out Fault.Delay later.
	Late

	// Hang neither carries the call out nor answers it until its context is done.
	Hang

	// Stale lets a read that is not consistent see the table as it was Fault.Delay ago, but not as it was before
	// the fault was set. It does nothing to other calls, and may be followed by another fault.
	Stale

	// NoItem lets a write whose condition does not hold answer without the item as it stands, although
	// ReturnValuesOnConditionCheckFailure asks for it. It may be followed by another fault.
	NoItem
)

// Fault makes a share of the calls go wrong.
type Fault struct {
	// Kind is what happens. A fault without one does nothing.
	Kind FaultKind

	// Op is the operation that it happens to, such as UpdateItem. Empty: all.
	Op string

	// Share is the probability that a call is affected, from 0 to 1.
	Share float64

	// Count is the most calls that are affected. 0: no such limit.
	Count int

	// Delay is a time of the kinds Delay, Late and Stale, on the timers of package time.
	Delay time.Duration
}

// SetFaults replaces all faults. They are tried in their order: times of Delay add up, the first of a kind that ends the
// matter ends it.
//
// Which calls are affected depends on the seed alone: the fate of the n-th call of an operation does not change
// with what goes on in between, so that a concurrent test can be repeated.
func (s *Server) SetFaults(seed uint64, list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults{seed: seed, list: slices.Clone(list), affected: make([]int, len(list)), calls: map[string]uint64{}}
}

type faults struct {
	seed     uint64
	list     []Fault
	affected []int             // calls, by fault
	calls    map[string]uint64 // by operation
}

// oldest is how far back the most stale read sees.
func (f *faults) oldest() (longest time.Duration) {
	for _, fault := range f.list {
		if fault.Kind == Stale {
			longest = max(longest, fault.Delay)
		}
	}
	return longest
}

// fate is what the faults do to one call.
type fate struct {
	delay, stale time.Duration
	noItem       bool
	kind         FaultKind // of the fault that ends the matter, if any
	err          error     // the answer instead of the call's
	late         time.Duration
}

func (s *Server) fate(operation string) (result fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.faults
	if len(f.list) == 0 {
		return result
	}
	f.calls[operation]++
	for i, fault := range f.list {
		if fault.Op != "" && fault.Op != operation || fault.Count > 0 && f.affected[i] >= fault.Count ||
			ondemand.Chance(f.seed, i, operation, f.calls[operation]) >= fault.Share {
			continue
		}
		f.affected[i]++
		switch fault.Kind {
		case Delay:
			result.delay += fault.Delay
			continue
		case Stale:
			result.stale = fault.Delay
			continue
		case NoItem:
			result.noItem = true
			continue
		case Throttle:
			result.err = throttled(operation)
		case Error:
			result.err = &apiError{kind: "com.amazonaws.dynamodb.v20120810#InternalServerError", message: "Internal server error", status: http.StatusInternalServerError}
		case Deny:
			result.err = &apiError{
				kind:    "com.amazon.coral.service#AccessDeniedException",
				message: "User: arn:aws:iam::" + s.config.Account + ":user/local is not authorized to perform: dynamodb:" + operation + " because no identity-based policy allows the dynamodb:" + operation + " action",
				status:  http.StatusBadRequest,
			}
		case Late:
			result.late = fault.Delay
		}
		result.kind = fault.Kind
		break
	}
	return result
}

func throttled(operation string) error {
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan":
		return failure("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded. (A fault on demand.)")
	}
	return &apiError{kind: "com.amazon.coral.availability#ThrottlingException", message: "Rate of requests exceeds the allowed throughput. (A fault on demand.)", status: http.StatusBadRequest}
}
