package scale

import (
	"container/heap"
	"time"
)

// event is something that will happen at a virtual time.
type event struct {
	at    time.Duration
	order uint64 // among events of one time: first come, first served
	run   func()
}

// queue is a heap of events, for container/heap.
type queue []event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)   { *q = append(*q, e.(event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}

// after makes something happen a while from now.
func (g *group) after(d time.Duration, run func()) {
	g.order++
	heap.Push(&g.queue, event{at: g.now + max(0, d), order: g.order, run: run})
}

// advance lets virtual time go by until a moment, or until done says so. It returns whether done did.
func (g *group) advance(d time.Duration, done func() bool) bool {
	end := g.now + d
	for !done() {
		if len(g.queue) == 0 || g.queue[0].at > end {
			g.now = end
			return false
		}
		e := heap.Pop(&g.queue).(event)
		g.now = e.at
		e.run()
	}
	return true
}

// pass lets virtual time go by.
func (g *group) pass(d time.Duration) { g.advance(d, func() bool { return false }) }
