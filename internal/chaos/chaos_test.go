//go:build unix

package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

var (
	flagFor      = flag.Duration("chaos.for", 0, "how long faults go on; 0: a short run")
	flagSeed     = flag.Uint64("chaos.seed", 0, "of the plan; 0: a random one")
	flagKeep     = flag.Bool("chaos.keep", false, "keep the journal and the workers' logs, also of a run that passes")
	flagOnly     = flag.String("chaos.only", "", "the kinds of harm that a plan may have, with commas; empty: all")
	flagHandling = flag.Duration("chaos.handling", 0, "the most that a handler takes; 0: 5 ms")
	flagFailover = flag.Duration("chaos.failover", 3*time.Second, "the workers' FailoverTime")
)

func TestMain(m *testing.M) {
	RunWorker()
	flag.Parse()
	flag.Set("test.parallel", "3") //nolint:errcheck // the runs of TestChaos: they wait more than they work
	os.Exit(m.Run())
}

// TestChaos: whatever happens to workers and connections, nothing is lost or out of order, no handler starts on
// another's shard, and no more is repeated than a crash may repeat. The plan repeats exactly, the moments of
// real processes do not.
func TestChaos(t *testing.T) {
	for _, test := range []struct {
		name    string
		servers func(testing.TB) *servers
		short   time.Duration
		wired   bool
	}{
		{"local", localServers, 40 * time.Second, false},
		{"npm", npmServers, 25 * time.Second, false},
		{"netns", localServers, 20 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.wired && !inPrivateNetwork(t) {
				return
			}
			lasts, on := test.short, stage{
				shards: 4, workers: 4, wired: test.wired, failover: *flagFailover, checkpoint: time.Second,
				handling: *flagHandling, failing: 500, keep: *flagKeep,
			}
			if *flagFor > 0 {
				lasts, on.shards, on.workers = *flagFor, 6, 5
			}
			seed := *flagSeed
			if seed == 0 {
				seed = rand.Uint64N(1e6)
			}
			var only []string
			if *flagOnly != "" {
				only = strings.Split(*flagOnly, ",")
			}
			plan := newPlan(seed, lasts, on, only...)
			if len(plan.steps) == 0 {
				t.Fatalf("no harm is %q", only)
			}
			t.Log(plan)
			r := newRun(t, on, test.servers(t))
			r.say("the group is at work")
			var done []string
			for began, steps := time.Now(), plan.steps; len(steps) > 0 && time.Since(began) < lasts; steps = steps[1:] {
				r.sleep(steps[0].gap)
				r.revive()
				r.say("%v", steps[0])
				r.do(steps[0])
				done = append(done, steps[0].kind)
			}
			v := r.finish()
			r.say("seed %d: %d faults in %.0f s (%s); %v; pauses after kills: %s", seed, len(done), time.Since(r.began).Seconds(),
				tally(done), v, spread(pauses(r.evidence().calls, r.sent[kill])))
		})
	}
}
