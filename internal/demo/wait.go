package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
)

// openIDs are the open shards that have keys.
func (r *run) openIDs(ctx context.Context) ([]string, error) {
	open, err := openShards(ctx, r.client, r.producer.feed.keys())
	var ids []string
	for _, s := range open {
		if len(s.hashes) > 0 {
			ids = append(ids, s.id)
		}
	}
	return ids, err
}

// awaitStarts waits until a handler has started after the moment, and not on the worker named, for
// every shard. With a worker named, the times that it took are pauses that a signal caused.
func (r *run) awaitStarts(ctx context.Context, after time.Time, except string, of func(context.Context) ([]string, error)) error {
	wanted, err := of(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := map[string]handled{}
	for seen := 0; len(started) < len(wanted); {
		calls, err := r.group.handledSoFar()
		if err != nil {
			return err
		}
		for _, c := range calls[seen:] {
			if _, ok := started[c.shard]; !ok && c.worker != except && c.at.After(after) && slices.Contains(wanted, c.shard) {
				started[c.shard] = c
			}
		}
		seen = len(calls)
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v only %s of %s are handled: %w", patience, join(started), strings.Join(wanted, ", "), context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(started)) {
		c := started[shard]
		took := c.at.Sub(after)
		if except != "" {
			r.pauses = append(r.pauses, pause{shard, took})
		}
		r.say("  %s is handled by %s after %.2f s", shard, c.worker, took.Seconds())
	}
	return nil
}

// awaitShare waits until a worker that joined handles records: it got shards from live ones.
func (r *run) awaitShare(ctx context.Context, p *process) error {
	deadline := time.Now().Add(sharePatience)
	for seen := 0; ; {
		calls, err := r.group.handledSoFar()
		if err != nil {
			return err
		}
		for _, c := range calls[seen:] {
			if c.worker == p.name {
				r.say("  %s has got %s", p.name, c.shard)
				return nil
			}
		}
		seen = len(calls)
		if time.Now().After(deadline) {
			return fmt.Errorf("worker %s has no shard after %v", p.name, sharePatience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// finish waits until all that was put is handled, and stops the workers.
func (r *run) finish(ctx context.Context) error {
	puts := r.producer.sofar()
	r.scene.end()
	r.scene.doing("the workers finish and stop")
	r.say("the producer ends after %d records; the workers finish and stop", len(puts))
	left := map[string]bool{}
	for _, p := range puts {
		left[p.sequence] = true
	}
	deadline := time.Now().Add(patience)
	for seen := 0; len(left) > 0 && time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		calls, err := r.group.handledSoFar()
		if err != nil {
			return err
		}
		for _, c := range calls[seen:] {
			delete(left, c.sequence)
		}
		seen = len(calls)
	}
	running := r.group.running()
	stopped := "stopped"
	for _, p := range running {
		p.fate.Store(&stopped)
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stopping worker %s: %w", p.name, err)
		}
	}
	for _, p := range running {
		if err := r.exited(p); err != nil {
			return err
		}
	}
	return ctx.Err()
}
