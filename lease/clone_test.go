package lease_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

var cloneSeed = flag.Uint64("clone.seed", 0, "run TestCloneStepsAlike with this seed")

// cloneSteps makes a clone take the step that w is about to take. What it returns wants both to have done the
// same and to be in the same state; and another clone, which took no step, to be where it was.
func (g *group) cloneSteps(w *worker, ev lease.Event) (check func([]lease.Action)) {
	before := w.member.AppendState(nil)
	clone, idle := w.member.Clone(), w.member.Clone()
	if !bytes.Equal(clone.AppendState(nil), before) {
		g.t.Fatalf("%s: a clone is in another state", w.id)
	}
	did := clone.Step(g.now, ev)
	if !bytes.Equal(w.member.AppendState(nil), before) {
		g.t.Fatalf("%s: the clone's step %T changed the original", w.id, ev)
	}
	return func(actions []lease.Action) {
		g.t.Helper()
		switch {
		case !reflect.DeepEqual(did, actions) || clone.Wake() != w.member.Wake() || clone.Deadline() != w.member.Deadline():
			g.t.Fatalf("%s: at %T the clone did %v, the original %v", w.id, ev, did, actions)
		case !bytes.Equal(clone.AppendState(nil), w.member.AppendState(nil)):
			g.t.Fatalf("%s: after %T the clone is in another state", w.id, ev)
		case !bytes.Equal(idle.AppendState(nil), before):
			g.t.Fatalf("%s: the step %T changed a clone", w.id, ev)
		}
	}
}

// Clones step as the original does, and their states have the same bytes, along random runs with all kinds of events.
func TestCloneStepsAlike(t *testing.T) {
	t.Parallel()
	for range 3 {
		seed := rand.Uint64()
		if *cloneSeed != 0 {
			seed = *cloneSeed
		}
		t.Run(fmt.Sprintf("clone.seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			g := newGroup(t, shards(6)...)
			g.clones = true
			for i := range 100 {
				if len(g.workers) == 0 || r.IntN(12) == 0 {
					g.join(fmt.Sprintf("w%d", i))
				}
				g.disturb(r, g.workers[r.IntN(len(g.workers))])
				g.pass(time.Duration(r.IntN(4000)) * time.Millisecond)
			}
		})
	}
}

// disturb tells a worker something, or does something to it.
func (g *group) disturb(r *rand.Rand, w *worker) {
	if w.done {
		return
	}
	shard := fmt.Sprintf("shard-%d", r.IntN(len(g.shards)))
	o, open := w.open[shard]
	switch r.IntN(12) {
	case 0:
		g.step(w, lease.Stop{})
	case 1:
		w.away = !w.away
	case 2:
		w.cut = !w.cut
	case 3:
		w.lose = lease.Kind(1 + r.IntN(3))
	case 4:
		if open {
			g.step(w, lease.Missing{Shard: shard, Token: o.Token})
		}
	case 5:
		if open && r.IntN(4) == 0 {
			child := lease.Shard{ID: fmt.Sprintf("shard-%d", len(g.shards)), Parents: []string{shard}}
			g.shards = append(g.shards, child)
			g.step(w, lease.Ended{Shard: shard, Token: o.Token, Children: []lease.Shard{child}})
			g.step(w, lease.Acked{Shard: shard, Token: o.Token, Position: lease.ShardEnd()})
		}
	case 6:
		for _, item := range g.leases() {
			if item.Key.Shard == shard {
				g.hold(shard, lease.Hold{ID: "t1", For: time.Duration(1+r.IntN(20)) * time.Second})
			}
		}
	case 7:
		g.bad = append(g.bad, &lease.ItemError{Key: fmt.Sprintf("lease/orders/bad-%d", len(g.bad)), Err: errors.New("corrupt")})
	default:
		if open {
			g.ack(w, shard, fmt.Sprint(int64(g.now)))
		}
	}
}

// What an explorer pays for each state.
func BenchmarkClone(b *testing.B) {
	g := newGroup(b, shards(4)...)
	w := g.join("a")
	g.join("b")
	g.pass(10 * time.Second)
	var state []byte
	b.ReportAllocs()
	for b.Loop() {
		clone := w.member.Clone()
		clone.Step(g.now, lease.Tick{})
		state = clone.AppendState(state[:0])
	}
	b.ReportMetric(float64(len(state)), "bytes/state")
}
