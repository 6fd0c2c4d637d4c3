package dynamodb

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/leatstream/leat/local/internal/ondemand"
)

// ControlPath begins the paths at which a Server takes no calls of the API but those of tests: see [Server.ServeHTTP].
const ControlPath = "/_leat/dynamodb/"

var faultForm = ondemand.Form[FaultKind]{
	Kinds: map[string]FaultKind{
		"throttle":    Throttle,
		"error":       Error,
		"deny":        Deny,
		"delay":       Delay,
		"dropRequest": DropRequest,
		"dropAnswer":  DropAnswer,
		"late":        Late,
		"hang":        Hang,
		"stale":       Stale,
		"noItem":      NoItem,
	},
	Delayed: []string{"delay", "late", "stale"},
	Known:   func(op string) bool { _, known := operations[op]; return known },
}

// control is what answers under ControlPath.
func (s *Server) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(ControlPath+"faults", s.serveFaults)
	for name, do := range map[string]func(table string) (items int, err error){
		"backup": s.keep, "restore": s.restoreKept, "lose": s.lose,
	} {
		mux.HandleFunc("POST "+ControlPath+"tables/{table}/"+name, func(w http.ResponseWriter, r *http.Request) {
			table := r.PathValue("table")
			items, err := do(table)
			if err != nil {
				http.Error(w, err.Error(), http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(struct { // an error means that the client is gone
				Table string `json:"table"`
				Items int    `json:"items"`
			}{table, items})
		})
	}
	return mux
}

func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	faultForm.Serve(w, r, s.faultRules, func(rules ondemand.Rules[FaultKind]) {
		list := make([]Fault, len(rules.List))
		for i, rule := range rules.List {
			list[i] = Fault{rule.Kind, rule.Op, rule.Share, rule.Count, rule.Delay}
		}
		s.SetFaults(rules.Seed, list...)
	})
}

func (s *Server) faultRules() ondemand.Rules[FaultKind] {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := ondemand.Rules[FaultKind]{Seed: s.faults.seed}
	for _, f := range s.faults.list {
		rules.List = append(rules.List, ondemand.Rule[FaultKind]{Kind: f.Kind, Op: f.Op, Share: f.Share, Count: f.Count, Delay: f.Delay})
	}
	return rules
}

// keep makes a backup of a table, in the place of the one before.
func (s *Server) keep(table string) (items int, err error) {
	b, err := s.Backup(table)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[table] = b
	return len(b.table.items), nil
}

// restoreKept restores the backup that keep made.
func (s *Server) restoreKept(table string) (items int, err error) {
	s.mu.Lock()
	b, ok := s.kept[table]
	s.mu.Unlock()
	if !ok {
		return 0, fmt.Errorf("local: restoring table %s: there is no backup of it", table)
	}
	s.Restore(b)
	return len(b.table.items), nil
}

// lose takes a table away at once, protected or not, with all of its items.
func (s *Server) lose(table string) (items int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.active(&call{now: s.config.Now()}, table)
	if err != nil {
		return 0, fmt.Errorf("local: losing table %s: %w", table, err)
	}
	delete(s.tables, table)
	return len(t.copy().items), nil
}
