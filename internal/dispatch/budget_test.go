package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func nothing(int64) int64 { return 0 }

func held(t *testing.T, b *Budget, want int64) {
	t.Helper()
	if got := b.Used(); got != want {
		t.Errorf("%d bytes are taken, want %d", got, want)
	}
}

// asks takes in a goroutine; done says whether it has the bytes.
func asks(ctx context.Context, s *Share, n int64) (done func() bool, result func() error) {
	ended := make(chan error, 1)
	go func() { ended <- s.Take(ctx, n) }()
	synctest.Wait() // it has its place in the queue
	var err error
	var over bool
	return func() bool {
			synctest.Wait()
			select {
			case err = <-ended:
				over = true
			default:
			}
			return over
		}, func() error {
			if !over {
				err, over = <-ended, true
			}
			return err
		}
}

func TestBudgetBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400)
		a, c := b.Shard(nothing), b.Shard(nothing)
		if err := a.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		// The shard is at its quarter: it waits, and holds nobody up.
		more, _ := asks(t.Context(), a, 1)
		if more() {
			t.Error("a shard took more than a quarter")
		}
		if err := c.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		held(t, b, 200)
		a.Give(1)
		if !more() {
			t.Error("given back, but not granted")
		}
		a.Give(100)
		c.Give(100)
		held(t, b, 0)
		if b.Peak() != 200 || b.Max() != 400 || a.Held() != 0 {
			t.Errorf("peak %d, max %d, held %d", b.Peak(), b.Max(), a.Held())
		}
	})
}

// TestOversizedAnswer: an answer larger than a quarter is let in to a shard that holds nothing, over the bound
// if it must, one at a time.
func TestOversizedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400)
		var shares [6]*Share
		for i := range shares {
			shares[i] = b.Shard(nothing)
		}
		for _, s := range shares[:3] {
			if err := s.Take(t.Context(), 60); err != nil {
				t.Fatal(err)
			}
		}
		if err := shares[3].Take(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
		held(t, b, 1180)
		second, _ := asks(t.Context(), shares[4], 1000)
		small, _ := asks(t.Context(), shares[5], 1)
		if second() || small() {
			t.Error("granted while over the bound")
		}
		shares[3].Give(1000)
		// Over the bound again, with the second; the small one came later.
		if !second() || small() {
			t.Errorf("the second large one: %v, the small one: %v", second(), small())
		}
		shares[4].Give(1000)
		if !small() {
			t.Error("the small one waits still")
		}
		if b.Peak() != 1180 {
			t.Errorf("peak %d", b.Peak())
		}
	})
}

// tail is a shard's undelivered bytes, as a lane keeps them.
type tail struct {
	mu    sync.Mutex
	bytes int64
	drops int
}

func (t *tail) drop(want int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drops++
	freed := min(want, t.bytes)
	t.bytes -= freed
	return freed
}

// TestLargestTailIsDropped: a shard within its fair share gets its bytes from the shard that holds the most
// above its own; a shard above its fair share waits.
func TestLargestTailIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1000)
		tails := make([]*tail, 10) // fair share: 100
		shares := make([]*Share, 10)
		for i := range shares {
			tails[i] = new(tail)
			shares[i] = b.Shard(tails[i].drop)
		}
		for i, n := range []int64{250, 200, 250, 250, 50} {
			if err := shares[i].Take(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			tails[i].bytes = n
		}
		tails[0].bytes, tails[2].bytes = 0, 0 // all with handlers
		// Above its fair share: waits, drops nothing.
		greedy, _ := asks(t.Context(), shares[1], 50)
		if greedy() || tails[3].drops != 0 {
			t.Errorf("granted %v, %d drops", greedy(), tails[3].drops)
		}
		// Within it: shards 0, 2 and 3 hold the most, and only 3 has something to drop.
		if err := shares[5].Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		if tails[3].bytes != 150 || shares[3].Held() != 150 || tails[1].drops != 0 {
			t.Errorf("tails %d, held %d", tails[3].bytes, shares[3].Held())
		}
		held(t, b, 1000)
		if greedy() {
			t.Error("the greedy one was served with the dropped bytes")
		}
		// The next victim is the largest again: shard 1.
		if err := shares[6].Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		if tails[1].bytes != 100 || tails[3].bytes != 150 {
			t.Errorf("tails %d and %d", tails[1].bytes, tails[3].bytes)
		}
		// Now shard 1 is at its fair share of 100, and what is above is dropped from nobody.
		for i := range shares {
			shares[i].Close()
		}
		held(t, b, 0)
	})
}

