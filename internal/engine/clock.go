package engine

import (
	"sync"
	"time"

	"github.com/leatstream/leat/lease"
)

// monotonic is a lease clock out of Go's, for systems without a better one: Go's monotonic clock may
// stand still while the machine is suspended. It advances by what the monotonic or the wall clock has
// advanced since the last reading, whichever is more: a wall clock set forward only suspends the worker until its next
// heartbeat, one set back does nothing.
func monotonic() lease.Time {
	now := time.Now()
	reading.Lock()
	defer reading.Unlock()
	if !reading.at.IsZero() {
		reading.time = reading.time.Add(max(now.Sub(reading.at), now.Round(0).Sub(reading.at.Round(0))))
	}
	reading.at = now
	return reading.time
}

var reading struct {
	sync.Mutex
	at   time.Time
	time lease.Time
}

// proof says until when this worker's hold on its leases is proven. Lanes look at it before each
// handler.
type proof struct {
	clock func() lease.Time

	mu       sync.Mutex
	deadline lease.Time // 0: no heartbeat has succeeded yet, or the worker has left
	changed  chan struct{}
}

func newProof(clock func() lease.Time) *proof {
	return &proof{clock: clock, changed: make(chan struct{})}
}

// Open implements dispatch.Gate.
func (p *proof) Open() bool {
	p.mu.Lock()
	deadline := p.deadline
	p.mu.Unlock()
	return p.clock() < deadline
}

// member says whether the worker has joined its group, and not left it since.
func (p *proof) member() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deadline != 0
}

// Changed implements dispatch.Gate.
func (p *proof) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *proof) set(deadline lease.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if deadline != p.deadline {
		p.deadline = deadline
		close(p.changed)
		p.changed = make(chan struct{})
	}
}
