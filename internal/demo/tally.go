package demo

import (
	"time"

	"github.com/leatstream/leat/lease"
)

// tally counts while a run goes on. It is the watcher's: what counts in the end is the oracle's verdict, which
// knows the deaths.
type tally struct {
	puts    map[string]int // by shard
	handled map[string]int // by shard, without repeats
	calls   map[string]int // by worker

	put, done, repeated, disorders int

	seen            map[string]bool // sequence numbers
	first           map[string]int  // records of a key, without repeats
	last, highest   map[string]int  // number handled, by key
	passed          int             // records of all keys that a later one has passed
	afterCheckpoint map[string][]lease.Position
}

func newTally() *tally {
	return &tally{
		puts: map[string]int{}, handled: map[string]int{}, calls: map[string]int{}, seen: map[string]bool{},
		first: map[string]int{}, last: map[string]int{}, highest: map[string]int{},
		afterCheckpoint: map[string][]lease.Position{},
	}
}

func (t *tally) addPut(p put) {
	t.put++
	t.puts[p.shard]++
}

func (t *tally) addCall(c handled) {
	t.calls[c.worker]++
	if t.seen[c.sequence] {
		t.repeated++
	} else {
		t.seen[c.sequence] = true
		t.done++
		t.handled[c.shard]++
		if at, err := lease.AfterSequence(c.sequence, 0); err == nil {
			t.afterCheckpoint[c.shard] = append(t.afterCheckpoint[c.shard], at)
		}
		t.passed -= t.highest[c.key] - t.first[c.key]
		t.first[c.key]++
		t.highest[c.key] = max(t.highest[c.key], c.n)
		t.passed += t.highest[c.key] - t.first[c.key]
	}
	// A lower number is a replay, unless a number is left out within it, too.
	if c.n > t.last[c.key]+1 {
		t.disorders++
	}
	t.last[c.key] = c.n
}

// unsaved is how many records of the shard were handled after the checkpoint, which never moves back.
func (t *tally) unsaved(shard string, checkpoint lease.Position) int {
	after := t.afterCheckpoint[shard]
	for len(after) > 0 && (checkpoint.IsShardEnd() || after[0].Compare(checkpoint) <= 0) {
		after = after[1:]
	}
	t.afterCheckpoint[shard] = after
	return len(after)
}

// window is the time over which a rate is taken.
const window = 2 * time.Second

// meter tells the rate at which a number grows.
type meter struct{ points []point }

type point struct {
	at time.Time
	n  int
}

// rate is the growth a second over the last window, n being the number now.
func (m *meter) rate(now time.Time, n int) float64 {
	m.points = append(m.points, point{now, n})
	for len(m.points) > 2 && !m.points[1].at.After(now.Add(-window)) {
		m.points = m.points[1:]
	}
	began := m.points[0]
	if seconds := now.Sub(began.at).Seconds(); seconds > 0 {
		return float64(n-began.n) / seconds
	}
	return 0
}
