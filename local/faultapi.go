package local

import (
	"maps"
	"net/http"
	"slices"

	"github.com/leatstream/leat/local/internal/ondemand"
)

// faultsPath is where a server on a port shows and takes its faults. No path of
// the Kinesis API begins like this.
const faultsPath = "/_leat/faults"

// kindsByName are the kinds of faults as JSON names them.
var kindsByName = map[string]FaultKind{
	"throttle":       Throttle,
	"error":          Error,
	"delay":          Delay,
	"dropAnswer":     DropAnswer,
	"expireIterator": ExpireIterator,
}

var faultForm = ondemand.Form{
	Kinds:   slices.Sorted(maps.Keys(kindsByName)),
	Delayed: []string{"delay"},
	Known:   func(op string) bool { _, known := operations[op]; return known },
	Shards:  true,
}

func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	ondemand.Serve(w, r, faultForm, s.faultRules, func(rules ondemand.Rules) {
		list := make([]Fault, len(rules.List))
		for i, rule := range rules.List {
			list[i] = Fault{kindsByName[rule.Kind], rule.Op, rule.Shard, rule.Share, rule.Count, rule.Delay}
		}
		s.SetFaults(rules.Seed, list...)
	})
}

func (s *Server) faultRules() ondemand.Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[FaultKind]string{}
	for name, kind := range kindsByName {
		names[kind] = name
	}
	rules := ondemand.Rules{Seed: s.faults.seed}
	for _, f := range s.faults.list {
		rules.List = append(rules.List, ondemand.Rule{Kind: names[f.Kind], Op: f.Op, Shard: f.Shard, Share: f.Share, Count: f.Count, Delay: f.Delay})
	}
	return rules
}