// TestFairSharesAreNotDropped: who holds no more than the fair share loses nothing.
func TestFairSharesAreNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400)
		var modest, stuck tail
		first, taker := b.Shard(modest.drop), b.Shard(nothing)
		for s, n := range map[*Share]int64{first: 80, b.Shard(stuck.drop): 300, b.Shard(nothing): 10, b.Shard(nothing): 10} {
			if err := s.Take(t.Context(), n); err != nil { // fair share: 80
				t.Fatal(err)
			}
		}
		modest.bytes = 80
		ctx, cancel := context.WithCancel(t.Context())
		took, result := asks(ctx, taker, 20)
		if took() || modest.drops != 0 || stuck.drops == 0 {
			t.Errorf("granted %v; drops %d and %d", took(), modest.drops, stuck.drops)
		}
		cancel()
		if err := result(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestBytesQueuedLaterAreDropped: bytes that were in a reader's hands when the taker came, and lie in a
// lane by now, are found without anybody's telling.
func TestBytesQueuedLaterAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400)
		var late tail
		full := b.Shard(late.drop)
		if err := full.Take(t.Context(), 400); err != nil { // an answer larger than a quarter
			t.Fatal(err)
		}
		other := b.Shard(nothing)
		b.Shard(nothing)
		took, result := asks(t.Context(), other, 50)
		time.Sleep(10 * dropAgain)
		if took() {
			t.Fatal("granted")
		}
		late.mu.Lock()
		late.bytes = 400 // decoded and queued; the handler is stuck
		late.mu.Unlock()
		if err := result(); err != nil {
			t.Error(err)
		}
		held(t, b, 400)
	})
}

// TestFirstComeFirstServed: takers of one kind are served in order, and small ones do not starve a
// large one.
func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400)
		var shares [8]*Share
		for i := range shares {
			shares[i] = b.Shard(nothing)
		}
		for _, s := range shares[:4] {
			if err := s.Take(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
		}
		large, _ := asks(t.Context(), shares[4], 90)
		small, _ := asks(t.Context(), shares[5], 10)
		last, _ := asks(t.Context(), shares[6], 30)
		shares[0].Give(80)
		if large() || small() {
			t.Error("the small one came after the large one")
		}
		shares[0].Give(20)
		if !large() || !small() || last() {
			t.Errorf("large %v, small %v, last %v", large(), small(), last())
		}
	})
}

// TestAbandonedTake: a taker whose context ends holds nothing and stands in nobody's way.
func TestAbandonedTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400)
		var shares [7]*Share
		for i := range shares {
			shares[i] = b.Shard(nothing)
		}
		for _, s := range shares[:4] {
			if err := s.Take(t.Context(), 95); err != nil {
				t.Fatal(err)
			}
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		_, large := asks(ctx, shares[4], 50)
		small, _ := asks(t.Context(), shares[5], 20)
		if small() {
			t.Fatal("overtaken")
		}
		cancel(cause)
		if err := large(); !errors.Is(err, cause) {
			t.Error(err)
		}
		if !small() {
			t.Error("the next in the queue waits for nobody")
		}
		held(t, b, 400)
		if err := shares[6].Take(ctx, 1); !errors.Is(err, cause) {
			t.Error(err)
		}

		// So does a share that is closed, which gives everything back.
		_, last := asks(t.Context(), shares[6], 50)
		shares[6].Close()
		if err := last(); !errors.Is(err, ErrShareClosed) {
			t.Error(err)
		}
		if err := shares[6].Take(t.Context(), 1); !errors.Is(err, ErrShareClosed) {
			t.Error(err)
		}
		for _, s := range shares {
			s.Close()
			s.Close()
			s.Give(10) // a late ack
		}
		held(t, b, 0)
	})
}

