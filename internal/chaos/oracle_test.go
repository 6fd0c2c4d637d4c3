//go:build unix

package chaos

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// story makes evidence by hand. Records are numbered from 0 in shard "s", all of key "k"; times are seconds.
type story struct{ evidence }

func second(s float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second)))
}

func newStory(records int) *story {
	s := &story{evidence{checkpoint: time.Second, failover: 3 * time.Second}}
	for i := range records {
		s.puts = append(s.puts, put{key: "k", n: i + 1, shard: "s", sequence: fmt.Sprint(98 + i)}) // 99, 100: numbers, not texts
	}
	return s
}

// handles lets a worker handle records from to to, one each tenth of a second.
func (s *story) handles(worker string, token int64, at float64, from, to int) *story {
	for i := from; i <= to; i++ {
		p := s.puts[i]
		start := second(at + float64(i-from)/10)
		s.calls = append(s.calls, call{worker, p.shard, token, p.key, p.n, p.sequence, start, start.Add(10 * time.Millisecond)})
	}
	return s
}

// harm harms a worker, or with "" all of them.
func (s *story) harm(kind, worker string, from, to float64) *story {
	slot := -1
	if worker != "" {
		slot = slotOf(worker)
	}
	s.harms = append(s.harms, harm{kind: kind, worker: worker, slot: slot, from: second(from), to: second(to)})
	return s
}

func (s *story) took(worker string, at float64) *story {
	s.events = append(s.events, event{worker, second(at), "took", "s"})
	return s
}

func TestOracle(t *testing.T) {
	for _, test := range []struct {
		name  string
		story *story
		want  verdict
	}{
		{"all is well", newStory(20).handles("w1.1", 1, 0, 0, 9).handles("w2.1", 3, 5, 10, 19),
			verdict{}},
		{"lost", newStory(20).handles("w1.1", 1, 0, 0, 18),
			verdict{Lost: 1}},
		{"left out", newStory(20).handles("w1.1", 1, 0, 0, 4).handles("w1.1", 1, 1, 6, 19),
			verdict{Lost: 1, OutOfOrder: 2}}, // the key's and the shard's order
		{"left out by the next owner", newStory(20).handles("w1.1", 1, 0, 0, 4).handles("w2.1", 3, 1, 6, 19),
			verdict{Lost: 1, OutOfOrder: 2}},
		{"twice by one owner", newStory(20).handles("w1.1", 1, 0, 0, 9).handles("w1.1", 1, 5, 9, 19),
			verdict{Repeated: 1, OutOfOrder: 1}},
		{"invented", func() *story {
			s := newStory(20).handles("w1.1", 1, 0, 0, 19)
			s.calls = append(s.calls, call{worker: "w1.1", shard: "s", token: 1, key: "k", n: 21, sequence: "7", start: second(9)})
			return s
		}(), verdict{OutOfOrder: 1}},
		{"repeated after a kill", newStory(20).handles("w1.1", 1, 0, 0, 9).harm(kill, "w1.1", 1, 1e6).handles("w2.1", 3, 5, 5, 19),
			verdict{Repeated: 5}},
		{"repeated after a kill, the most", newStory(100).handles("w1.1", 1, 0, 0, 60).harm(kill, "w1.1", 6.1, 1e6).handles("w2.1", 3, 10, 41, 99),
			verdict{Repeated: 20}}, // 1.9 s; the most are an interval of 1 s and twice 0.5 s
		{"repeated after a kill, too much", newStory(100).handles("w1.1", 1, 0, 0, 60).harm(kill, "w1.1", 6.1, 1e6).handles("w2.1", 3, 10, 39, 99),
			verdict{Repeated: 22, NotAllowed: 1}},
		{"repeated after an outage: in 4 s it was left alone for 1.5 s", newStory(100).handles("w1.1", 1, 0, 0, 60).harm("cut store", "w1.1", 3.5, 9).handles("w2.1", 3, 10, 20, 99),
			verdict{Repeated: 41}},
		{"repeated after two outages: left alone for 0.5 s and 1 s", newStory(100).handles("w1.1", 1, 0, 0, 60).harm("reset store", "w1.1", 5, 9).harm(restart, "", 1.5, 4).handles("w2.1", 3, 10, 10, 99),
			verdict{Repeated: 51}},
		{"repeated after a kill soon after an outage: the write's pause was not over", func() *story {
			s := newStory(100).handles("w1.1", 1, 0, 0, 60).harm(restart, "", 1, 3).harm(kill, "w1.1", 6.1, 1e6).handles("w2.1", 3, 10, 0, 99)
			s.harms[0].outage = 2 * time.Second
			return s
		}(), verdict{Repeated: 61}},
		{"repeated after a freeze: left alone for 4 s", newStory(100).handles("w1.1", 1, 0, 0, 60).harm(freeze, "w1.1", 6.1, 9).handles("w2.1", 3, 10, 20, 99),
			verdict{Repeated: 41, NotAllowed: 1}},
		{"what hits only reading is no reason", func() *story {
			s := newStory(20).handles("w1.1", 1, 0, 0, 9).harm("cut kinesis", "w1.1", 0.5, 2).handles("w2.1", 3, 5, 9, 19)
			s.harms[0].reading = true
			return s
		}(), verdict{Repeated: 1, NotAllowed: 1}},
		{"repeated without a reason", newStory(20).handles("w1.1", 1, 0, 0, 9).handles("w2.1", 3, 5, 9, 19),
			verdict{Repeated: 1, NotAllowed: 1}},
		{"another one's harm is no reason", newStory(20).handles("w1.1", 1, 0, 0, 9).harm(kill, "w2.1", 1, 2).handles("w2.1", 3, 5, 9, 19),
			verdict{Repeated: 1, NotAllowed: 1}},
		{"harm long ago is no reason", newStory(20).handles("w1.1", 1, 0, 0, 9).harm(freeze, "w1.1", 0, 0.5).handles("w2.1", 3, 5, 9, 19),
			verdict{Repeated: 1, NotAllowed: 1}},
		{"the checkpoint went back", newStory(20).handles("w1.1", 1, 0, 0, 9).handles("w2.1", 3, 2, 10, 14).harm(kill, "w2.1", 3, 1e6).handles("w3.1", 5, 5, 7, 19),
			verdict{Repeated: 8, NotAllowed: 1}},
		{"a start after another's", newStory(20).handles("w1.1", 1, 0, 0, 10).handles("w2.1", 3, 0.95, 10, 19).harm(freeze, "w1.1", 0.9, 1e6),
			verdict{Repeated: 1, Stale: 1}},
		{"a start after another took it", newStory(20).handles("w1.1", 1, 0, 0, 9).took("w2.1", 0.85).handles("w2.1", 3, 1, 10, 19),
			verdict{Stale: 1}},
		{"an earlier taking of the same worker", newStory(30).took("w1.1", -1).handles("w1.1", 1, 0, 0, 9).took("w2.1", 1).handles("w2.1", 3, 1, 10, 19).
			took("w1.1", 3).handles("w1.1", 5, 3, 20, 29), verdict{}},
		{"two owners of one token", newStory(20).handles("w1.1", 1, 0, 0, 9).handles("w2.1", 1, 5, 10, 19),
			verdict{Stale: 10}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := judge(test.story.evidence)
			want := test.want
			if got.Lost != want.Lost || got.OutOfOrder != want.OutOfOrder || got.Repeated != want.Repeated || got.Stale != want.Stale || got.NotAllowed != want.NotAllowed {
				t.Errorf("%v, want %v; %q", got, &want, got.Faults)
			}
			if got.ok() != (len(got.Faults) == 0) {
				t.Errorf("ok is %v with %q", got.ok(), got.Faults)
			}
		})
	}
}

