package dispatch

import "time"

// stuckAfter is how long the record at the head may hold a full lane up before people hear of it: at least
// this long, at most twice. A hot key can keep a lane full for hours while its head moves on; that is no news.
const stuckAfter = 10 * time.Second

// trouble is what people should hear of. Lane.mu guards it.
type trouble struct {
	stubborn int   // records that go on failing
	err      error // of the first of these
	stuck    bool  // the lane is full, and its head has not moved

	watch *time.Timer // looks after a full lane's head; nil if nothing does
	head  Handle      // the head when it began to

	told kind // to Notice
}

type kind int

const (
	fine kind = iota
	retrying
	stuck
)

// failing notes that a record has failed so often that people should hear of it, or cannot be given up.
func (t *trouble) failing(err error) (news bool) {
	t.stubborn++
	if t.stubborn == 1 {
		t.err = err
	}
	return t.stubborn == 1
}

// solved notes that such a record is handled after all.
func (t *trouble) solved() (news bool) {
	t.stubborn--
	return t.stubborn == 0
}

// headMoved notes that the watermark moved.
func (t *trouble) headMoved() (news bool) {
	news = t.stuck
	t.stuck = false
	return news
}

func (t *trouble) stop() {
	if t.watch != nil {
		t.watch.Stop()
	}
}

// watchHead begins to look after the head of a full lane. The caller holds the lock.
func (l *Lane) watchHead() {
	if l.trouble.watch != nil || !l.full() {
		return
	}
	l.trouble.head = l.calls.oldest.handle
	l.trouble.watch = time.AfterFunc(stuckAfter, l.lookAtHead)
}

// lookAtHead finds out whether the lane has been full with the same head since watchHead.
func (l *Lane) lookAtHead() {
	l.mu.Lock()
	l.trouble.watch = nil
	if l.stopping || l.halted || l.inert || !l.full() {
		l.mu.Unlock()
		return
	}
	same := l.calls.oldest.handle == l.trouble.head
	l.trouble.stuck = l.trouble.stuck || same
	if !same {
		l.watchHead()
	}
	l.mu.Unlock()
	if same {
		l.tell()
	}
}

// tell brings the state of trouble to Notice, if it is another one than was told. So the last word is right,
// whichever worker says it.
func (l *Lane) tell() {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	t := &l.trouble
	now, err := fine, error(nil)
	switch {
	case t.stuck:
		now, err = stuck, &HeadError{Above: l.above()}
	case t.stubborn > 0:
		now, err = retrying, t.err
	}
	was := t.told
	t.told = now
	l.mu.Unlock()
	if now != was {
		l.cfg.Notice(err)
	}
}
