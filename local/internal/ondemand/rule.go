// Package ondemand is what the faults on demand of the embedded servers have in common: their form in JSON, the calls over
// HTTP that show and replace them, and the chance by which they meet a call.
package ondemand

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leatstream/leat/local/internal/strict"
)

// Rule is one fault of a server whose kinds of faults are a K.
type Rule[K comparable] struct {
	Kind  K
	Op    string // an operation; empty: all
	Shard string // of the operations that name one; empty: all
	Share float64
	Count int // the most calls; 0: no limit
	Delay time.Duration
}

// Rules are all of a server's faults.
type Rules[K comparable] struct {
	Seed uint64
	List []Rule[K]
}

// Form is what the rules of a server may say.
type Form[K comparable] struct {
	Kinds   map[string]K
	Delayed []string          // the kinds that need a delay; no other takes one
	Known   func(string) bool // whether there is such an operation
	Shards  bool              // whether a rule may name a shard
}

// rule is a Rule in JSON.
type rule struct {
	Kind  string   `json:"kind"`
	Op    string   `json:"op,omitempty"`
	Shard string   `json:"shard,omitempty"`
	Share *float64 `json:"share,omitempty"` // none: 1
	Count int      `json:"count,omitempty"`
	Delay string   `json:"delay,omitempty"` // as time.ParseDuration reads it
}

// said are rules that can be written as JSON, as parse reads them.
func (f Form[K]) said(rules Rules[K]) any {
	names := map[K]string{}
	for name, kind := range f.Kinds {
		names[kind] = name
	}
	list := make([]rule, len(rules.List))
	for i, r := range rules.List {
		list[i] = rule{Kind: names[r.Kind], Op: r.Op, Shard: r.Shard, Share: &r.Share, Count: r.Count}
		if r.Delay != 0 {
			list[i].Delay = r.Delay.String()
		}
	}
	return struct {
		Seed  uint64 `json:"seed"`
		Rules []rule `json:"rules"`
	}{rules.Seed, list}
}

// parse reads rules. Its errors name the member.
func (f Form[K]) parse(body []byte) (rules Rules[K], err error) {
	var request struct {
		Seed  uint64            `json:"seed"`
		Rules []json.RawMessage `json:"rules"`
	}
	if err := strict.Decode(body, &request); err != nil {
		return Rules[K]{}, err
	}
	rules.Seed = request.Seed
	for i, text := range request.Rules {
		var r rule
		err := strict.Decode(text, &r)
		if err == nil {
			var checked Rule[K]
			checked, err = f.check(r)
			rules.List = append(rules.List, checked)
		}
		if err != nil {
			return Rules[K]{}, fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	return rules, nil
}

func (f Form[K]) check(r rule) (checked Rule[K], err error) {
	kind, known := f.Kinds[r.Kind]
	checked = Rule[K]{Kind: kind, Op: r.Op, Shard: r.Shard, Share: 1, Count: r.Count}
	if r.Share != nil {
		checked.Share = *r.Share
	}
	delayed := slices.Contains(f.Delayed, r.Kind)
	switch {
	case !known:
		return checked, fmt.Errorf("kind: %q is none of %q", r.Kind, slices.Sorted(maps.Keys(f.Kinds)))
	case r.Op != "" && !f.Known(r.Op):
		return checked, fmt.Errorf("op: %q is no operation of this server", r.Op)
	case r.Shard != "" && !f.Shards:
		return checked, fmt.Errorf("shard: no operation of this server names a shard")
	case checked.Share < 0 || checked.Share > 1:
		return checked, fmt.Errorf("share: %v is not from 0 to 1", checked.Share)
	case r.Count < 0:
		return checked, fmt.Errorf("count: %d is negative", r.Count)
	case !delayed && r.Delay != "":
		return checked, fmt.Errorf("delay: is for the kinds %q only, this is %s", f.Delayed, r.Kind)
	case !delayed:
		return checked, nil
	}
	checked.Delay, err = time.ParseDuration(r.Delay)
	if err != nil || checked.Delay <= 0 {
		return checked, fmt.Errorf("delay: %q is not a duration above 0, such as 200ms", r.Delay)
	}
	return checked, nil
}
