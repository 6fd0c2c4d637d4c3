package scale

import (
	"errors"
	"slices"
	"time"

	"github.com/leatstream/leat/lease"
)

// What internal/engine and store/dynamo do at the defaults.
const (
	maxCalls      = 16               // at one time, but for workers' own items
	shortCall     = time.Second      // for a write or a read of the members, with its waiting and its repetitions
	longCall      = 30 * time.Second // for a read of the leases
	maxAttempts   = 6                // of a request that is throttled
	throttlePause = 100 * time.Millisecond
	maxPause      = time.Second
)

// class is how urgent a call is.
type class uint8

const (
	urgent class = iota // a worker's own item: it does not wait for a place
	write
	read
)

var errTimeout = errors.New("no answer in time")

// call is a call to the table, as store/dynamo makes it.
type call struct {
	w     *worker
	class class
	limit time.Duration
	late  func() lease.Event // told if there is no answer in time
	serve func() response    // runs at the table, once for each request

	deadline time.Duration
	attempts int
}

// response is the table's to one request.
type response struct {
	answer    lease.Event   // nil: the next page is to be asked for
	throttled bool          // nothing was done
	takes     time.Duration // on top of the way there and back
}

func (w *worker) call(c *call) {
	c.w, c.deadline = w, w.g.now+c.limit
	c.enter()
}

// enter waits for a place and sends the request.
func (c *call) enter() {
	w := c.w
	if c.class == urgent {
		c.send()
		return
	}
	if w.calls < maxCalls {
		w.calls++
		c.send()
		return
	}
	w.waiting[c.class-write] = append(w.waiting[c.class-write], c)
	w.g.after(c.deadline-w.g.now, func() {
		queue := &w.waiting[c.class-write]
		if i := slices.Index(*queue, c); i >= 0 {
			*queue = slices.Delete(*queue, i, i+1)
			c.giveUp()
		}
	})
}

func (c *call) send() {
	g := c.w.g
	c.attempts++
	g.after(g.between(minLatency, maxLatency)/2, func() {
		r := c.serve()
		g.after(g.between(minLatency, maxLatency)/2+r.takes, func() { c.receive(r) })
	})
}

func (c *call) receive(r response) {
	w, g := c.w, c.w.g
	if c.class != urgent {
		w.leave()
	}
	switch {
	case r.throttled:
		pause := min(throttlePause<<(c.attempts-1), maxPause)
		pause = pause/2 + g.between(0, pause/2)
		if c.attempts == maxAttempts || g.now+pause > c.deadline {
			c.giveUp()
			return
		}
		g.after(pause, c.enter)
	case r.answer == nil:
		c.attempts = 0
		c.enter()
	default:
		w.step(r.answer)
		g.reuse(r.answer)
	}
}

func (c *call) giveUp() {
	late := c.late()
	c.w.g.late++
	c.w.step(late)
	c.w.g.reuse(late)
}

// leave gives the place of a request that was answered to the next call, writes first.
func (w *worker) leave() {
	w.calls--
	for i := range w.waiting {
		if len(w.waiting[i]) > 0 {
			next := w.waiting[i][0]
			w.waiting[i] = w.waiting[i][1:]
			w.calls++
			next.send()
			return
		}
	}
}
