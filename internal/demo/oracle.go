package demo

import (
	"fmt"
	"time"

	"github.com/leatstream/leat/lease"
)

// put is a record that the stream took.
type put struct {
	key      string
	n        int // which one of its key, from 1
	shard    string
	sequence string
}

// handled is one call of a handler, in the order in which the handlers wrote.
type handled struct {
	worker   string
	at       time.Time
	shard    string
	sequence string
	key      string
	n        int
}

// death is a worker that was killed, and where its shards' checkpoints stood then: what came after them
// may be repeated, and nothing else.
type death struct {
	worker      string
	checkpoints map[string]lease.Position // by shard
}

// verdict is what the oracle finds.
type verdict struct {
	Records     int // put
	Lost        int // put and never handled
	OutOfOrder  int // handled before an earlier record of its key, or put by nobody
	Repeated    int // calls beyond the first
	Unexplained int // repeats that no killed worker accounts for
	Bound       int // what the killed workers handled after their last checkpoints
}

func (v verdict) ok() bool {
	return v.Lost == 0 && v.OutOfOrder == 0 && v.Unexplained == 0 && v.Repeated <= v.Bound
}

func (v verdict) String() string {
	return fmt.Sprintf("%d records, %d lost, %d out of order, %d repeated", v.Records, v.Lost, v.OutOfOrder, v.Repeated)
}

// judge compares what was put with what the handlers did. It knows nothing of leat's own books but the
// checkpoints at which the killed workers stood.
//
// Order: the calls for a key count up by one. A call for a lower number than the last is a repeat; it
// begins a replay, which counts up by one again. Each death can cause one replay of a key.
func judge(puts []put, calls []handled, deaths []death) verdict {
	v := verdict{Records: len(puts)}
	wanted := make(map[string]put, len(puts))
	for _, p := range puts {
		wanted[p.sequence] = p
	}
	times := make(map[string]int, len(puts)) // calls, by sequence number
	mayRepeat := map[string]bool{}
	last, highest, replays := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range calls {
		p, ok := wanted[c.sequence]
		if !ok || p.key != c.key || p.n != c.n {
			v.OutOfOrder++
			continue
		}
		if times[c.sequence]++; times[c.sequence] > 1 {
			v.Repeated++
			if !mayRepeat[c.sequence] {
				v.Unexplained++
			}
		}
		switch {
		case c.n == last[c.key]+1:
		case c.n <= highest[c.key] && replays[c.key] < len(deaths):
			replays[c.key]++
		default:
			v.OutOfOrder++
		}
		last[c.key] = c.n
		highest[c.key] = max(highest[c.key], c.n)
		if unsaved(c, deaths) {
			v.Bound++
			mayRepeat[c.sequence] = true
		}
	}
	for sequence := range wanted {
		if times[sequence] == 0 {
			v.Lost++
		}
	}
	return v
}

// unsaved says whether the call was a killed worker's, after its last checkpoint.
func unsaved(c handled, deaths []death) bool {
	for _, d := range deaths {
		checkpoint, ok := d.checkpoints[c.shard]
		if d.worker != c.worker || !ok {
			continue
		}
		at, err := lease.AfterSequence(c.sequence, 0)
		if err == nil && at.Compare(checkpoint) > 0 {
			return true
		}
	}
	return false
}

// line is a call as a worker writes it: one line, one write.
func (h handled) line() string {
	return fmt.Sprintf("%s %d %s %s %s %d\n", h.worker, h.at.UnixNano(), h.shard, h.sequence, h.key, h.n)
}

func parseLine(line string) (h handled, err error) {
	var at int64
	if _, err := fmt.Sscanf(line, "%s %d %s %s %s %d", &h.worker, &at, &h.shard, &h.sequence, &h.key, &h.n); err != nil {
		return h, fmt.Errorf("a line of the handlers' log, %q: %w", line, err)
	}
	h.at = time.Unix(0, at)
	return h, nil
}
