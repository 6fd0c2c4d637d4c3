package dispatch

import (
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// batch is one answer's records.
type batch struct {
	records []record.Record
	next    int // the first one that was not looked at
	left    int // records that are neither handled nor dropped
	read    time.Time

	memory  *record.Memory // of the records; nil if it is not to be used again
	skipped int            // records of memory before these

	looked bool       // somebody has looked whether the next record is aggregated
	inside *aggregate // it is, and is being taken apart
}

// first is the next record that was not looked at.
func (b *batch) first() *record.Record {
	if b.inside != nil {
		return &b.inside.ahead[0]
	}
	return &b.records[b.next]
}

// pass goes to the next record.
func (b *batch) pass() {
	b.next++
	b.looked, b.inside = false, nil
}

// ahead is the batch of the next record to look at, or nil. The caller holds the lock, here and below.
//
// The first batch stays in the queue while its last records are handled, so that Room counts it.
func (l *Lane) ahead() *batch {
	for len(l.queue) > 0 {
		b := l.queue[0]
		switch {
		case b.next < len(b.records) && (b.looked || l.open(b)):
			return b
		case b.next < len(b.records): // all of it was handed out before
			r, i := &b.records[b.next], b.next
			l.unseen -= l.batchSize(r)
			l.freed += r.Size()
			l.queued--
			b.pass()
			l.leave(b, i)
		case len(l.queue) == 1:
			return nil
		default:
			l.dropFirst()
		}
	}
	return nil
}

// leave notes that a record of b is handled: its memory is no longer the lane's. It says whether it was the last one.
func (l *Lane) leave(b *batch, i int) bool {
	b.memory.Settle(b.skipped+i, b.skipped+i+1)
	b.left--
	if b.left == 0 {
		l.apart = nil // a quiet shard keeps none
	}
	if b.left == 0 && len(l.queue) > 0 && l.queue[0] == b {
		l.dropFirst()
	}
	return b.left == 0
}

func (l *Lane) dropFirst() {
	l.queue[0] = nil
	l.queue = l.queue[1:]
	l.roomChanged()
}

// enter looks at the next record: it gets its call and its place in the tracker. If an older record of its key
// is not handled it is parked behind that one.
func (l *Lane) enter(b *batch) *call {
	a := b.inside
	c := l.calls.add(b, a, l.cfg.PerKey)
	c.handle = l.tracker.Add(positionOf(c.record))
	if a != nil {
		a.open++
		l.goOn(b, 1)
	} else {
		l.unseen -= l.batchSize(c.record)
		b.pass()
	}
	return c
}

// DropTail frees about want bytes of records that no handler has seen, from the newest on, and returns
// how many it freed. The reader reads them again later.
//
// What may be dropped is what lies above the newest record that a worker has taken: first what nobody has
// looked at, then the parked calls behind the last one that was taken. Parked calls below a taken one
// stay. So what is dropped is an unbroken tail of the shard, of which nothing was handed out: to read again
// after the newest record that is left repeats none and leaves out none.
func (l *Lane) DropTail(want int64) (freed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catchUp()
	l.stretch.recall()
	freed, l.freed = l.freed, 0
	dropped := false
	for freed < want {
		n, ok := l.dropNewest()
		if !ok {
			break
		}
		freed += n
		dropped = true
	}
	if dropped {
		l.rewind, l.ended = true, false
		l.last = l.tracker.Last()
		if n := len(l.queue); n > 0 && l.queue[n-1].next < len(l.queue[n-1].records) {
			l.last = positionOf(&l.queue[n-1].records[len(l.queue[n-1].records)-1]) // if it is aggregated, all of it comes again
		}
		l.roomChanged()
	}
	return freed
}

// newestUnseen is the last batch that has records which no worker has, or nil.
func (l *Lane) newestUnseen() *batch {
	if len(l.queue) == 0 {
		return nil
	}
	b := l.queue[len(l.queue)-1]
	next, lent := b.next, l.stretch.lent(b)
	switch a := b.inside; {
	case a == nil:
		next += lent
	case lent == len(a.ahead) && a.from.Left() == 0:
		next++
	}
	if next < len(b.records) {
		return b
	}
	return nil
}

// dropNewest drops the newest record, if no worker has taken it.
func (l *Lane) dropNewest() (freed int64, ok bool) {
	if b := l.newestUnseen(); b != nil {
		last := len(b.records) - 1
		l.unseen -= l.batchSize(&b.records[last])
		if b.next == last && b.inside != nil {
			return l.breakOff(b), true
		}
		freed = b.records[last].Size()
		b.records = b.records[:last]
		b.memory.Settle(b.skipped+last, b.skipped+last+1)
		b.left--
		l.queued--
		if b.left == 0 {
			l.queue = l.queue[:len(l.queue)-1]
		}
		return freed, true
	}
	c := l.calls.newest
	if c == nil || !c.parked() || c.turn != nil {
		return 0, false
	}
	l.queued--
	l.tracker.Retract()
	freed, _ = l.release(c)
	l.calls.retract(c)
	return freed, true
}

func sizeOf(records []record.Record) (n int64) {
	for i := range records {
		n += records[i].Size()
	}
	return n
}

// batchSize is what Batch.Bytes counts of a record. Nobody needs it if nothing waits for a batch to fill.
func (l *Lane) batchSize(r *record.Record) int64 {
	if l.cfg.Batch.Wait == 0 {
		return 0
	}
	return int64(wireSize(r))
}

func (l *Lane) batchSizeOf(records []record.Record) (n int64) {
	if l.cfg.Batch.Wait == 0 {
		return 0
	}
	for i := range records {
		n += int64(wireSize(&records[i]))
	}
	return n
}

// wireSize is the size of a record as the service counts it: data and partition key.
func wireSize(r *record.Record) int { return len(r.Data) + len(r.PartitionKey) }

// positionOf is the position after a record. A record with a bad sequence number does not get this far.
func positionOf(r *record.Record) lease.Position {
	p, _ := r.Position()
	return p
}
