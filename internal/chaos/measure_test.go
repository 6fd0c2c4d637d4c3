//go:build unix

package chaos

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	flagMeasure = flag.String("chaos.measure", "", "what to measure, of kill, term, freeze, wire down, rolling, half-open, with commas")
	flagTimes   = flag.Int("chaos.times", 0, "how often; 0: kill and term 20 times, freeze and wire down 5")
)

// TestMeasure prints how long shards stand still, and what is repeated, at leat's defaults on kinesis-local and
// dynalite. Its times are printed, not asserted: they are also the machine's.
func TestMeasure(t *testing.T) {
	wanted := strings.Split(*flagMeasure, ",")
	few := stage{shards: 6, workers: 3, failover: 6 * time.Second, checkpoint: 5 * time.Second}
	many := stage{shards: 10, workers: 5, failover: 6 * time.Second, checkpoint: 5 * time.Second}
	wired := few
	wired.wired = true
	one := stage{shards: 6, workers: 1, failover: 6 * time.Second, checkpoint: 5 * time.Second}
	for _, m := range []struct {
		name  string
		on    stage
		times int
		goal  string
		act   func(r *run)
	}{
		{kill, few, 20, "at most 8.5 s", func(r *run) { r.endAndReplace(r.busiest(), func(s *slot) { r.kill(s) }) }},
		{term, few, 20, "at most 2 s, 0 repeats", func(r *run) { r.endAndReplace(r.busiest(), func(s *slot) { r.term(s) }) }},
		{freeze, few, 5, "0 stale starts", func(r *run) { r.sendAway(r.busiest(), func(s *slot) { r.freeze(s, away) }) }},
		{wireDown, wired, 5, "at most 8.5 s, 0 stale starts", func(r *run) { r.sendAway(r.busiest(), r.unplug) }},
		{rolling, many, 1, "0 repeats", (*run).roll},
		{string(halfOpen), one, 1, "the wait", (*run).halfOpenKinesis},
	} {
		t.Run(m.name, func(t *testing.T) {
			if !slices.Contains(wanted, m.name) {
				t.Skip("only with -chaos.measure=" + m.name)
			}
			if m.on.wired && !inPrivateNetwork(t) {
				return
			}
			if *flagTimes > 0 {
				m.times = *flagTimes
			}
			r := newRun(t, m.on, npmServers(t))
			for _, s := range r.group.slots {
				r.awaitWork(r.group.in(s), r.began)
			}
			for range m.times {
				// Another moment between two heartbeats, and between two checkpoints, each time.
				r.sleep(2*time.Second + rand.N(r.checkpoint))
				m.act(r)
			}
			kind := m.name
			if kind == rolling {
				kind = term
			}
			signals := r.sent[kind] // before those that end the run
			v := r.finish()
			most := 0
			for _, replay := range v.Replays {
				most = max(most, replay.records)
			}
			r.say("%s: %d signals, pause of each shard: %s; %v; the most records in a replay: %d; the goal: %s",
				m.name, len(signals), spread(pauses(r.evidence().calls, signals)), v, most, m.goal)
			if kind == term && v.Repeated != 0 {
				t.Errorf("%d repeats after clean stops", v.Repeated)
			}
		})
	}
}

// held are the shards whose last call was the worker's.
func (r *run) held(p *process) []string {
	owners := map[string]call{}
	calls, _, _, _ := r.journal.sofar()
	for _, c := range calls {
		if c.start.After(owners[c.shard].start) {
			owners[c.shard] = c
		}
	}
	var shards []string
	for shard, c := range owners {
		if c.worker == p.name {
			shards = append(shards, shard)
		}
	}
	return shards
}

// busiest is the slot whose worker holds the most shards.
func (r *run) busiest() *slot {
	return slices.MaxFunc(r.group.slots, func(a, b *slot) int {
		return len(r.held(r.group.in(a))) - len(r.held(r.group.in(b)))
	})
}

// awaitWork waits until a worker has got a share, after a moment.
func (r *run) awaitWork(p *process, after time.Time) {
	r.await(sharePatience, p.name+" to handle anything", r.eachCall(func(c call) bool { return c.worker == p.name && c.start.After(after) }))
}

// awaitElsewhere waits until handlers of others have started on the shards after a moment.
func (r *run) awaitElsewhere(what string, shards []string, not *process, after time.Time) {
	started := map[string]bool{}
	r.await(patience, "others to handle what "+not.name+" held", r.eachCall(func(c call) bool {
		if c.worker != not.name && c.start.After(after) && slices.Contains(shards, c.shard) {
			started[c.shard] = true
		}
		return len(started) == len(shards)
	}))
	r.say("%s of %s: %s", what, not.name, spread(pauses(r.evidence().calls, []sent{{not.name, after}})))
}

// endAndReplace ends a slot's worker, waits until others handle its shards, and starts a new one. That gets its share
// in its own time: what was moved for balance rests for a minute.
func (r *run) endAndReplace(s *slot, end func(*slot)) {
	p, at := r.group.in(s), time.Now()
	shards := r.held(p)
	end(s)
	fate, _, _ := p.result()
	r.awaitElsewhere(fate, shards, p, at)
	fresh := r.start(s)
	r.await(patience, fresh.name+" in the group", func() bool { return r.joined(fresh) })
}

// away is how long a worker is frozen or unplugged: five failover times.
const away = 30 * time.Second

// sendAway does something to a slot's worker that lasts for away, and waits until others handle its shards, and until it
// has joined again and got a share.
func (r *run) sendAway(s *slot, send func(*slot)) {
	p, at := r.group.in(s), time.Now()
	shards := r.held(p)
	send(s)
	r.awaitElsewhere("away", shards, p, at)
	r.heals.Wait()
	r.await(patience, p.name+" to learn that it was away", func() bool {
		_, events, _, _ := r.journal.sofar()
		return slices.ContainsFunc(events, func(e event) bool { return e.worker == p.name && e.kind == "fenced" && e.at.After(at) })
	})
	r.awaitWork(p, at.Add(away))
}

func (r *run) unplug(s *slot) {
	r.signalled(wireDown, r.group.in(s), time.Now())
	r.do(step{kind: wireDown, slot: s.number - 1, length: away, weather: weather{lostIn: 1, lostOut: 1}})
}

// halfOpenKinesis kills a worker's connections to Kinesis without a word, and waits until all is handled that was put
// before it can have known.
func (r *run) halfOpenKinesis() {
	at := time.Now()
	r.group.slots[0].kinesis.set(halfOpen)
	behind := map[string]bool{}
	r.await(sharePatience, "every shard to be handled again", r.eachCall(func(c call) bool {
		if c.start.Sub(at) > 10*time.Second {
			behind[c.shard] = true
		}
		return len(behind) == r.shards
	}))
	still := map[string]time.Duration{} // the longest time without a handler, of each shard
	last := map[string]time.Time{}
	for _, c := range r.evidence().calls {
		if before, ok := last[c.shard]; ok && c.start.After(at) {
			still[c.shard] = max(still[c.shard], c.start.Sub(before))
		}
		last[c.shard] = c.start
	}
	r.say("%s: the longest standstill of each shard: %s", halfOpen, spread(slices.Sorted(maps.Values(still))))
}

func (r *run) roll() {
	for _, s := range r.group.slots {
		r.endAndReplace(s, func(s *slot) { r.term(s) })
		r.awaitWork(r.group.in(s), r.began)
	}
}
