package leat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/local"
)

// With order per key each key's order holds across splits and merges, though many records of a shard are
// handled at once: a child starts only when all of its parents' records are handled.
func TestRunPerKeyKeepsOrderAcrossResharding(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		anna := r.start("anna", func(context.Context, *Record) error {
			time.Sleep(50 * time.Millisecond)
			if r.count()%30 == 0 {
				return errors.New("not yet")
			}
			return nil
		}, func(c *Config) { c.Order = PerKey(16) })
		elapse(3 * time.Second)
		for round := range 8 {
			r.fill(24, 3, 20*time.Millisecond)
			if shards := r.open(); round%3 == 2 {
				r.merge(shards[0], shards[1])
			} else {
				r.split(shards[len(shards)-1])
			}
			r.fill(24, 1, time.Second)
		}
		elapse(2 * time.Minute)
		r.must(anna.stop())
		if repeats := r.judge(0); repeats != 0 {
			t.Errorf("%d records repeated", repeats)
		}
		together := 0 // calls that began while another one of their shard ran
		ends := map[string]time.Time{}
		for _, c := range r.log(nil) {
			if c.start.Before(ends[c.shard]) {
				together++
			}
			ends[c.shard] = c.end
		}
		if together == 0 {
			t.Error("no two records of a shard were handled at once")
		}
	})
}

// One stuck key: the others go on until MaxInFlight, and Stats and an Event say why they stop. After a stop
// only what lies above the stuck record comes again.
func TestRunPerKeyStuckKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.put("stuck", 0)
		r.fill(20, 3, 0)
		order := func(c *Config) { c.Order, c.MaxInFlight = PerKey(8), 40 }
		anna := r.start("anna", func(_ context.Context, record *Record) error {
			if record.PartitionKey == "stuck" {
				return errors.New("no")
			}
			return nil
		}, order)
		elapse(time.Minute)
		s := anna.Stats().Shards[0]
		if s.Handled != 39 || !strings.HasPrefix(s.Why, "waiting for the record at the head: 39 records above it are handled; retrying") {
			t.Errorf("%+v", s)
		}
		if kinds := anna.kinds(EventRetrying, EventStuck, EventMoving); len(kinds) != 2 || kinds[0] != EventRetrying || kinds[1] != EventStuck {
			t.Errorf("events %v", kinds)
		}
		r.must(anna.stop())
		berta := r.start("berta", nil, order)
		elapse(time.Minute)
		r.must(berta.stop())
		if repeats := r.judge(1); repeats < 39 { // those above the watermark, and tries of the stuck one
			t.Errorf("%d repeats", repeats)
		}
		if n := len(r.log(byWorker("berta"))); n != 61 {
			t.Errorf("berta handled %d records, want all 61", n)
		}
	})
}
