package dispatch

import (
	"runtime/debug"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// step is how a walk ended.
type step struct {
	handled int          // records of the stretch
	context *turnContext // of the next one's call, which is not simply handled; nil: it was not called
	err     error        // what that call returned
	began   int64        // when the first one was begun, in nanoseconds after Lane.made; 0: it was not
}

// pass walks the stretch, and returns the next turn if there is one right away.
func (l *Lane) pass(t *turn, contexts *contexts) (next *turn) {
	return l.passed(t, l.walk(t, contexts))
}

func (l *Lane) passed(t *turn, end step) (next *turn) {
	var took time.Duration
	if l.cfg.PerKey && end.began != 0 {
		took = time.Since(l.made) - time.Duration(end.began)
	}
	l.mu.Lock()
	l.pace.note(took, end.handled)
	var after outcome
	switch interrupted := l.stretch.turn != t; {
	case end.context != nil:
		after.give = l.giveBack(t, end)
		l.mu.Unlock()
		l.carryOut(after)
		return l.finish(t, end.context, end.err)
	case !interrupted:
		after.give = l.giveBack(t, end)
		l.putDown()
		l.turns.recycle(t)
		next = l.take()
	case end.handled == l.stretch.turned:
		after = l.settle(t, nil)
		next = l.take()
	default: // it was about to begin with the record that is a turn now
		next = t
	}
	l.mu.Unlock()
	l.carryOut(after)
	return next
}

// walk hands out what was lent.
func (l *Lane) walk(t *turn, contexts *contexts) (end step) {
	s := &l.stretch
	calling := false
	defer func() { // as in call
		if !calling {
			return
		}
		if p := recover(); p != nil {
			end.err = &PanicError{Value: p, Stack: debug.Stack()}
			return
		}
		end.context.end()
		l.mu.Lock()
		give := l.giveBack(t, end)
		l.mu.Unlock()
		l.carryOut(outcome{give: give})
		l.halt(t, ErrHandlerExited)
	}()
	var bytes int64
	records, soon := s.records, s.soon // the fields are the lock's: see interrupt
	t.given = append(t.given[:0], record.Record{})
	for i := range records {
		now := time.Now()
		at := max(1, int64(now.Sub(l.made)))
		if end.began == 0 {
			end.began = at
		} else if at-end.began > int64(longTime) || bytes >= giveAtLeast {
			return end
		}
		if !l.cfg.Gate.Open(now) {
			return end
		}
		// Only now is the record the worker's: before, it may be dropped at any time, and its memory used again.
		if s.at.Store(at*indexRange + int64(i)); int64(i) >= s.limit.Load() {
			return end
		}
		r := &records[i]
		bytes += r.Size()
		t.given[0] = *r
		t.given[0].Attempt = 1
		end.context = contexts.take(l, t, soon-i)
		calling = true
		end.err = l.cfg.Handle(end.context, t.given)
		calling = false
		if end.err != nil || !end.context.over() {
			return end
		}
		end.context.end()
		end.context = nil
		end.handled++
	}
	return end
}
