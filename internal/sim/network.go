package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/leatstream/leat/lease"
)

// callTimeout is how long a call waits for its answer. What the service does later, it does unseen.
const callTimeout = time.Second

var (
	errTimeout   = errors.New("no answer in time")
	errRefused   = errors.New("service unavailable")
	errThrottled = errors.New("throttled")
	errMissing   = errors.New("no such shard")
	errReplaced  = fmt.Errorf("another store has taken its place: %w", lease.ErrStoreGone)
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
	w := p.w
	wait := w.between(0, 2*time.Millisecond)
	if w.faults.hits(lateSend, 0.02) {
		wait = w.faults.between(lateSend, 0, w.cfg.Failover)
	}
	p.after(wait, label, func() {
		answered := false
		reply := func(err error) {
			if !answered {
				answered = true
				answer(err)
			}
		}
		p.after(callTimeout, "timeout", func() { reply(errTimeout) })
		f := &w.faults
		there, back := w.between(time.Millisecond, 8*time.Millisecond), w.between(time.Millisecond, 8*time.Millisecond)
		if f.hits(slowCall, 0.02) {
			slow := f.between(slowCall, 0, 3*time.Second)
			if f.rng[slowCall].IntN(2) == 0 {
				there = slow
			} else {
				back = slow
			}
		}
		lost, quiet := f.hits(lostRequest, 0.01), f.hits(lostAnswer, 0.015)
		if s == storeWrite && f.hits(lateWrite, 0.015) {
			there, lost = f.between(lateWrite, 0, 25*time.Second), false
		}
		if lost {
			return
		}
		w.after(there, label, func() {
			mode, down := outageMode(0), false
			if s != streamRead {
				if mode, down = f.storeOut.mode, f.storeOut.down(w); !down {
					mode, down = p.host.outage.mode, p.host.outage.down(w)
				}
			}
			var err error
			switch {
			case down && mode == swallows:
				return
			case down && mode == refuses:
				err = errRefused
			case s == storeRead && f.hits(failedRead, 0.03),
				s == storeWrite && f.hits(failedWrite, 0.02),
				s == streamRead && f.hits(failedFetch, 0.02):
				err = errThrottled
			case s != streamRead && p.storeID != w.store.id:
				err = errReplaced
			default:
				err = serve()
			}
			if !quiet && !(down && mode == staysQuiet) {
				p.after(back, label, func() { reply(err) })
			}
		})
	})
}
