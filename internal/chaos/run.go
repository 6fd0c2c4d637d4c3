//go:build unix

package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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
	failing              int  // see Worker
	keep                 bool // the journal and the logs, also of a run that passes
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
	r.group, err = newGroup(t.TempDir(), on.workers, s.kinesis, s.store,
		Worker{Failover: on.failover, Checkpoint: on.checkpoint, Handling: 5 * time.Millisecond, Failing: on.failing})
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

// harm notes that something is being done, for ever or until over is called; its effects may last some more.
func (r *run) harm(h harm) (over func(more time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.from, h.to = time.Now(), forever
	r.harms = append(r.harms, h)
	at := len(r.harms) - 1
	return func(more time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.harms[at].to = time.Now().Add(more)
	}
}

// harmsSoFar are what was done, and what the workers found that befell them.
func (r *run) harmsSoFar() []harm {
	r.mu.Lock()
	harms := append([]harm(nil), r.harms...)
	r.mu.Unlock()
	_, _, stalls, _ := r.journal.sofar()
	for _, s := range stalls {
		harms = append(harms, harm{kind: "stall", worker: s.worker, slot: slotOf(s.worker), from: s.from, to: s.to})
	}
	return harms
}

var forever = time.Unix(1<<40, 0)

// kill kills a slot's worker. It returns nil if that has just ended by itself.
func (r *run) kill(s *slot) *process {
	p := r.group.in(s)
	r.harm(harm{kind: kill, worker: p.name, slot: s.number})
	if !r.signal(p, kill, syscall.SIGKILL) {
		return nil
	}
	<-p.done
	return p
}

// freeze stops a slot's worker for a while.
func (r *run) freeze(s *slot, length time.Duration) *process {
	p := r.group.in(s)
	over := r.harm(harm{kind: freeze, worker: p.name, slot: s.number})
	at := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		r.say("%s cannot be stopped: %v", p.name, err)
		return p
	}
	r.signalled(freeze, p, at)
	r.heal(length, func() {
		p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // at the end of a run it may be gone
		over(r.failover / 3)
	})
	return p
}

// term stops a slot's worker cleanly, and waits for its end. It returns nil if that has just ended by itself.
func (r *run) term(s *slot) *process {
	p := r.group.in(s)
	asked := time.Now()
	if !r.signal(p, term, syscall.SIGTERM) {
		return nil
	}
	if err := p.exited(context.WithoutCancel(r.ctx), patience); err != nil {
		r.Error(err)
		return p
	}
	if _, ended, err := p.result(); err != nil {
		harms := causes(r.harmsSoFar(), p.name, asked, ended)
		r.say("%s stopped with %v, amid %v: %s", p.name, err, harms, lastLine(p.log))
		if len(harms) == 0 {
			r.Errorf("%s did not stop cleanly: %v", p.name, err)
		}
	}
	return p
}

// signal ends a process. False: it had ended by itself.
func (r *run) signal(p *process, fate string, signal syscall.Signal) bool {
	at, err := p.make(fate, signal)
	if err != nil {
		r.say("%s cannot be ended: %v", p.name, err)
		return false
	}
	r.signalled(fate, p, at)
	return true
}

func (r *run) signalled(kind string, p *process, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[kind] = append(r.sent[kind], sent{p.name, at})
}

// heal undoes a harm after a while, or when the run is over.
func (r *run) heal(after time.Duration, undo func()) {
	r.heals.Go(func() {
		r.sleep(after)
		undo()
	})
}

