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

// call sends one request. serve runs at the service: at most once, maybe never, maybe after the caller has
// died. answer runs in the process, once; after any error, serve may have run or may still run.
func (p *process) call(s service, label string, serve func() error, answer func(error)) {
	w, f := p.w, &p.w.faults
	there, back := p.between(time.Millisecond, 10*time.Millisecond), p.between(time.Millisecond, 8*time.Millisecond)
	if f.hits(slowCall, 0.02) {
		slow := f.between(slowCall, 0, 3*time.Second)
		if f.how[slowCall].IntN(2) == 0 {
			there = slow
		} else {
			back = slow
		}
	}
	lost, quiet := f.hits(lostRequest, 0.01), f.hits(lostAnswer, 0.015)
	if s == storeWrite && f.hits(lateWrite, 0.015) {
		there, lost = f.between(lateWrite, 0, maxLate), false
	}
	sent := w.now
	request := func() {
		lost, unheard, err := w.reach(p, s)
		quiet = quiet || unheard
		switch {
		case lost:
			quiet = true
		case err != nil:
		case s == storeRead && f.hits(failedRead, 0.03),
			s == storeWrite && f.hits(failedWrite, 0.02),
			s == streamRead && f.hits(failedFetch, 0.02):
			err = errThrottled
		case s != streamRead && p.storeID != w.store.id:
			err = errReplaced
		default:
			err = serve()
		}
		switch at := w.now + back; {
		case sent+callTimeout <= w.now: // nobody waits any more
		case quiet || at > sent+callTimeout:
			p.at(sent+callTimeout, "timeout", func() { answer(errTimeout) })
		default:
			p.at(at, label, func() {
				if w.now >= sent+callTimeout && p.rng.IntN(2) == 0 { // a pause was in between: answer and time-out were there
					err = errTimeout
				}
				answer(err)
			})
		}
	}
	send := func() {
		sent = w.now
		if lost || there >= callTimeout { // otherwise the request decides
			p.after(callTimeout, "timeout", func() { answer(errTimeout) })
		}
		if !lost {
			w.after(there, label, request)
		}
	}
	if f.hits(lateSend, 0.02) {
		p.after(f.between(lateSend, 0, w.cfg.Failover), label, send)
	} else {
		send()
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
