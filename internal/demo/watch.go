package demo

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/lease"
)

// watchInterval is the time between two looks at a run.
const watchInterval = 100 * time.Millisecond

// watcher puts together what there is to see of a run.
type watcher struct {
	run *run
	*tally
	putsSeen, callsSeen int
	meters              map[string]*meter // by what they measure

	shards []types.Shard
	leases map[string]lease.Lease // by shard; a finished shard's may be gone already
}

// watch shows the run to Watch until ctx is done.
func (r *run) watch(ctx context.Context) {
	w := &watcher{run: r, tally: newTally(), meters: map[string]*meter{}}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for n := 0; ; n++ {
		w.look(ctx, n)
		if ctx.Err() != nil {
			return
		}
		r.Watch(w.state(time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look takes in what is new. What cannot be read now is shown as it was: the story fails by itself, if
// it is to fail.
func (w *watcher) look(ctx context.Context, n int) {
	puts := w.run.producer.sofar()
	for _, p := range puts[w.putsSeen:] {
		w.addPut(p)
	}
	w.putsSeen = len(puts)
	calls, _ := w.run.group.handledSoFar()
	for _, c := range calls[w.callsSeen:] {
		w.addCall(c)
	}
	w.callsSeen = len(calls)
	if items, err := w.run.group.leases(ctx); err == nil && n%2 == 0 {
		w.leases = map[string]lease.Lease{}
		for _, it := range items {
			w.leases[it.Key.Shard] = it.Lease
		}
	}
	if n%5 == 0 {
		if out, err := w.run.client.ListShards(ctx, &kinesis.ListShardsInput{StreamName: aws.String(streamName)}); err == nil {
			w.shards = out.Shards
		}
	}
}

func (w *watcher) state(now time.Time) State {
	s := State{
		Time: now.Sub(w.run.began), Put: w.put, Handled: w.done,
		Repeated: w.repeated, Lost: w.passed, Disorders: w.disorders,
		PutRate: w.rate(now, "put", w.put), HandledRate: w.rate(now, "handled", w.done),
	}
	w.run.scene.show(&s)
	owned, dead := map[string]int{}, map[string]bool{}
	running := w.run.group.running()
	workers := w.run.group.all()
	for _, p := range workers {
		dead[p.name] = !slices.Contains(running, p)
	}
	for _, shard := range inFamilies(w.shards) {
		held, ok := w.leases[shard.ID]
		shard.Put, shard.Handled = w.puts[shard.ID], w.handled[shard.ID]
		shard.Rate = w.rate(now, shard.ID, shard.Handled)
		shard.Owner, _, _ = strings.Cut(held.Owner, "@")
		shard.Orphan = dead[shard.Owner]
		shard.Done = held.Checkpoint.IsShardEnd() || !ok && !shard.Open && shard.Handled > 0
		if ok {
			shard.Unsaved = w.unsaved(shard.ID, held.Checkpoint)
		}
		if shard.Done {
			shard.Owner, shard.Orphan = "", false
		}
		owned[shard.Owner]++
		s.Shards = append(s.Shards, shard)
	}
	for _, p := range workers {
		worker := WorkerState{
			Name: p.name, Process: p.cmd.Process.Pid, Shards: owned[p.name],
			Handled: w.calls[p.name], Rate: w.rate(now, p.name, w.calls[p.name]),
		}
		switch fate := p.fate.Load(); {
		case fate != nil && *fate == "stopped" && !dead[p.name]:
			worker.Fate = "stopping"
		case fate != nil:
			worker.Fate = *fate
		case dead[p.name]:
			worker.Fate = "died"
		}
		s.Workers = append(s.Workers, worker)
	}
	return s
}

func (w *watcher) rate(now time.Time, of string, n int) float64 {
	if w.meters[of] == nil {
		w.meters[of] = &meter{}
	}
	return w.meters[of].rate(now, n)
}

// inFamilies orders the shards so that each stands below its parents: below the last of them.
func inFamilies(shards []types.Shard) []ShardState {
	children := map[string][]ShardState{}
	for _, s := range shards {
		state := ShardState{ID: *s.ShardId, Open: s.SequenceNumberRange.EndingSequenceNumber == nil}
		for _, parent := range []*string{s.ParentShardId, s.AdjacentParentShardId} {
			if parent != nil {
				state.Parents = append(state.Parents, *parent)
			}
		}
		slices.Sort(state.Parents)
		below := ""
		if n := len(state.Parents); n > 0 {
			below = state.Parents[n-1]
		}
		children[below] = append(children[below], state)
	}
	var ordered []ShardState
	var visit func(parent string, depth int)
	visit = func(parent string, depth int) {
		for _, s := range children[parent] {
			s.Depth = depth
			ordered = append(ordered, s)
			visit(s.ID, depth+1)
		}
	}
	visit("", 0)
	return ordered
}
