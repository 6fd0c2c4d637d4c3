package dispatch

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/leatstream/leat/lease"
)

// opened calls Open until it returns nil. It returns false if the lane was stopped before.
func (l *Lane) opened() bool {
	if l.cfg.Open == nil {
		return true
	}
	return l.insist(l.cfg.Open)
}

// closed tells Close why the lane is over. At the shard's end it insists: the children start after it.
func (l *Lane) closed() {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	switch {
	case l.cfg.Close == nil:
	case over:
		over = l.insist(func(ctx context.Context) error { return l.cfg.Close(ctx, lease.CloseFinished) })
		if !over {
			l.closeOnce()
		}
	default:
		l.closeOnce()
	}
	if !over {
		return
	}
	l.mu.Lock()
	l.tracker.End()
	l.mu.Unlock()
	l.cfg.Ended()
}

func (l *Lane) closeOnce() {
	reason := lease.CloseReleased
	if errors.Is(context.Cause(l.ctx), ErrLeaseLost) {
		reason = lease.CloseLost
	}
	err := l.guard(func(ctx context.Context) error { return l.cfg.Close(ctx, reason) })
	if err != nil {
		l.cfg.Notice(&CloseError{Reason: reason, Err: err})
	}
}

// insist calls a function until it returns nil, whenever the worker can prove that the shard is its own. It returns
// false if the lane was stopped before, or the function asked for the consumer to stop.
func (l *Lane) insist(do func(context.Context) error) bool {
	pause := l.cfg.Retry.Pause
	for try := 1; ; try++ {
		if !l.gate() {
			return false
		}
		err := l.guard(do)
		if err == nil {
			if try > noticeAfter {
				l.cfg.Notice(nil)
			}
			return true
		}
		if stop, ok := errors.AsType[*StopError](err); ok {
			l.cfg.Stopped(stop.Err)
			<-l.stop
			return false
		}
		if try == noticeAfter {
			l.cfg.Notice(err)
		}
		wait := pause
		if after, ok := errors.AsType[*RetryAfterError](err); ok {
			wait = after.Pause
		}
		pause = min(2*pause, l.cfg.Retry.MaxPause)
		select {
		case <-time.After(wait):
		case <-l.stop:
			return false
		}
	}
}

// guard makes an error of a panic, and of an end of the goroutine a stop.
func (l *Lane) guard(do func(context.Context) error) (err error) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		} else if !returned {
			l.cfg.Stopped(ErrHandlerExited)
		}
	}()
	err = do(l.ctx)
	returned = true
	return err
}
