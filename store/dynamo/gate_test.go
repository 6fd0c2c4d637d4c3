package dynamo

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However callers come, wait and give up: never more are inside than there are places, and no place is lost.
func TestGateKeepsItsPlaces(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		const places = 3
		g := newGate(places)
		var mu sync.Mutex
		inside, most, entered, gaveUp := 0, 0, 0, 0
		var running sync.WaitGroup
		for id := range uint64(500) {
			running.Go(func() {
				r := rand.New(rand.NewPCG(seed, id))
				ms := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Millisecond }
				time.Sleep(ms(1000))
				ctx, cancel := context.WithTimeout(t.Context(), ms(50))
				defer cancel()
				leave, err := g.enter(ctx, class(1+r.IntN(2)))
				mu.Lock()
				if err != nil {
					gaveUp++
					mu.Unlock()
					return
				}
				entered++
				inside++
				most = max(most, inside)
				mu.Unlock()
				time.Sleep(ms(20))
				mu.Lock()
				inside--
				mu.Unlock()
				leave()
			})
		}
		running.Wait()
		if most != places || g.free != places || len(g.waiting[0])+len(g.waiting[1]) != 0 || entered == 0 || gaveUp == 0 {
			t.Errorf("at most %d were inside; at the end %d places are free, and %v wait; %d entered, %d gave up", most, g.free, g.waiting, entered, gaveUp)
		}
	})
}
