package dynamo_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local/dynamodb"
	"github.com/leatstream/leat/store/dynamo"
	"github.com/leatstream/leat/store/file"
	"github.com/leatstream/leat/store/memory"
)

var (
	linearSeed = flag.Uint64("linear.seed", 0, "seed of what the clients of TestLinearizable do; 0 is a new one")
	linearOps  = flag.Int("linear.ops", 80, "calls of each of the 5 clients of TestLinearizable")
)

// step is one call on one item, or what is known of it: a call of unknown outcome may be a write that happened, or
// will happen, or never does.
type step struct {
	write *lease.Write // nil: Get
	maybe bool         // a write that may have had its effect, or not
}

// seen is what a call told. A conflict tells what stands, as Get does.
type seen struct {
	landed bool // the write
	item   lease.Item
	found  bool
}

// register is how one item behaves: lease.Write.Applies and Apply are all there is to say.
var register = porcupine.NondeterministicModel{
	Init: func() []any { return []any{seen{}} },
	Step: func(state, input, output any) []any {
		stands, in, out := state.(seen), input.(step), output.(seen)
		after := stands
		if in.write != nil {
			if in.write.Applies(stands.item, stands.found) {
				after = seen{item: in.write.Apply(stands.item), found: true}
				if in.write.Op == lease.Delete {
					after = seen{}
				}
			}
			if in.maybe {
				return []any{stands, after}
			}
			if out.landed {
				if !in.write.Applies(stands.item, stands.found) || in.write.Op != lease.Delete && !after.item.Equal(out.item) {
					return nil
				}
				return []any{after}
			}
			if in.write.Applies(stands.item, stands.found) {
				return nil // it was refused
			}
		}
		if out.found != stands.found || out.found && !out.item.Equal(stands.item) {
			return nil
		}
		return []any{stands}
	},
	Equal: func(a, b any) bool {
		x, y := a.(seen), b.(seen)
		return x.found == y.found && x.item.Equal(y.item)
	},
}

// history is what clients saw of one item. Its clock is a count: an event that is counted later came later.
type history struct {
	mu    sync.Mutex
	clock int64
	ops   []porcupine.Operation
}

func (h *history) tick() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

func (h *history) add(client int, called int64, in step, out seen) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	end := h.clock
	if in.maybe {
		end = 1 << 62 // it may happen at any time
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: end})
}

// client writes and reads one item, mostly on the condition that it saw last.
func client(ctx context.Context, s lease.Store, h *history, id int, seed uint64, group string, key lease.Key, lossy bool) error {
	r := mathrand.New(mathrand.NewPCG(seed, uint64(id)))
	var last seen
	for range *linearOps {
		runtime.Gosched() // a Store that never waits would let each client run to its end
		called := h.tick()
		if r.IntN(3) == 0 {
			item, err := s.Get(ctx, group, key)
			switch {
			case err == nil:
				last = seen{item: item, found: true}
			case errors.Is(err, lease.ErrNotFound):
				last = seen{}
			default:
				continue // it has told nothing
			}
			h.add(id, called, step{}, last)
			continue
		}
		w := lease.Write{Op: lease.Update, Item: last.item, Counter: last.item.Counter, Owner: last.item.Lease.Owner}
		w.Item.Key = key
		switch n := r.IntN(20); {
		case !last.found || n == 0:
			w.Op, w.Item.Counter = lease.Create, 0
		case n == 1 && !lossy: // a lost attempt at an item that was deleted and made again may land twice
			w.Op = lease.Delete
		case n < 5:
			w = lease.PutHold(last.item, lease.Hold{ID: fmt.Sprint(id, r.Uint64()), For: time.Second})
			w.Item.Key = key
		default:
			w.Item.Counter++
			w.Item.Lease.OwnerSwitches = r.Int64N(1 << 40) // no two writes are the same
			w.Item.Lease.Owner = fmt.Sprint(r.IntN(3))
		}
		item, err := s.Write(ctx, group, w)
		conflict, refused := errors.AsType[*lease.ConflictError](err)
		switch {
		case err == nil:
			last = seen{item: item, found: w.Op != lease.Delete}
			h.add(id, called, step{write: &w}, seen{landed: true, item: item})
		case refused:
			last = seen{item: conflict.Item, found: conflict.Found}
			if lossy { // an attempt of the same call may have landed before, and its answer been lost
				h.add(id, called, step{write: &w, maybe: true}, seen{})
				h.add(id, called, step{}, last)
			} else {
				h.add(id, called, step{write: &w}, last)
			}
		case lossy:
			h.add(id, called, step{write: &w, maybe: true}, seen{})
		default:
			return err
		}
	}
	return nil
}