// TestRoom: the hint is what is left of the fair share, or more while the budget is free, never above
// what is left of a quarter, and never below half a fair share.
func TestRoom(t *testing.T) {
	b := NewBudget(1600)
	s := b.Shard(nothing)
	room := func(want int64) {
		t.Helper()
		if got := s.Room(); got != want {
			t.Errorf("room %d with %d of its own and %d in all, want %d", got, s.Held(), b.Used(), want)
		}
	}
	take := func(s *Share, n int64) {
		t.Helper()
		if err := s.Take(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	room(400)
	take(s, 150)
	room(250)
	take(s, 100)
	room(200)
	s.Give(250)
	var others []*Share
	for range 15 {
		others = append(others, b.Shard(nothing))
	}
	room(400)
	for _, o := range others[:4] {
		take(o, 300)
	}
	room(100)
	take(s, 30)
	room(92)
	take(others[4], 300)
	room(70)
	take(s, 40)
	room(50)
}

// TestBlockedShardsDoNotStopOthers: three shards whose handlers never return, and that would take all they can
// get, and twenty that work: the twenty go on for as long as one likes.
func TestBlockedShardsDoNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := NewBudget(4000)
		var group sync.WaitGroup
		for range 3 {
			var stuck tail
			share := b.Shard(stuck.drop)
			group.Go(func() {
				for share.Take(ctx, 200) == nil {
					stuck.mu.Lock()
					stuck.bytes += 200 // read, queued, never handled
					stuck.mu.Unlock()
				}
			})
		}
		var done [20]int
		for i := range done {
			share := b.Shard(nothing)
			group.Go(func() {
				for share.Take(ctx, 170) == nil { // its fair share is 173
					time.Sleep(time.Second)
					share.Give(170)
					done[i]++
				}
			})
		}
		time.Sleep(100*time.Second + time.Millisecond)
		cancel()
		group.Wait()
		for i, n := range done {
			if n < 80 {
				t.Errorf("shard %d handled %d batches in 100 s", i, n)
			}
		}
		if b.Peak() > 4000 {
			t.Errorf("peak %d", b.Peak())
		}
	})
}

// TestBudgetProperty runs random shards at random paces and checks, at every step: the bound, but for one large
// answer; a quarter a shard, or one answer; the books; and that at the end nothing is left.
func TestBudgetProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		shards := rapid.IntRange(1, 12).Draw(rt, "shards")
		most := rapid.Int64Range(1, 900).Draw(rt, "largest answer")
		var failure string
		synctest.Test(t, func(t *testing.T) { failure = shareOut(t.Context(), seed, shards, most) })
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

func shareOut(ctx context.Context, seed uint64, shards int, most int64) (failure string) {
	const bound = 1000
	b := NewBudget(bound)
	var mu sync.Mutex
	fail := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		failure = fmt.Sprintf(format, args...)
	}
	check := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		var sum int64
		for _, s := range b.shares {
			sum += s.held
			if s.held > bound/4 && s.held > most {
				fail("a shard holds %d", s.held)
			}
		}
		if sum != b.used {
			fail("%d taken, %d in the books", sum, b.used)
		}
		if b.peak > bound+most || most <= bound/4 && b.peak > bound {
			fail("peak %d with answers of up to %d", b.peak, most)
		}
	}
	var group sync.WaitGroup
	for i := range shards {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			var lane struct {
				sync.Mutex
				queued []int64
			}
			share := b.Shard(func(want int64) (freed int64) {
				lane.Lock()
				defer lane.Unlock()
				for len(lane.queued) > 0 && freed < want {
					freed += lane.queued[len(lane.queued)-1]
					lane.queued = lane.queued[:len(lane.queued)-1]
				}
				return freed
			})
			defer share.Close()
			for range 40 {
				n := 1 + random.Int64N(most)
				limited, cancel := context.WithTimeout(ctx, time.Duration(random.Int64N(int64(2*time.Second))))
				err := share.Take(limited, n)
				cancel()
				check()
				if err == nil {
					kept := random.Int64N(n + 1) // decoded
					share.Give(n - kept)
					lane.Lock()
					lane.queued = append(lane.queued, kept)
					lane.Unlock()
				}
				time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
				for range random.IntN(4) { // handled
					lane.Lock()
					var first int64
					if len(lane.queued) > 0 {
						first, lane.queued = lane.queued[0], lane.queued[1:]
					}
					lane.Unlock()
					share.Give(first)
				}
				check()
			}
		})
	}
	group.Wait()
	if b.Used() != 0 || len(b.waiters) != 0 || len(b.shares) != 0 {
		fail("left over: %d bytes, %d waiters, %d shares", b.Used(), len(b.waiters), len(b.shares))
	}
	return failure
}
