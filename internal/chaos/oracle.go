//go:build unix

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// evidence is all that is known of a run from outside.
type evidence struct {
	puts       []put
	calls      []call
	events     []event
	harms      []harm
	checkpoint time.Duration // the workers' CheckpointInterval
	failover   time.Duration // and their FailoverTime
}

// epoch is what one worker handled of a shard under one token.
type epoch struct {
	shard  string
	token  int64
	worker string
	from   time.Time // owned since then, at the latest
	calls  []call    // by start
	index  []int     // of each, among the records of the shard
}

func (e *epoch) first() int { return e.index[0] }

func (e *epoch) last() int { return e.index[len(e.index)-1] }

func (e *epoch) lastStart() time.Time { return e.calls[len(e.calls)-1].start }

// judge compares what was put with what the handlers did.
func judge(ev evidence) *verdict {
	v := &verdict{Records: len(ev.puts)}
	shards := v.order(ev)
	for _, epochs := range shards {
		for i, e := range epochs {
			if i > 0 {
				v.change(ev, epochs[i-1], e)
			}
			for _, later := range epochs[i+1:] {
				for _, c := range e.calls {
					if c.start.After(later.from) {
						v.fault(&v.Stale, "%s started %s of %s with token %d, %v after %s had it with token %d",
							c.worker, c.sequence, c.shard, c.token, c.start.Sub(later.from), later.worker, later.token)
					}
				}
			}
		}
	}
	return v
}

// order checks every call by itself and in its key and epoch, and returns each shard's epochs by token.
func (v *verdict) order(ev evidence) map[string][]*epoch {
	index := indexed(ev.puts)
	highest := map[string]int{} // of a key
	times := map[string]int{}   // that a record was handled
	all := map[string]map[int64]*epoch{}
	calls := slices.SortedStableFunc(slices.Values(ev.calls), func(a, b call) int { return a.start.Compare(b.start) })
	for _, c := range calls {
		record := c.shard + " " + c.sequence
		at, ok := index[record]
		if !ok || at.key != c.key || at.n != c.n {
			v.fault(&v.OutOfOrder, "%s handled %s of %s, number %d of %s, which was not put", c.worker, c.sequence, c.shard, c.n, c.key)
			continue
		}
		if times[record]++; times[record] > 1 {
			v.Repeated++
		} else {
			v.waited(ev, wait{at.put, c.start.Sub(at.at), c.worker})
		}
		if c.n > highest[c.key]+1 {
			v.fault(&v.OutOfOrder, "%s handled number %d of %s after %d, in %s", c.worker, c.n, c.key, highest[c.key], c.shard)
		}
		highest[c.key] = max(highest[c.key], c.n)

		if all[c.shard] == nil {
			all[c.shard] = map[int64]*epoch{}
		}
		e := all[c.shard][c.token]
		switch {
		case e == nil:
			e = &epoch{shard: c.shard, token: c.token, worker: c.worker, from: c.start}
			all[c.shard][c.token] = e
		case e.worker != c.worker:
			v.fault(&v.Stale, "%s and %s both handle %s with token %d", e.worker, c.worker, c.shard, c.token)
		case at.index != e.last()+1:
			v.fault(&v.OutOfOrder, "%s handled record %d of %s after record %d", c.worker, at.index, c.shard, e.last())
		}
		e.calls, e.index = append(e.calls, c), append(e.index, at.index)
	}
	for record, p := range index {
		if times[record] == 0 {
			v.fault(&v.Lost, "number %d of %s, record %d of %s, was never handled", p.n, p.key, p.index, p.shard)
		}
	}
	shards := map[string][]*epoch{}
	for shard, byToken := range all {
		for _, token := range slices.Sorted(maps.Keys(byToken)) {
			shards[shard] = append(shards[shard], byToken[token])
		}
		for i, e := range shards[shard] {
			e.took(ev.events, shards[shard][:i])
		}
	}
	return shards
}

// took finds when the worker said that it had taken the shard: that may be long before the next record comes.
func (e *epoch) took(events []event, earlier []*epoch) {
	var ended time.Time // its own last epoch of the shard
	for _, b := range earlier {
		if b.worker == e.worker {
			ended = b.lastStart()
		}
	}
	var said time.Time
	for _, ev := range events {
		if ev.worker == e.worker && ev.shard == e.shard && ev.kind == "took" && ev.at.After(ended) && !ev.at.After(e.from) {
			said = ev.at
		}
	}
	if !said.IsZero() {
		e.from = said
	}
}

// change checks what a change of owner made be handled again, or left out.
func (v *verdict) change(ev evidence, before, after *epoch) {
	if after.first() > before.last()+1 {
		v.fault(&v.OutOfOrder, "%s goes on with record %d of %s, but %s had come to %d", after.worker, after.first(), after.shard, before.worker, before.last())
	}
	again := before.last() - after.first() + 1
	if again <= 0 {
		return
	}
	harms := slices.DeleteFunc(slices.Clone(ev.harms), func(h harm) bool { return h.reading })
	r := replay{shard: after.shard, before: before.worker, after: after.worker, records: again}
	if at := slices.Index(before.index, after.first()); at >= 0 {
		r.held = before.lastStart().Sub(before.calls[at].start)
		r.unharmed = unharmed(harms, before.worker, before.calls[at].start, before.lastStart())
	}
	allowed := ev.checkpoint + 2*unnoticed(ev.failover)
	r.harms = causes(harms, before.worker, before.lastStart(), after.calls[0].start)
	v.Replays = append(v.Replays, r)
	what := fmt.Sprintf("%s handled %d records of %s again, %v of what %s had done", r.after, again, r.shard, r.held, r.before)
	switch {
	case after.first() < before.first():
		v.fault(&v.NotAllowed, "%s, and more: its checkpoint had gone back", what)
	case len(r.harms) == 0:
		v.fault(&v.NotAllowed, "%s, without a reason", what)
	case r.unharmed > allowed:
		v.fault(&v.NotAllowed, "%s (%s), in %v of it left alone: more than %v", what, strings.Join(r.harms, ", "), r.unharmed, allowed)
	}
}

// indexed is each record with its place in its shard.
func indexed(puts []put) map[string]indexedPut {
	shards := map[string][]put{}
	for _, p := range puts {
		shards[p.shard] = append(shards[p.shard], p)
	}
	index := make(map[string]indexedPut, len(puts))
	for _, of := range shards {
		slices.SortFunc(of, func(a, b put) int { return compareSequences(a.sequence, b.sequence) })
		for i, p := range of {
			index[p.shard+" "+p.sequence] = indexedPut{p, i}
		}
	}
	return index
}

type indexedPut struct {
	put
	index int
}
