package dispatch

import "time"

// pace says whether one worker is enough for a lane with order per key. A shard brings 50,000 records a second at most (5 calls of
// GetRecords, 10,000 records each: Kinesis Data Streams, Quotas and limits): a worker whose handler takes less than enough for one
// of them keeps up alone, and the others would only cost locks and wake-ups.
type pace struct{ mean time.Duration } // of the last calls of the handler, roughly

const (
	enough = time.Second / 50_000

	// patience is how long the others wait for a call of the handler, and the most that one counts in the mean.
	patience = time.Millisecond

	paceOf = 16 // calls: of so many the mean is made
)

// note counts some calls of the handler, and how long they took together.
func (p *pace) note(took time.Duration, calls int) {
	if calls > 0 {
		each := min(took/time.Duration(calls), patience)
		p.mean += (each - p.mean) * time.Duration(min(calls, paceOf)) / paceOf
	}
}

// quick says whether one worker is enough.
func (p *pace) quick() bool { return p.mean < enough }

// slow notes that the handler is not to be waited for.
func (p *pace) slow() { p.mean = patience }

// alone says whether whoever is out is to go on alone, since the handler is quick. The caller holds the lock, here and
// below but in look.
func (l *Lane) alone() bool {
	if !l.cfg.PerKey || !l.singly() || !l.pace.quick() || l.out == 0 {
		return false
	}
	return l.calls.oldest == nil || !l.calls.oldest.late
}

// share gets another worker, unless those who are out are enough.
func (l *Lane) share() {
	if l.alone() {
		l.watch()
	} else {
		l.wake()
	}
}

// watch lets no quick handler that becomes slow hold up other records for longer than patience, twice at most.
func (l *Lane) watch() {
	switch {
	case l.watching, l.queued <= l.out:
		return
	case l.watcher == nil:
		l.watcher = time.AfterFunc(patience, l.look)
	default:
		l.watcher.Reset(patience)
	}
	l.watching = true
}

// look finds out whether a handler takes long: then the others are not to wait for it.
func (l *Lane) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watching = false
	l.catchUp()
	if l.halted || l.inert || !l.alone() {
		return
	}
	since, ok := l.stretch.since()
	if head := l.calls.oldest; head != nil && head.turn != nil {
		since, ok = time.Duration(head.turn.running.Load()), true
	}
	if !ok || time.Since(l.made)-since < patience {
		l.watch()
		return
	}
	if l.stretch.batch != nil {
		l.interrupt()
	}
	if l.calls.oldest != nil {
		l.calls.oldest.late = true
	}
	l.wake()
}
