package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// rolling restarts all workers of a group under load, one after the other: each is stopped cleanly, and a new
// one starts in its place and gets its share. It prints how long the shards stood still.
func (d Demo) rolling(ctx context.Context) error {
	on := stage{shards: 10, workers: 5, keys: 16}
	r, err := d.play(ctx, on, func(ctx context.Context, r *run) error { return r.restart(ctx, on.workers) })
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "\nhow long shards stood still when %d workers were restarted, in seconds:\n%-44s %5s  %5s  %6s  %5s\n",
		on.workers, "", "times", "min", "median", "max")
	row := func(what string, took []time.Duration) {
		slices.Sort(took)
		fmt.Fprintf(d.Out, "%-44s %5d  %5.2f  %6.2f  %5.2f\n", what, len(took),
			took[0].Seconds(), median(took).Seconds(), took[len(took)-1].Seconds())
	}
	var stops, moves []time.Duration
	for _, p := range r.pauses {
		stops = append(stops, p.took)
	}
	gaps := gaps(r.calls)
	for _, shard := range slices.Sorted(maps.Keys(gaps)) {
		row("  "+shard+", changes of owner", slices.Clone(gaps[shard]))
		moves = append(moves, gaps[shard]...)
	}
	row("all changes of owner, between handler starts", moves)
	row("clean stops, from SIGTERM to the next start", stops)
	fmt.Fprintf(d.Out, "%s\n", r.verdict)
	if r.verdict.Lost+r.verdict.OutOfOrder+r.verdict.Repeated != 0 {
		return ErrBroken
	}
	return nil
}

// restart restarts the n oldest workers.
func (r *run) restart(ctx context.Context, n int) error {
	for i, old := range r.group.running()[:n] {
		r.scene.round(i+1, n)
		r.calm(ctx)
		if err := r.end(ctx, old, syscall.SIGTERM); err != nil {
			return err
		}
		if err := r.join(ctx); err != nil {
			return err
		}
	}
	return nil
}

// gaps are the times between the last handler start of a shard's owner and the first one of its next
// owner, by shard.
func gaps(calls []handled) map[string][]time.Duration {
	found := map[string][]time.Duration{}
	last := map[string]handled{}
	for _, c := range calls {
		if before, ok := last[c.shard]; ok && before.worker != c.worker {
			found[c.shard] = append(found[c.shard], c.at.Sub(before.at))
		}
		last[c.shard] = c
	}
	return found
}

func median(sorted []time.Duration) time.Duration {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
