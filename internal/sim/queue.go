package sim

import "time"

// event is something that will happen: in a process, if it lives and runs then, or in the world.
type event struct {
	at      time.Duration
	order   uint64 // among events of one time: first come, first served
	process *process
	late    bool // it has been put off
	label   string
	run     func()
}

// queue is a binary heap of events, by time and order.
type queue []event

func (q queue) less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}

func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *queue) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		least := 2*i + 1
		if least >= last {
			break
		}
		if right := least + 1; right < last && h.less(right, least) {
			least = right
		}
		if !h.less(least, i) {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	return first
}

func (w *world) push(e event) {
	w.order++
	e.order = w.order
	w.queue.push(e)
}

func (w *world) at(at time.Duration, label string, run func()) {
	w.push(event{at: max(at, w.now), label: label, run: run})
}

func (w *world) after(d time.Duration, label string, run func()) { w.at(w.now+d, label, run) }

// at runs something in the process, unless it is dead by then; later, if it is paused or starved.
func (p *process) at(at time.Duration, label string, run func()) {
	p.w.push(event{at: at, process: p, label: label, run: run})
}

func (p *process) after(d time.Duration, label string, run func()) { p.at(p.w.now+d, label, run) }
