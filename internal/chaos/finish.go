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
	"time"
)

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
