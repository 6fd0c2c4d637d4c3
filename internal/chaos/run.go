//go:build unix

package chaos

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// patience is how long anything may take that has to come true once nothing is harmed any more.
const patience = time.Minute

// sharePatience is longer: a lease that was moved for balance rests for a minute.
const sharePatience = 2 * time.Minute

// stage is what a run begins with.
type stage struct {
	shards, workers      int
	failover, checkpoint time.Duration
	handling             time.Duration // see Worker; 0: 5 ms
	failing              int           // see Worker
	wired                bool          // each worker in a network namespace of its own: only inPrivateNetwork
	keep                 bool          // the journal and the logs, also of a run that passes
}

// run is one run.
type run struct {
	testing.TB
	stage
	ctx      context.Context
	began    time.Time
	servers  *servers
	group    *group
	producer *producer
	journal  journal

	besides       sync.WaitGroup // all that runs beside the test
	heals         sync.WaitGroup // harm that lasts
	stopProducing func()
	produced      chan error
	stopFollowing func()

	mu    sync.Mutex
	harms []harm
	sent  map[string][]sent // signals, by kind
}

// newRun starts a group at work: producer, workers, and each shard handled.
func newRun(t testing.TB, on stage, s *servers) *run {
	r := &run{TB: t, stage: on, ctx: t.Context(), began: time.Now(), servers: s, produced: make(chan error, 1), sent: map[string][]sent{}}
	r.must(s.createStream(r.ctx, on.shards))
	var err error
	r.group, err = newGroup(t.TempDir(), on.workers, on.wired, s.kinesis, s.store,
		Worker{Failover: on.failover, Checkpoint: on.checkpoint, Handling: cmp.Or(on.handling, 5*time.Millisecond), Failing: on.failing})
	following, stopFollowing := context.WithCancel(context.WithoutCancel(r.ctx))
	producing, stopProducing := context.WithCancel(r.ctx)
	r.stopFollowing, r.stopProducing = stopFollowing, stopProducing
	t.Cleanup(func() {
		stopProducing()
		r.heals.Wait()
		r.group.end()
		stopFollowing()
		r.besides.Wait()
		if t.Failed() || on.keep {
			r.keepAll()
		}
	})
	r.must(err)
	r.besides.Go(func() { r.journal.follow(following, r.group.journal()) })
	r.besides.Go(func() {
		watchStalls(following.Done(), on.failover, func(from, to time.Time) { // the servers', perhaps
			r.mu.Lock()
			defer r.mu.Unlock()
			r.harms = append(r.harms, harm{kind: "stall of all", slot: -1, from: from, to: to})
		})
	})
	r.producer = newProducer(s.client, on.shards)
	r.besides.Go(func() { r.produced <- r.producer.run(producing) })
	for _, slot := range r.group.slots {
		r.start(slot)
	}
	handled := map[string]bool{}
	r.await(patience, "handlers on every shard", r.eachCall(func(c call) bool {
		handled[c.shard] = true
		return len(handled) >= on.shards
	}))
	return r
}

func (r *run) must(err error) {
	if err != nil {
		r.Helper()
		r.Fatal(err)
	}
}

func (r *run) say(format string, args ...any) {
	r.Logf("%6.1f s  %s", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// await waits until something holds.
func (r *run) await(patience time.Duration, what string, holds func() bool) {
	r.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		if _, _, _, err := r.journal.sofar(); err != nil {
			r.Fatal(err)
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			r.Fatalf("waited %v in vain for %s\n%s", patience, what, r.state())
		}
	}
}

// eachCall gives every call once, also those that are still to come, to a condition for await.
func (r *run) eachCall(holds func(call) bool) func() bool {
	seen, held := 0, false
	return func() bool {
		calls, _, _, _ := r.journal.sofar()
		for ; seen < len(calls); seen++ {
			held = holds(calls[seen]) || held
		}
		return held
	}
}

// sleep is the pace of what is done, not a way to wait for it.
func (r *run) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// start starts a worker in a slot; nil if that fails.
func (r *run) start(s *slot) *process {
	p, err := r.group.start(s)
	if err != nil {
		r.Error(err)
	}
	return p
}

// revive starts workers again that have ended by themselves: with a cause, since a worker that cannot reach its
// servers when it starts says so and ends. Without one it is a failure.
func (r *run) revive() {
	for _, s := range r.group.slots {
		p := r.group.in(s)
		if p.running() {
			continue
		}
		fate, ended, err := p.result()
		if fate != "" {
			continue // whoever did it starts the next one
		}
		causes := causes(r.harmsSoFar(), p.name, p.started, ended)
		r.say("%s ended by itself, amid %v: %v: %s", p.name, causes, err, lastLine(p.log))
		if len(causes) == 0 {
			r.Errorf("%s ended without a cause: %v", p.name, err)
		}
		r.start(s)
	}
}

func lastLine(file string) string {
	text, _ := os.ReadFile(file)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}

func (r *run) joined(p *process) bool {
	_, events, _, _ := r.journal.sofar()
	for _, e := range events {
		if e.worker == p.name && e.kind == "joined" {
			return true
		}
	}
	return false
}
