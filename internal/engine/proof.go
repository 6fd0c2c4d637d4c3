package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/leatstream/leat/lease"
)

// proof says until when this worker's hold on its leases is proven. Lanes look at it before each
// handler.
type proof struct {
	clock    func(now time.Time) lease.Time
	deadline atomic.Int64 // a lease.Time; 0: no heartbeat has succeeded yet, or the worker has left

	mu      sync.Mutex
	changed chan struct{}
}

func newProof(clock func(now time.Time) lease.Time) *proof {
	return &proof{clock: clock, changed: make(chan struct{})}
}

// Open implements dispatch.Gate.
func (p *proof) Open(now time.Time) bool {
	return p.clock(now) < lease.Time(p.deadline.Load())
}

// member says whether the worker has joined its group, and not left it since.
func (p *proof) member() bool { return p.deadline.Load() != 0 }

// Changed implements dispatch.Gate.
func (p *proof) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *proof) set(deadline lease.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deadline.Swap(int64(deadline)) != int64(deadline) {
		close(p.changed)
		p.changed = make(chan struct{})
	}
}
