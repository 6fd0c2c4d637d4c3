package dispatch

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/leatstream/leat/lease"
)

func after(t testing.TB, n int) lease.Position {
	t.Helper()
	p, err := lease.AfterSequence(strconv.Itoa(n), 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// naiveTracker keeps everything for ever and looks at all of it each time.
type naiveTracker struct {
	start     lease.Position
	positions []lease.Position
	acked     map[Handle]bool
	ended     bool
}

func (n *naiveTracker) prefix() int {
	i := 0
	for i < len(n.positions) && n.acked[Handle(i)] {
		i++
	}
	return i
}

func (n *naiveTracker) watermark() lease.Position {
	switch i := n.prefix(); {
	case i == len(n.positions) && n.ended:
		return lease.ShardEnd()
	case i == 0:
		return n.start
	default:
		return n.positions[i-1]
	}
}

func TestTrackerAgainstNaiveModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.SampledFrom([]lease.Position{lease.TrimHorizon(), after(t, 7)}).Draw(rt, "start")
		real, naive := NewTracker(start), &naiveTracker{start: start, acked: map[Handle]bool{}}
		sequence, sub := 10, 0 // of the next position
		most, watermark := 0, start
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				if naive.ended {
					rt.Skip("ended")
				}
				for range rapid.IntRange(1, 40).Draw(rt, "records") {
					p, err := lease.AfterSequence(strconv.Itoa(sequence), int64(sub))
					if err != nil {
						rt.Fatal(err)
					}
					if rapid.IntRange(0, 2).Draw(rt, "aggregated") > 0 {
						sub++ // the next one is out of the same aggregated record
					} else {
						sequence, sub = sequence+3, 0
					}
					want := Handle(len(naive.positions))
					if got := real.Add(p); got != want {
						rt.Fatalf("handle %d, want %d", got, want)
					}
					naive.positions = append(naive.positions, p)
				}
				most = max(most, real.InFlight())
			},
			"ack": func(rt *rapid.T) {
				// Around the watermark, so that it moves; far off, repeated and unknown ones as well.
				low := max(0, naive.prefix()-2)
				h := Handle(rapid.IntRange(low, len(naive.positions)+2).Draw(rt, "handle"))
				before := naive.prefix()
				if int(h) < len(naive.positions) {
					naive.acked[h] = true
				}
				if moved := real.Ack(h); moved != (naive.prefix() > before) {
					rt.Fatalf("Ack(%d) moved the watermark: %v", h, moved)
				}
			},
			"retract": func(rt *rapid.T) {
				last := len(naive.positions) - 1
				if last < 0 || naive.acked[Handle(last)] {
					rt.Skip("nothing to retract")
				}
				real.Retract()
				naive.positions = naive.positions[:last]
				want := naive.start
				if last > 0 {
					want = naive.positions[last-1]
				}
				if got := real.Last(); got != want {
					rt.Fatalf("last %v, want %v", got, want)
				}
			},
			"end": func(rt *rapid.T) {
				real.End()
				naive.ended = true
			},
			"": func(rt *rapid.T) {
				if got, want := real.Watermark(), naive.watermark(); got != want {
					rt.Fatalf("watermark %v, want %v", got, want)
				}
				if got, want := real.Unacked(), len(naive.positions)-len(naive.acked); got != want {
					rt.Fatalf("unacked %d, want %d", got, want)
				}
				if got, want := real.InFlight(), len(naive.positions)-naive.prefix(); got != want {
					rt.Fatalf("in flight %d, want %d", got, want)
				}
				// What the watermark is for, said once more without the model.
				was := watermark
				watermark = real.Watermark()
				if watermark != was && watermark.Compare(was) < 0 {
					rt.Fatalf("the watermark went back from %v to %v", was, watermark)
				}
				for h, p := range naive.positions {
					if !naive.acked[Handle(h)] && watermark.Compare(p) >= 0 {
						rt.Fatalf("the watermark %v has passed %v, which nobody has acknowledged", watermark, p)
					}
				}
				if len(real.slots) > max(minSlots, 2*most) {
					rt.Fatalf("%d slots for at most %d positions", len(real.slots), most)
				}
			},
		})
	})
}

func TestTrackerOfEmptyShardEnds(t *testing.T) {
	t.Parallel()
	tracker := NewTracker(after(t, 1))
	tracker.End()
	if got := tracker.Watermark(); !got.IsShardEnd() {
		t.Errorf("watermark %v, want SHARD_END", got)
	}
}

// A shard that is read for days must not make the tracker allocate for each record, nor grow.
func TestTrackerReusesItsMemory(t *testing.T) { // AllocsPerRun counts the whole process: not parallel
	tracker, p := NewTracker(lease.TrimHorizon()), after(t, 1)
	cycle := func() {
		first := tracker.Add(p)
		for range minSlots - 1 {
			tracker.Add(p)
		}
		for h := first + minSlots; h > first; h-- { // the worst order
			tracker.Ack(h - 1)
		}
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations per %d records, want none", n, minSlots)
	}
	if len(tracker.slots) != minSlots {
		t.Errorf("ring of %d slots, want %d", len(tracker.slots), minSlots)
	}
}

func BenchmarkTracker(b *testing.B) {
	tracker, p := NewTracker(lease.TrimHorizon()), after(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		h := tracker.Add(p)
		tracker.Ack(h)
	}
}
