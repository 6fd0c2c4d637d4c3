package sim

import (
	"sort"
	"strconv"
	"time"

	"github.com/leatstream/leat/lease"
)

// record is a user record; those of one aggregate share a sequence number.
type record struct {
	key     int
	n       int // number within its key, from 1
	seq     int64
	sub     int64
	arrival time.Duration

	skipped  bool // lies before the group's start
	handed   bool // to some handler
	finished bool // a handler returned without an error
	acked    bool
	expired  bool // passed its retention
	told     bool // so somebody was told that it may be lost
	poison   int  // handlings that will fail
	life     int  // of the group, in which it was last finished
}

// settled says whether a checkpoint may pass the record.
func (r *record) settled() bool { return r.acked && r.finished || r.expired && r.told }

type shard struct {
	id        string
	lo, hi    uint64 // hashes, both included
	parents   []*shard
	children  []*shard
	created   time.Duration
	closed    bool
	closedAt  time.Duration
	old       bool // everything in it is past its retention
	trimmed   bool // no longer listed
	records   []record
	hashRange lease.HashRange

	hangs      time.Duration // for which the next handler does
	spentUntil time.Duration // until then its read quota is
	second     time.Duration // the last one in which it was read
	reads      int           // so far in it

	// What the checks know of it.
	progress
	horizon     int           // the first record that is not past its retention
	sought      int64         // counter at an operator's last seek
	heldAt      time.Duration // an operator's hold was put on its lease
	untold      time.Duration // when a tool took its hold off, if it has not told the workers
	byHand      byHand        // what was done to its lease
	takes       []take        // that the store has applied
	lastToken   int64         // of the newest epoch that handed out
	lastOwner   string        // of it
	opened      []int64       // tokens granted
	cleanToken  int64         // of the newest epoch that was given back with nothing in flight
	cleanIndex  int
	idleSince   time.Duration // ready and without a live owner; -1 if not
	leftAt      time.Duration // its owner crashed or was asked to stop; -1 if not since
	leftByCrash bool
	touched     bool // by hand, after which its owner has not yet written
	toldRound   int  // the last of checks.told that came here
}

// progress is what a lease went through: what a restored table takes back.
type progress struct {
	checkpoint  int // records below the highest checkpoint ever
	everCreated bool
	everRoot    bool
	everBegun   bool
	endedAt     time.Duration // SHARD_END was written; 0 if not
}

func (sh *shard) shown(closed bool) lease.Shard {
	return lease.Shard{ID: sh.id, Parents: names(sh.parents), HashRange: sh.hashRange, Closed: closed}
}

// spend takes one read from the shard's quota, if there is any left.
func (sh *shard) spend(now time.Duration) bool {
	if second := now.Truncate(time.Second); second != sh.second {
		sh.second, sh.reads = second, 0
	}
	sh.reads++
	return now >= sh.spentUntil && sh.reads <= readsPerSecond
}

// index is the first record after a position.
func (sh *shard) index(p lease.Position) int {
	if p.IsShardEnd() {
		return len(sh.records)
	}
	if t, ok := p.Timestamp(); ok {
		return sort.Search(len(sh.records), func(i int) bool { return milli(sh.records[i].arrival) >= t.UnixMilli() })
	}
	text, sub, ok := p.Sequence()
	if !ok {
		return 0
	}
	seq, _ := strconv.ParseInt(text, 10, 64)
	return sort.Search(len(sh.records), func(i int) bool {
		r := &sh.records[i]
		return r.seq > seq || r.seq == seq && r.sub > sub
	})
}

func (r *record) position() lease.Position {
	p, err := lease.AfterSequence(strconv.FormatInt(r.seq, 10), r.sub)
	if err != nil {
		panic(err) // a number is a number
	}
	return p
}
