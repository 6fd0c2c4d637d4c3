//go:build unix

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// What can be done. Those that hit a connection are a mode of a proxy and the service's name; those that hit packets
// are in weathers.
const (
	kill    = "kill"          // SIGKILL, and a new worker after a while
	freeze  = "freeze"        // SIGSTOP, and SIGCONT after a while
	term    = "term"          // SIGTERM, and a new worker when it has ended
	rolling = "rolling"       // term, one worker after the other
	restart = "store restart" // the store's port is closed, and opened again
	split   = "split"         // of a shard
	merge   = "merge"         // of two shards

	wireDown = "wire down" // packets vanish, in both directions
)

// step is one thing to do, a while after the one before.
type step struct {
	gap    time.Duration
	kind   string
	slot   int // index; -1 where it is about none
	mode   mode
	onto   string        // of a connection: store or kinesis
	length time.Duration // until it is undone
	pick   int           // any number, for what is to be chosen among what is there

	weather weather // of the slot's wire
}

func (s step) String() string {
	text := fmt.Sprintf("+%.1fs %s", s.gap.Seconds(), s.kind)
	if s.slot >= 0 {
		text += fmt.Sprintf(" w%d", s.slot+1)
	}
	if lost := s.weather.lostIn; lost > 0 && lost < 1 {
		text += fmt.Sprintf(" by %.0f%%", 100*lost)
	}
	if s.weather.late > 0 {
		text += fmt.Sprintf(" by %v", s.weather.late)
	}
	if s.length > 0 {
		text += fmt.Sprintf(" for %.1fs", s.length.Seconds())
	}
	return text
}

// plan is the steps that a seed makes: every kind comes once before any comes again, for about as long as lasts.
type plan struct {
	seed  uint64
	steps []step
}

func (p plan) String() string {
	text := make([]string, len(p.steps))
	for i, s := range p.steps {
		text[i] = s.String()
	}
	return fmt.Sprintf("plan of seed %d: %s", p.seed, strings.Join(text, "; "))
}

// newPlan makes a plan, of only some kinds if any are named; without a step if there are none of these. At most all
// workers but one are harmed by themselves at one time.
func newPlan(seed uint64, lasts time.Duration, on stage, only ...string) plan {
	p := plan{seed: seed}
	random := rand.New(rand.NewPCG(seed, 0))
	between := func(least, most float64) time.Duration { // in failover times, cut so that it can be read
		return time.Duration((least + random.Float64()*(most-least)) * float64(on.failover)).Truncate(100 * time.Millisecond)
	}
	var now, waits time.Duration              // waits: since the last step that is done
	busy := make([]time.Duration, on.workers) // until then
	for now < lasts {
		cards := deck(random, on.wired)
		if len(only) > 0 {
			cards = slices.DeleteFunc(cards, func(s step) bool { return !slices.Contains(only, s.kind) })
		}
		if len(cards) == 0 {
			break
		}
		for _, s := range cards {
			gap := between(0.3, 1.3)
			s.slot, s.pick = -1, random.IntN(100)
			if now += gap; now >= lasts {
				break
			}
			waits += gap
			switch {
			case s.weather != weather{}, s.mode != "" && s.mode != halfOpen:
				s.length = between(0.3, 3)
			case s.kind == freeze:
				s.length = between(0.5, 5)
			case s.kind == kill:
				s.length = between(0, 1.5)
			case s.kind == restart:
				s.length = between(0.2, 1.5)
			case s.kind == rolling:
				now += on.failover // about; it waits until all else is over
			}
			if s.weather != (weather{}) || s.mode != "" || s.kind == freeze || s.kind == kill || s.kind == term {
				var free []int
				for i, until := range busy {
					if until <= now {
						free = append(free, i)
					}
				}
				if len(free) < 2 {
					continue
				}
				s.slot = free[random.IntN(len(free))]
				busy[s.slot] = now + s.length + on.failover/2
			}
			s.gap, waits = waits, 0
			p.steps = append(p.steps, s)
		}
	}
	return p
}

// weathers are what can happen to packets. How bad it is comes from random.
func weathers(random *rand.Rand) []step {
	lost := 0.05 + 0.01*float64(random.IntN(26))
	late := time.Duration(20+random.IntN(180)) * time.Millisecond
	return []step{
		{kind: wireDown, weather: weather{lostIn: 1, lostOut: 1}},
		{kind: "wire in down", weather: weather{lostIn: 1}}, // the worker is heard, and hears nothing
		{kind: "wire out down", weather: weather{lostOut: 1}},
		{kind: "wire lossy", weather: weather{lostIn: lost, lostOut: lost}},
		{kind: "wire late", weather: weather{late: late}},
	}
}

// deck is every kind of step once, shuffled; with wires, their weathers come before the others.
func deck(random *rand.Rand, wired bool) []step {
	cards := []step{{kind: kill}, {kind: kill}, {kind: freeze}, {kind: freeze}, {kind: term}, {kind: rolling}, {kind: restart}, {kind: split}, {kind: merge}}
	for _, m := range []mode{cut, mute, reset, slow, halfOpen} {
		for _, onto := range []string{"store", "kinesis"} {
			cards = append(cards, step{kind: string(m) + " " + onto, mode: m, onto: onto})
		}
	}
	shuffle := func(cards []step) {
		random.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	}
	shuffle(cards)
	if wired {
		first := weathers(random)
		shuffle(first)
		cards = append(first, cards...)
	}
	return cards
}
