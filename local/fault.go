package local

import (
	"strings"
	"time"

	"github.com/leatstream/leat/local/internal/ondemand"
)

// FaultKind is what a Fault does to a call.
type FaultKind int

const (
	// Throttle refuses the call as over a quota, before it has any effect:
	// ProvisionedThroughputExceededException for reads and writes of records,
	// LimitExceededException for the other operations.
	Throttle FaultKind = iota + 1

	// Error answers InternalFailure (HTTP 500) without any effect.
	Error

	// Delay lets Fault.Delay pass before the call has any effect. It may be
	// followed by another fault.
	Delay

	// DropAnswer carries the call out and then breaks the connection instead of
	// answering: the client cannot know whether the call had its effect.
	DropAnswer

	// ExpireIterator answers ExpiredIteratorException to GetRecords, whatever
	// the iterator's age. It does nothing to other operations.
	ExpireIterator
)

// Fault makes a share of the calls go wrong.
type Fault struct {
	// Kind is what happens. A fault without one does nothing.
	Kind FaultKind

	// Op is the operation that it happens to, such as GetRecords. Empty: all.
	Op string

	// Shard limits the fault to calls that name this shard: GetShardIterator,
	// and GetRecords through its iterator. Empty: no such limit.
	Shard string

	// Share is the probability that a call is affected, from 0 to 1.
	Share float64

	// Count is the most calls that are affected. 0: no such limit.
	Count int

	// Delay is how long a fault of kind Delay takes, on the timers of package
	// time.
	Delay time.Duration
}

// SetFaults replaces all faults. They are tried in their order: delays add up,
// the first of another kind ends the matter.
//
// Which calls are affected depends on the seed alone: the fate of the n-th call
// of an operation (on a shard, for calls that name one) does not change with
// what goes on in between, so that a concurrent test can be repeated.
func (s *Server) SetFaults(seed uint64, list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults{
		seed:     seed,
		list:     append([]Fault(nil), list...),
		affected: make([]int, len(list)),
		calls:    make(map[string]uint64),
	}
}

type faults struct {
	seed     uint64
	list     []Fault
	affected []int             // calls, by fault
	calls    map[string]uint64 // by operation and shard
}

// named is a request that is about one shard.
type named interface {
	shardNamed() string
}

func (r *getShardIteratorRequest) shardNamed() string { return r.ShardId }

func (r *getRecordsRequest) shardNamed() string {
	at, ok := parseIterator(r.ShardIterator)
	if !ok {
		return ""
	}
	return shardID(at.shard)
}

// fate is what the faults do to one call.
type fate struct {
	delay time.Duration
	err   error // the answer instead of the call's
	drop  bool
}

func (s *Server) fate(operation string, request any) fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.faults
	if len(f.list) == 0 {
		return fate{}
	}
	shard := ""
	if n, ok := request.(named); ok {
		shard = n.shardNamed()
	}
	call := operation + "/" + shard
	f.calls[call]++

	var result fate
	for i, fault := range f.list {
		if fault.Op != "" && fault.Op != operation || fault.Shard != "" && fault.Shard != shard ||
			fault.Kind == ExpireIterator && operation != "GetRecords" ||
			fault.Count > 0 && f.affected[i] >= fault.Count ||
			ondemand.Chance(f.seed, i, call, f.calls[call]) >= fault.Share {
			continue
		}
		f.affected[i]++
		switch fault.Kind {
		case Delay:
			result.delay += fault.Delay
			continue
		case Throttle:
			result.err = throttling(operation)
		case Error:
			result.err = internalFailure()
		case DropAnswer:
			result.drop = true
		case ExpireIterator:
			now := s.now()
			result.err = expiredIterator(now.Add(-iteratorLife-time.Millisecond), now)
		default:
			continue
		}
		break
	}
	return result
}

func throttling(operation string) error {
	if strings.HasPrefix(operation, "Get") || strings.HasPrefix(operation, "Put") {
		return throttled("Rate exceeded for shard (a fault on demand).")
	}
	return limitExceeded("Rate exceeded (a fault on demand).")
}
