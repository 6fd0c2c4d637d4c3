// Package demo is what `leat demo` runs: an embedded Kinesis, a live feed of real events, worker
// processes that are killed and stopped, shards that are split and merged, and an oracle that checks what the
// handlers did against what was put.
package demo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

// One week of the USGS earthquake feed, February 2018; public domain.
//
//go:embed earthquakes.ndjson
var earthquakes []byte

// feed gives the events out over and over, each numbered within its key. An event's key is its network; where
// that is too few keys, the networks' events are dealt out to several keys each, such as ak.0 to ak.7.
type feed struct {
	events []event
	next   int
	counts map[string]int
}

type event struct {
	key  string
	data json.RawMessage
}

// numbered is the payload of a record: the event, and which one of its key it is, from 1.
type numbered struct {
	Key   string          `json:"key"`
	N     int             `json:"n"`
	Event json.RawMessage `json:"event"`
}

func newFeed(keysEach int) (*feed, error) {
	f := &feed{counts: map[string]int{}}
	for line := range bytes.Lines(earthquakes) {
		var e struct {
			Net string `json:"net"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the earthquakes: %w", err)
		}
		key := e.Net
		if keysEach > 1 {
			key = fmt.Sprintf("%s.%d", e.Net, len(f.events)%keysEach)
		}
		f.events = append(f.events, event{key: key, data: bytes.TrimSpace(line)})
	}
	return f, nil
}

// keys are the partition keys that the feed uses.
func (f *feed) keys() map[string]bool {
	keys := map[string]bool{}
	for _, e := range f.events {
		keys[e.key] = true
	}
	return keys
}

func (f *feed) record() (numbered, error) {
	e := f.events[f.next]
	f.next = (f.next + 1) % len(f.events)
	f.counts[e.key]++
	return numbered{Key: e.key, N: f.counts[e.key], Event: e.data}, nil
}
