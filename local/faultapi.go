package local

import (
	"net/http"

	"github.com/leatstream/leat/local/internal/ondemand"
)

// faultsPath is where a server on a port shows and takes its faults. No path of
// the Kinesis API begins like this.
const faultsPath = "/_leat/faults"

var faultForm = ondemand.Form[FaultKind]{
	Kinds: map[string]FaultKind{
		"throttle":       Throttle,
		"error":          Error,
		"delay":          Delay,
		"dropAnswer":     DropAnswer,
		"expireIterator": ExpireIterator,
	},
	Delayed: []string{"delay"},
	Known:   func(op string) bool { _, known := operations[op]; return known },
	Shards:  true,
}

func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	faultForm.Serve(w, r, s.faultRules, func(rules ondemand.Rules[FaultKind]) {
		list := make([]Fault, len(rules.List))
		for i, rule := range rules.List {
			list[i] = Fault(rule)
		}
		s.SetFaults(rules.Seed, list...)
	})
}

func (s *Server) faultRules() ondemand.Rules[FaultKind] {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := ondemand.Rules[FaultKind]{Seed: s.faults.seed}
	for _, f := range s.faults.list {
		rules.List = append(rules.List, ondemand.Rule[FaultKind](f))
	}
	return rules
}