// linear lets 5 clients loose on one item, and says whether what they saw can be explained by calls that happened
// one after another, each between its beginning and its end.
func linear(t *testing.T, seed uint64, lossy bool, handles ...lease.Store) porcupine.CheckResult {
	t.Helper()
	h := new(history)
	group, key := "test-"+rand.Text(), lease.LeaseKey("orders", "s1")
	var running sync.WaitGroup
	for id := range 5 {
		running.Go(func() {
			if err := client(t.Context(), handles[id%len(handles)], h, id, seed, group, key, lossy); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	return porcupine.CheckOperationsTimeout(register.ToModel(), h.ops, time.Minute)
}

// TestLinearizable: every Store is a register with compare-and-swap.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	seed := cmp.Or(*linearSeed, mathrand.Uint64())
	t.Logf("-linear.seed=%d makes the same calls (but not in the same order)", seed)
	ready := func(t *testing.T, s lease.Store) lease.Store {
		if _, err := s.Open(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := func(t *testing.T, got porcupine.CheckResult) {
		t.Helper()
		if got != porcupine.Ok {
			t.Errorf("the history is %s", got)
		}
	}
	t.Run("memory", func(t *testing.T) {
		want(t, linear(t, seed, false, ready(t, memory.New())))
	})
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		folder := func() lease.Store {
			s := file.New(dir)
			s.NoSync = true
			t.Cleanup(func() { s.Close() })
			return ready(t, s)
		}
		want(t, linear(t, seed, false, folder(), folder()))
	})
	t.Run("dynamo", func(t *testing.T) {
		srv := dynamodb.New(dynamodb.Config{})
		want(t, linear(t, seed, false, opened(t, srv), opened(t, srv)))
	})
	t.Run("dynamo with faults", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := dynamodb.New(dynamodb.Config{NoItemOnFailure: true})
			first, second := opened(t, srv), opened(t, srv)
			srv.SetFaults(seed,
				dynamodb.Fault{Kind: dynamodb.Delay, Share: 0.5, Delay: time.Millisecond},
				dynamodb.Fault{Kind: dynamodb.Stale, Share: 1, Delay: time.Second},
				dynamodb.Fault{Kind: dynamodb.DropAnswer, Share: 0.1},
				dynamodb.Fault{Kind: dynamodb.DropRequest, Share: 0.1},
				dynamodb.Fault{Kind: dynamodb.Hang, Share: 0.05},
				dynamodb.Fault{Kind: dynamodb.Throttle, Share: 0.1},
			)
			want(t, linear(t, seed, true, first, second))
		})
	})
	t.Run("dynalite", func(t *testing.T) {
		cfg, endpoint := dynalite(t)
		table := func() lease.Store {
			return ready(t, dynamo.New(dynamo.Config{AWS: &cfg, Endpoint: endpoint}))
		}
		want(t, linear(t, seed, false, table(), table()))
	})
	// The check finds what it looks for.
	for name, broken := range map[string]lease.Store{"stale": &stale{Store: memory.New()}, "unconditional": unconditional{memory.New()}} {
		t.Run("broken: "+name, func(t *testing.T) {
			if got := linear(t, seed, false, broken); got != porcupine.Illegal {
				t.Errorf("the history is %s", got)
			}
		})
	}
}

// stale reads what was read before.
type stale struct {
	lease.Store
	mu   sync.Mutex
	last lease.Item
	err  error
}

func (s *stale) Get(ctx context.Context, group string, key lease.Key) (lease.Item, error) {
	item, err := s.Store.Get(ctx, group, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	item, s.last = s.last, item
	err, s.err = s.err, err
	return item, err
}

// unconditional writes whatever stands.
type unconditional struct{ lease.Store }

func (s unconditional) Write(ctx context.Context, group string, w lease.Write) (lease.Item, error) {
	written, err := s.Store.Write(ctx, group, w)
	conflict, refused := errors.AsType[*lease.ConflictError](err)
	if !refused || !conflict.Found || w.Op != lease.Update {
		return written, err
	}
	w.Counter, w.Owner, w.Item.Counter = conflict.Item.Counter, conflict.Item.Lease.Owner, conflict.Item.Counter+1
	return s.Store.Write(ctx, group, w)
}
