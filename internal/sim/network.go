package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/leatstream/leat/lease"
)

// callTimeout is how long a call waits for its answer. What the service does later, it does unseen.
const callTimeout = time.Second

// maxLate is how late a write may come to the store.
const maxLate = 30 * time.Second

var (
	errTimeout  = errors.New("no answer in time")
	errMissing  = errors.New("no such shard")
	errExpired  = errors.New("expired iterator")
	errReplaced = fmt.Errorf("another store has taken its place: %w", lease.ErrStoreGone)
)

// service is who is called.
type service uint8

const (
	storeRead service = iota
	storeWrite
	streamRead
)

// call is one request and its answer.
type call struct {
	p           *process
	service     service
	label       string
	serve       func() error
	answer      func(error)
	sent        time.Duration
	there, back time.Duration // the ways
	lost        bool          // the request; nobody answers
	quiet       bool          // the answer is lost
}

// call sends one request. serve runs at the service: at most once, maybe never, maybe after the caller has
// died. answer runs in the process, once; after any error, serve may have run or may still run.
func (p *process) call(s service, label string, serve func() error, answer func(error)) {
	f := &p.w.faults
	c := &call{
		p: p, service: s, label: label, serve: serve, answer: answer,
		there: p.between(time.Millisecond, 10*time.Millisecond), back: p.between(time.Millisecond, 8*time.Millisecond),
	}
	if f.hits(slowCall, 0.02) {
		slow := f.between(slowCall, 0, 3*time.Second)
		if f.how[slowCall].IntN(2) == 0 {
			c.there = slow
		} else {
			c.back = slow
		}
	}
	c.lost, c.quiet = f.hits(lostRequest, 0.01), f.hits(lostAnswer, 0.015)
	if s == storeWrite && f.hits(lateWrite, 0.015) {
		c.there, c.lost = f.between(lateWrite, 0, maxLate), false
	}
	if f.hits(lateSend, 0.02) {
		p.after(f.between(lateSend, 0, p.w.cfg.Failover), label, c.send)
	} else {
		c.send()
	}
}

func (c *call) send() {
	c.sent = c.p.w.now
	if c.lost || c.there >= callTimeout { // otherwise it is known at the service whether an answer comes in time
		c.p.at(c.due(), "timeout", c.timeout)
	}
	if !c.lost {
		c.p.w.after(c.there, c.label, c.arrive)
	}
}

// due is when the caller gives up.
func (c *call) due() time.Duration { return c.sent + callTimeout }

func (c *call) timeout() { c.answer(errTimeout) }

// arrive is the request at the service.
func (c *call) arrive() {
	w, f := c.p.w, &c.p.w.faults
	lost, quiet, err := w.reach(c.p, c.service)
	switch {
	case lost:
		quiet = true
	case err != nil:
	case c.service == storeRead && f.hits(failedRead, 0.03),
		c.service == storeWrite && f.hits(failedWrite, 0.02),
		c.service == streamRead && f.hits(failedFetch, 0.02):
		err = errThrottled
	case c.service != streamRead && c.p.storeID != w.store.id:
		err = errReplaced
	default:
		err = c.serve()
	}
	switch at := w.now + c.back; {
	case c.due() <= w.now: // nobody waits any more
	case quiet || c.quiet || at > c.due():
		c.p.at(c.due(), "timeout", c.timeout)
	default:
		c.p.at(at, c.label, func() {
			if w.now >= c.due() && c.p.rng.IntN(2) == 0 { // after a pause both answer and time-out are there
				err = errTimeout
			}
			c.answer(err)
		})
	}
}

// reach says what becomes of a request on its way.
func (w *world) reach(p *process, s service) (lost, quiet bool, err error) {
	all, own := &w.faults.storeOut, &p.host.storeOut
	if s == streamRead {
		all, own = &w.faults.streamOut, &p.host.streamOut
	}
	if lost, quiet, err = all.meets(w); lost || quiet || err != nil {
		return lost, quiet, err
	}
	return own.meets(w)
}
