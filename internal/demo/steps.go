package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// calm lets the group run for a while, so that each step meets it at work.
func (r *run) calm(ctx context.Context) {
	r.scene.doing("all is calm")
	select {
	case <-ctx.Done():
	case <-time.After(calmTime):
	}
}

// round kills a worker, splits a shard, merges two, and stops a worker cleanly.
func (r *run) round(ctx context.Context) error {
	r.calm(ctx)
	if err := r.endBusiest(ctx, syscall.SIGKILL); err != nil {
		return err
	}
	r.calm(ctx)
	if _, err := r.startWorker(); err != nil {
		return err
	}
	if err := r.reshard(ctx, func(open []openShard) (string, error) {
		parent, err := split(ctx, r.client, open)
		return "split " + parent, err
	}); err != nil {
		return err
	}
	r.calm(ctx)
	if err := r.reshard(ctx, func(open []openShard) (string, error) {
		a, b, err := merge(ctx, r.client, open)
		return fmt.Sprintf("merged %s and %s", a, b), err
	}); err != nil {
		return err
	}
	r.calm(ctx)
	if err := r.endBusiest(ctx, syscall.SIGTERM); err != nil {
		return err
	}
	r.calm(ctx)
	_, err := r.startWorker()
	return err
}

func (r *run) startWorker() (*process, error) {
	p, err := r.group.start()
	if err == nil {
		r.say("started worker %s (process %d)", p.name, p.cmd.Process.Pid)
	}
	return p, err
}

// join starts one more worker, which gets its share from live ones.
func (r *run) join(ctx context.Context) error {
	p, err := r.startWorker()
	if err != nil {
		return err
	}
	r.scene.doing("%s joins, and waits for its share of the shards", p.name)
	return r.awaitShare(ctx, p)
}

// endBusiest ends the worker with the most shards.
func (r *run) endBusiest(ctx context.Context, signal syscall.Signal) error {
	items, err := r.group.leases(ctx)
	if err != nil {
		return err
	}
	return r.end(ctx, r.group.busiest(items), signal)
}

// end ends a worker with a signal, and waits until every shard that it held is handled by another.
func (r *run) end(ctx context.Context, p *process, signal syscall.Signal) error {
	items, err := r.group.leases(ctx)
	if err != nil {
		return err
	}
	at := time.Now()
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("ending worker %s: %w", p.name, err)
	}
	verb, doing, fate := "stopped worker %s cleanly (SIGTERM)", "clean stop of %s: it gives its shards back", "stopped"
	if signal == syscall.SIGKILL {
		verb, doing, fate = "killed worker %s (SIGKILL)", "kill -9 of %s: the others wait until its lease must be over", "killed"
	}
	p.fate.Store(&fate)
	r.scene.doing(doing, p.name)
	if signal == syscall.SIGKILL {
		<-p.done
		// It writes no more. Where its checkpoints stand now is where others go on.
		if items, err = r.group.leases(ctx); err != nil {
			return err
		}
		r.deaths = append(r.deaths, death{worker: p.name, checkpoints: owned(items, p.name)})
	}
	held := owned(items, p.name)
	r.say(verb+", which held %s", p.name, join(held))
	if err := r.awaitStarts(ctx, at, p.name, func(context.Context) ([]string, error) {
		return slices.Sorted(maps.Keys(held)), nil
	}); err != nil {
		return err
	}
	if signal == syscall.SIGTERM {
		return r.exited(p)
	}
	return nil
}

// exited waits for a worker that was asked to stop; it has to end well.
func (r *run) exited(p *process) error {
	select {
	case <-p.done:
	case <-time.After(patience):
		return fmt.Errorf("worker %s did not stop within %v", p.name, patience)
	}
	if p.err != nil {
		return fmt.Errorf("worker %s stopped with %w", p.name, p.err)
	}
	return nil
}

// reshard changes the stream and waits until the new shards are handled.
func (r *run) reshard(ctx context.Context, change func([]openShard) (string, error)) error {
	open, err := openShards(ctx, r.client, r.producer.feed.keys())
	if err != nil {
		return err
	}
	what, err := change(open)
	if err != nil {
		return err
	}
	r.say("%s", what)
	r.scene.doing("%s: the new shards wait for their parents' end", what)
	return r.awaitStarts(ctx, time.Now(), "", func(ctx context.Context) ([]string, error) {
		now, err := r.openIDs(ctx)
		isNew := func(id string) bool { return !slices.ContainsFunc(open, func(s openShard) bool { return s.id == id }) }
		return slices.DeleteFunc(now, func(id string) bool { return !isNew(id) }), err
	})
}
