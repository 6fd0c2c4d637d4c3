package leat

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leatstream/leat/local"
)

var (
	dayHours = flag.Int("day.hours", 1, "virtual hours of TestRunDay")
	daySeed  = flag.Uint64("day.seed", 1, "the seed of its plan")
)

// The real engine, reader and SDK for a day, over CBOR and over JSON: Kinesis throttles, fails, drops answers and lets iterators
// expire; workers are cut off from their leases, stopped and started; the stream is split and merged; records come plain and aggregated;
// handlers are slow, and fail. Nothing is lost, the order holds, and no goroutine is left: the bubble waits for all.
// For the whole day: go test -run TestRunDay -v -timeout 0 -day.hours=24
func TestRunDay(t *testing.T) {
	orders := map[string]Order{"PerShard": PerShard(), "PerKey": PerKey(8)}
	for _, format := range []Format{FormatCBOR, FormatJSON} {
		for name, order := range orders {
			t.Run(fmt.Sprint(format, "/", name), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRiver(t, local.Config{EndWithRecords: format == FormatCBOR}, 3)
					d := &day{river: r, rng: rand.New(rand.NewPCG(*daySeed, uint64(format))), change: func(c *Config) {
						c.Format, c.Order, c.PollInterval = format, order, 5*time.Second
					}}
					d.pass(time.Duration(*dayHours) * time.Hour)
				})
			})
		}
	}
}

// day is one long run.
type day struct {
	*river
	rng     *rand.Rand
	change  func(*Config)
	workers []*worker
	stops   int
	cuts    int
	moves   int // of the stream's shards
	faults  int
}

func (d *day) work(ctx context.Context, r *Record) error {
	switch n := len(r.SequenceNumber) + int(r.SequenceNumber[len(r.SequenceNumber)-1]) + r.Attempt; {
	case r.Attempt == 1 && n%9 == 0:
		return errors.New("not yet")
	case n%5 == 0:
		time.Sleep(30 * time.Millisecond)
	}
	return nil
}

func (d *day) join(i int) {
	d.workers[i] = d.start(fmt.Sprint("worker-", i), d.work, d.change)
}

func (d *day) pass(length time.Duration) {
	d.workers = make([]*worker, 3)
	for i := range d.workers {
		d.join(i)
	}
	for end := time.Now().Add(length); time.Now().Before(end); {
		for k := range 12 {
			d.put(fmt.Sprint("plain-", k), d.rng.IntN(2000))
		}
		if d.rng.IntN(3) == 0 {
			d.putAggregated(6, 5, "1")
		}
		d.strike()
		elapse(time.Duration(10+d.rng.IntN(50)) * time.Second)
	}
	d.server.SetFaults(1)
	for _, w := range d.workers {
		w.line.set(false)
	}
	elapse(5 * time.Minute)
	for _, w := range d.workers {
		d.must(w.stop())
	}
	repeats := d.judge(d.cuts + d.stops)
	d.t.Logf("%d calls of handlers, %d repeats; %d workers restarted, %d cut off, %d reshards, %d times other faults; %d open shards",
		d.count(), repeats, d.stops, d.cuts, d.moves, d.faults, len(d.open()))
	if d.stops == 0 || d.cuts == 0 || d.moves == 0 || d.faults == 0 {
		d.t.Error("something did not come up")
	}
}

// strike does one thing that the group has to bear.
func (d *day) strike() {
	i := d.rng.IntN(len(d.workers))
	switch w := d.workers[i]; d.rng.IntN(8) {
	case 0:
		d.stops++
		w.line.set(false)
		elapse(10 * time.Second) // so that it can give back what it has
		d.must(w.stop())
		elapse(time.Duration(d.rng.IntN(20)) * time.Second)
		d.join(i)
	case 1:
		d.cuts++
		w.line.set(true)
		go func(after time.Duration) {
			time.Sleep(after)
			w.line.set(false)
		}(time.Duration(d.rng.IntN(30)) * time.Second)
	case 2:
		d.moves++
		d.server.SetFaults(1) // or the call may fail
		shards := d.open()
		if k := d.rng.IntN(len(shards)); len(shards) < 6 && d.rng.IntN(2) == 0 || len(shards) < 2 {
			d.split(shards[k])
		} else {
			d.merge(shards[min(k, len(shards)-2)], shards[min(k, len(shards)-2)+1])
		}
	case 3, 4:
		d.faults++
		share := 0.3 * d.rng.Float64()
		var faults []local.Fault
		for _, op := range []string{"GetRecords", "GetShardIterator"} {
			faults = append(faults,
				local.Fault{Kind: local.Throttle, Op: op, Share: share},
				local.Fault{Kind: local.Error, Op: op, Share: share},
				local.Fault{Kind: local.DropAnswer, Op: op, Share: share / 2},
				local.Fault{Kind: local.Delay, Op: op, Share: share, Delay: time.Duration(d.rng.IntN(2000)) * time.Millisecond})
		}
		d.server.SetFaults(d.rng.Uint64(), append(faults, local.Fault{Kind: local.ExpireIterator, Share: share})...)
	case 5:
		d.server.SetFaults(1)
	}
}
