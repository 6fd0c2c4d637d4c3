package ondemand

import (
	"encoding/json"
	"io"
	"net/http"
)

// Serve shows (GET), replaces (POST) or clears (DELETE) the faults of a server. Each answers with the faults as they are
// then, in the form that POST takes.
func (f Form[K]) Serve(w http.ResponseWriter, r *http.Request, show func() Rules[K], set func(Rules[K])) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodDelete:
		set(Rules[K]{})
	case http.MethodPost:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		var rules Rules[K]
		if err == nil {
			rules, err = f.parse(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		set(rules)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "GET, POST or DELETE", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(f.said(show())) // an error means that the client is gone
}
