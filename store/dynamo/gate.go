package dynamo

import (
	"context"
	"slices"
	"sync"
)

// class is how urgent a call is.
type class int

const (
	urgent class = iota // a worker's own item: it is written at once
	writes
	reads
)

// gate bounds how many calls are made at one time. Of those that wait, writes go first, in their order.
type gate struct {
	mu      sync.Mutex
	free    int
	waiting [2][]chan struct{} // writes, reads; each channel is closed when its turn comes
}

func newGate(n int) *gate { return &gate{free: n} }

// enter waits for a place, and returns how to leave it.
func (g *gate) enter(ctx context.Context, c class) (leave func(), err error) {
	if c == urgent {
		return func() {}, nil
	}
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return g.leave, nil
	}
	turn := make(chan struct{})
	queue := &g.waiting[c-writes]
	*queue = append(*queue, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return g.leave, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	i := slices.Index(*queue, turn)
	if i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 { // the turn came at the same moment
		g.leave()
	}
	return nil, ctx.Err()
}

// leave gives the place to who waits, or back.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.waiting {
		if queue := g.waiting[i]; len(queue) > 0 {
			close(queue[0])
			g.waiting[i] = queue[1:]
			return
		}
	}
	g.free++
}
