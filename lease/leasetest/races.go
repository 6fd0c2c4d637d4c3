package leasetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leatstream/leat/lease"
)

const (
	racers    = 16
	raceSteps = 25
)

func raceCases() []testCase {
	return []testCase{
		{"OneWinnerAStep", true,
			"Of many writes on one condition, made at one time through several handles, exactly one succeeds; the others " +
				"are conflicts with the winner's item. Two winners are two workers that read one shard.",
			runOneWinner},
		{"OneCreatorWins", true,
			"Of many Creates of one item exactly one succeeds, also where the item was deleted a moment before.",
			runOneCreator},
		{"NoUpdateIsLost", true,
			"Each write that succeeds raises the counter by one, and none is overwritten: the counter ends at the number of successes.",
			runNoneLost},
		{"HoldsBesideUpdates", true,
			"Holds and updates of one lease at one time are never in each other's way: each is refused only by its own kind, and none is lost.",
			runHoldsBesideUpdates},
	}
}

// race calls contend from many goroutines at once, over up to three handles, and returns what went wrong.
func (c *check) race(contend func(worker string, s lease.Store) error) {
	c.Helper()
	handles := []lease.Store{c.store, c.second(), c.second()}
	start := make(chan struct{})
	errs := make([]error, racers)
	var running sync.WaitGroup
	for i := range racers {
		running.Go(func() {
			<-start
			errs[i] = contend(fmt.Sprintf("worker-%d", i), handles[i%len(handles)])
		})
	}
	close(start)
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		c.fail("%v", err)
	}
}

// tally counts the winners of one step.
type tally struct {
	mu     sync.Mutex
	won    []lease.Item
	losers []lease.Item
}

// add records the outcome of one write; an error that is neither success nor conflict comes back.
func (t *tally) add(w lease.Write, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var conflict *lease.ConflictError
	switch {
	case err == nil:
		t.won = append(t.won, w.Item)
	case errors.As(err, &conflict):
		t.losers = append(t.losers, conflict.Item)
	default:
		return fmt.Errorf("%s of %s: %w, want success or a conflict", w.Op, w.Item.Key, err)
	}
	return nil
}

func (c *check) wantOneWinner(t *tally, step int) lease.Item {
	c.Helper()
	if len(t.won) != 1 {
		c.fail("step %d: %d of %d writers won, want 1", step, len(t.won), racers)
	}
	for _, item := range t.losers {
		if !item.Equal(t.won[0]) {
			c.fail("step %d: a loser was shown\n\t%+v, want the winner's\n\t%+v", step, item, t.won[0])
		}
	}
	c.stands(t.won[0].Key, &t.won[0])
	return t.won[0]
}

func runOneWinner(c *check) {
	item := c.must(create(owned("")))
	for step := range raceSteps {
		t := new(tally)
		c.race(func(worker string, s lease.Store) error {
			next := item
			next.Lease.Owner = worker
			w := update(item, next)
			_, err := s.Write(c.ctx, c.group, w)
			return t.add(w, err)
		})
		item = c.wantOneWinner(t, step)
	}
}

func runOneCreator(c *check) {
	for step := range raceSteps {
		t := new(tally)
		c.race(func(worker string, s lease.Store) error {
			w := create(owned(worker))
			_, err := s.Write(c.ctx, c.group, w)
			return t.add(w, err)
		})
		c.must(remove(c.wantOneWinner(t, step)))
	}
}

func runNoneLost(c *check) {
	const each = 10
	item := c.must(create(owned("")))
	c.race(func(worker string, s lease.Store) error {
		for won := 0; won < each; {
			stands, err := s.Get(c.ctx, c.group, item.Key)
			if err != nil {
				return err
			}
			next := stands
			next.Lease.Owner = worker
			_, err = s.Write(c.ctx, c.group, update(stands, next))
			var conflict *lease.ConflictError
			switch {
			case err == nil:
				won++
			case !errors.As(err, &conflict):
				return err
			}
		}
		return nil
	})
	last, err := c.store.Get(c.ctx, c.group, item.Key)
	if err != nil || last.Counter != racers*each {
		c.fail("the counter is %d (%v) after %d writes that succeeded", last.Counter, err, racers*each)
	}
}

func runHoldsBesideUpdates(c *check) {
	const each = 20
	item := c.must(create(owned("anna")))
	c.race(func(worker string, s lease.Store) error {
		stands := item
		for range each {
			var w lease.Write
			switch worker { // one of each kind, so that none may be refused
			case "worker-0":
				w = update(stands, stands)
			case "worker-1":
				w = lease.PutHold(stands, lease.Hold{ID: worker, For: time.Second})
			default:
				return nil
			}
			var err error
			if stands, err = s.Write(c.ctx, c.group, w); err != nil {
				return fmt.Errorf("%s of %s: %w, want success", w.Op, w.Item.Key, err)
			}
		}
		return nil
	})
	last, err := c.store.Get(c.ctx, c.group, item.Key)
	if err != nil || last.Counter != each || last.Lease.Hold.Version != each {
		c.fail("counter %d, hold %+v (%v) after %d updates and as many holds", last.Counter, last.Lease.Hold, err, each)
	}
}