func TestPauses(t *testing.T) {
	s := newStory(30).handles("w1.1", 1, 0, 0, 9).handles("w2.1", 3, 7, 10, 29)
	signals := []sent{{"w1.1", second(1)}, {"w2.1", second(1)}, {"w2.1", second(20)}} // the second held nothing; the third's shard has ended
	if got := pauses(s.calls, signals); !slices.Equal(got, []time.Duration{6 * time.Second}) {
		t.Error(got)
	}
}

// A seed's plan is the same each time, has every kind, and never harms all workers by themselves at one time.
func TestPlan(t *testing.T) {
	on := stage{workers: 5, failover: 3 * time.Second, wired: true}
	for seed := range uint64(100) {
		p := newPlan(seed, 10*time.Minute, on)
		if again := newPlan(seed, 10*time.Minute, on); p.String() != again.String() {
			t.Fatalf("%v\n%v", p, again)
		}
		kinds := map[string]bool{}
		until := map[int]time.Duration{}
		var now time.Duration
		for _, s := range p.steps {
			kinds[s.kind] = true
			now += s.gap
			if s.kind == rolling {
				clear(until) // it waits for all else, however long that takes
			}
			if s.slot >= 0 {
				until[s.slot] = now + s.length
			}
			harmed := 0
			for _, u := range until {
				if u > now {
					harmed++
				}
			}
			if harmed >= 5 {
				t.Errorf("seed %d: all workers are harmed at %v", seed, now)
			}
		}
		if len(kinds) != 22 || len(p.steps) < 100 {
			t.Errorf("seed %d: %d kinds, %d steps", seed, len(kinds), len(p.steps))
		}
		for _, s := range newPlan(seed, time.Minute, on, kill, wireDown).steps {
			if s.kind != kill && s.kind != wireDown {
				t.Errorf("seed %d: %v, want kill and wire down alone", seed, s)
			}
		}
	}
}