// do does a step of a plan.
func (r *run) do(s step) {
	var at *slot
	if s.slot >= 0 {
		at = r.group.slots[s.slot]
	}
	switch {
	case s.kind == kill:
		if r.kill(at) != nil {
			r.heal(s.length, func() { r.start(at) })
		}
	case s.kind == freeze:
		r.freeze(at, s.length)
	case s.kind == term:
		r.heals.Go(func() {
			if r.term(at) != nil {
				r.start(at)
			}
		})
	case s.kind == rolling:
		r.heals.Wait()
		for _, s := range r.group.slots {
			r.revive()
			r.term(s)
			p := r.start(s)
			if p == nil {
				return
			}
			r.await(patience, p.name+" in the group", func() bool { return r.joined(p) || !p.running() })
		}
	case s.kind == restart:
		over := r.harm(harm{kind: restart, slot: -1})
		r.servers.store.close()
		r.heal(s.length, func() {
			if err := r.servers.store.open(); err != nil {
				r.Error(err)
			}
			over(r.failover / 3) // connections are made anew, and answers were lost
		})
	case s.kind == split:
		r.must(r.producer.split(r.ctx))
	case s.kind == merge:
		r.must(r.producer.merge(r.ctx, s.pick))
	default:
		proxy := at.kinesis
		if s.onto == "store" {
			proxy = at.store
		}
		over := r.harm(harm{kind: s.kind, slot: at.number})
		proxy.set(s.mode)
		if s.mode == halfOpen {
			over(r.failover) // until the worker knows
			return
		}
		r.heal(s.length, func() {
			proxy.set(pass)
			over(r.failover / 3)
		})
	}
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

// finish lets everything heal, waits until all that was put is handled, stops the workers, and judges.
func (r *run) finish() *verdict {
	r.heals.Wait()
	r.revive()
	r.stopProducing()
	if err := <-r.produced; err != nil {
		r.Fatal(err)
	}
	puts := r.producer.sofar()
	left := make(map[string]bool, len(puts))
	for _, p := range puts {
		left[p.shard+" "+p.sequence] = true
	}
	r.say("the faults are over; %d records were put", len(puts))
	healed := time.Now()
	r.await(sharePatience, "all records to be handled", r.eachCall(func(c call) bool {
		delete(left, c.shard+" "+c.sequence)
		return len(left) == 0
	}))
	r.say("all of them were handled %.1f s later", time.Since(healed).Seconds())
	for _, s := range r.group.slots {
		r.term(s)
	}
	r.stopFollowing()
	r.besides.Wait()
	r.released()
	r.silent()
	v := judge(r.evidence())
	for _, w := range v.Waits {
		r.say("a record of %s, put at %.1f s, waited %.1f s for %s", w.shard, w.at.Sub(r.began).Seconds(), w.took.Seconds(), w.worker)
	}
	for _, again := range v.Replays {
		r.say("%d records of %s again, by %s: %.2f s of what %s had done (%s)",
			again.records, again.shard, again.after, again.held.Seconds(), again.before, strings.Join(again.harms, ", "))
	}
	for _, f := range v.Faults {
		r.Error(f)
	}
	if clock := time.Since(r.began) - time.Now().Round(0).Sub(r.began.Round(0)); clock.Abs() > 20*time.Millisecond {
		r.Errorf("the machine's clock was set by %v: nothing that compares times holds", clock)
	}
	return v
}

func (r *run) evidence() evidence {
	calls, events, _, err := r.journal.sofar()
	r.must(err)
	return evidence{
		puts: r.producer.sofar(), calls: calls, events: events, harms: r.harmsSoFar(),
		checkpoint: r.checkpoint, failover: r.failover,
	}
}

// released checks that clean stops have left no lease owned.
func (r *run) released() {
	items, err := r.servers.leases(context.WithoutCancel(r.ctx))
	r.must(err)
	for _, item := range items {
		if item.Lease.Owner != "" {
			r.Errorf("all workers have stopped, but %s is owned by %s", item.Key.Shard, item.Lease.Owner)
		}
	}
}

// silent checks that nothing which the workers have written, but the journal, has a key or data of a record, or tells
// of a data race (if this binary looks for them).
func (r *run) silent() {
	size := 0
	for _, p := range r.group.processes() {
		text, err := os.ReadFile(p.log)
		r.must(err)
		size += len(text)
		for _, canary := range []string{canaryKey, canaryData, "DATA RACE"} {
			if at := bytes.Index(text, []byte(canary)); at >= 0 {
				r.Errorf("the log of %s has %s: %q", p.name, canary, text[max(0, at-200):at+len(canary)])
			}
		}
	}
	r.say("%d KB of the workers' logs, at debug level with events and Stats, hold no key and no data", size>>10)
}

// state is what there is to see of a group that hangs.
func (r *run) state() string {
	var b strings.Builder
	items, err := r.servers.leases(context.WithoutCancel(r.ctx))
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	for _, item := range items {
		fmt.Fprintf(&b, "%s: owner %q, checkpoint %v\n", item.Key.Shard, item.Lease.Owner, item.Lease.Checkpoint)
	}
	for _, p := range r.group.processes() {
		if p.running() {
			fmt.Fprintf(&b, "%s runs; its last line: %s\n", p.name, lastLine(p.log))
		}
	}
	return b.String()
}

// keepAll copies the journal and the logs to where they outlive the run.
func (r *run) keepAll() {
	dir, err := os.MkdirTemp("", "leat-chaos-")
	if err == nil {
		err = errors.Join(err, os.CopyFS(filepath.Join(dir, "run"), os.DirFS(r.group.dir)))
	}
	r.Logf("the journal and the workers' logs are kept in %s (%v)", dir, err)
}
