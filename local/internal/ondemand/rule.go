// Package ondemand is what the faults on demand of the embedded servers have in common: their form in JSON, the calls over
// HTTP that show and replace them, and the chance by which they meet a call.
package ondemand

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/leatstream/leat/local/internal/strict"
)

// Rule is one fault as people write it.
type Rule struct {
	Kind  string
	Op    string // an operation; empty: all
	Shard string // of the operations that name one; empty: all
	Share float64
	Count int // the most calls; 0: no limit
	Delay time.Duration
}

// Rules are all of a server's faults.
type Rules struct {
	Seed uint64
	List []Rule
}

// Form is what the rules of a server may say.
type Form struct {
	Kinds   []string          // in the order of the alphabet
	Delayed []string          // those that need a delay; no other takes one
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

// MarshalJSON writes rules as parse reads them.
func (r Rules) MarshalJSON() ([]byte, error) {
	list := make([]rule, len(r.List))
	for i, f := range r.List {
		list[i] = rule{Kind: f.Kind, Op: f.Op, Shard: f.Shard, Share: &f.Share, Count: f.Count}
		if f.Delay != 0 {
			list[i].Delay = f.Delay.String()
		}
	}
	return json.Marshal(struct {
		Seed  uint64 `json:"seed"`
		Rules []rule `json:"rules"`
	}{r.Seed, list})
}

// parse reads rules. Its errors name the member.
func (f Form) parse(body []byte) (rules Rules, err error) {
	var request struct {
		Seed  uint64            `json:"seed"`
		Rules []json.RawMessage `json:"rules"`
	}
	if err := strict.Decode(body, &request); err != nil {
		return Rules{}, err
	}
	rules.Seed = request.Seed
	for i, text := range request.Rules {
		var r rule
		err := strict.Decode(text, &r)
		if err == nil {
			var checked Rule
			checked, err = f.check(r)
			rules.List = append(rules.List, checked)
		}
		if err != nil {
			return Rules{}, fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	return rules, nil
}

func (f Form) check(r rule) (Rule, error) {
	checked := Rule{Kind: r.Kind, Op: r.Op, Shard: r.Shard, Share: 1, Count: r.Count}
	if r.Share != nil {
		checked.Share = *r.Share
	}
	delayed := slices.Contains(f.Delayed, r.Kind)
	switch {
	case !slices.Contains(f.Kinds, r.Kind):
		return Rule{}, fmt.Errorf("kind: %q is none of %q", r.Kind, f.Kinds)
	case r.Op != "" && !f.Known(r.Op):
		return Rule{}, fmt.Errorf("op: %q is no operation of this server", r.Op)
	case r.Shard != "" && !f.Shards:
		return Rule{}, fmt.Errorf("shard: no operation of this server names a shard")
	case checked.Share < 0 || checked.Share > 1:
		return Rule{}, fmt.Errorf("share: %v is not from 0 to 1", checked.Share)
	case r.Count < 0:
		return Rule{}, fmt.Errorf("count: %d is negative", r.Count)
	case !delayed && r.Delay != "":
		return Rule{}, fmt.Errorf("delay: is for the kinds %q only, this is %s", f.Delayed, r.Kind)
	case !delayed:
		return checked, nil
	}
	delay, err := time.ParseDuration(r.Delay)
	if err != nil || delay <= 0 {
		return Rule{}, fmt.Errorf("delay: %q is not a duration above 0, such as 200ms", r.Delay)
	}
	checked.Delay = delay
	return checked, nil
}
