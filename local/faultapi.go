package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// faultsPath is where a server on a port shows and takes its faults. No path of
// the Kinesis API begins like this.
const faultsPath = "/_leat/faults"

// kindNames are the kinds of faults as JSON names them.
var kindNames = map[FaultKind]string{
	Throttle:       "throttle",
	Error:          "error",
	Delay:          "delay",
	DropAnswer:     "dropAnswer",
	ExpireIterator: "expireIterator",
}

// faultRule is a Fault in JSON.
type faultRule struct {
	Kind  string   `json:"kind"`
	Op    string   `json:"op,omitempty"`
	Shard string   `json:"shard,omitempty"`
	Share *float64 `json:"share,omitempty"` // none: 1
	Count int      `json:"count,omitempty"`
	Delay string   `json:"delay,omitempty"` // as time.ParseDuration reads it
}

// serveFaults shows (GET), replaces (POST) or clears (DELETE) the faults. Each
// answers with the faults as they are then, in the form that POST takes.
func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodDelete:
		s.SetFaults(0)
	case http.MethodPost:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			var seed uint64
			var list []Fault
			if seed, list, err = parseFaults(body); err == nil {
				s.SetFaults(seed, list...)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "GET, POST or DELETE", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(s.shownFaults()) // an error means that the client is gone
}

type shownFaults struct {
	Seed  uint64      `json:"seed"`
	Rules []faultRule `json:"rules"`
}

func (s *Server) shownFaults() shownFaults {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := shownFaults{Seed: s.faults.seed, Rules: []faultRule{}}
	for _, f := range s.faults.list {
		rule := faultRule{Kind: kindNames[f.Kind], Op: f.Op, Shard: f.Shard, Share: &f.Share, Count: f.Count}
		if f.Kind == Delay {
			rule.Delay = f.Delay.String()
		}
		shown.Rules = append(shown.Rules, rule)
	}
	return shown
}

// parseFaults reads the JSON of a POST. Its errors name the member.
func parseFaults(body []byte) (uint64, []Fault, error) {
	var request struct {
		Seed  uint64            `json:"seed"`
		Rules []json.RawMessage `json:"rules"`
	}
	if err := decodeStrictly(body, &request); err != nil {
		return 0, nil, err
	}
	var list []Fault
	for i, text := range request.Rules {
		var rule faultRule
		err := decodeStrictly(text, &rule)
		if err == nil {
			var fault Fault
			fault, err = rule.fault()
			list = append(list, fault)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	return request.Seed, list, nil
}

// fault checks a rule's members.
func (r faultRule) fault() (Fault, error) {
	fault := Fault{Op: r.Op, Shard: r.Shard, Share: 1, Count: r.Count}
	for kind, name := range kindNames {
		if name == r.Kind {
			fault.Kind = kind
		}
	}
	if r.Share != nil {
		fault.Share = *r.Share
	}
	_, known := operations[r.Op]
	switch {
	case fault.Kind == 0:
		names := []string{}
		for _, name := range kindNames {
			names = append(names, name)
		}
		slices.Sort(names)
		return Fault{}, fmt.Errorf("kind: %q is none of %q", r.Kind, names)
	case r.Op != "" && !known:
		return Fault{}, fmt.Errorf("op: %q is no operation of this server", r.Op)
	case fault.Share < 0 || fault.Share > 1:
		return Fault{}, fmt.Errorf("share: %v is not from 0 to 1", fault.Share)
	case r.Count < 0:
		return Fault{}, fmt.Errorf("count: %d is negative", r.Count)
	case fault.Kind != Delay && r.Delay != "":
		return Fault{}, fmt.Errorf("delay: is for the kind delay only, this is %s", r.Kind)
	case fault.Kind != Delay:
		return fault, nil
	}
	delay, err := time.ParseDuration(r.Delay)
	if err != nil || delay <= 0 {
		return Fault{}, fmt.Errorf("delay: %q is not a duration above 0, such as 200ms", r.Delay)
	}
	fault.Delay = delay
	return fault, nil
}

// decodeStrictly decodes one JSON value without unknown members.
func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return jsonProblem(err)
	}
	if decoder.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// jsonProblem is an error of encoding/json for a person: it begins with the member's name, where it is about one.
func jsonProblem(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("there is no JSON value")
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s: a JSON %s cannot be its value", wrong.Field, wrong.Value)
	case wrong != nil:
		return fmt.Errorf("is a JSON %s, not an object", wrong.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
