package demo

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// State is what there is to see of a run at one moment. It shares nothing with the run.
type State struct {
	Time     time.Duration // since the run began
	Doing    string        // the step that is under way
	DoingFor time.Duration
	Over     bool // the producer has ended
	Round    int  // 0 before the first
	Rounds   int

	Shards  []ShardState  // families together: children stand below their last parent
	Workers []WorkerState // all that ever were, in the order of their starts

	Put, Handled              int // records; Handled does not count repeats
	PutRate, HandledRate      float64
	Repeated, Lost, Disorders int // so far; lost is what a later record of its key has passed

	Lines []Line // all that was said
}

// ShardState is a shard of the stream, and its lease.
type ShardState struct {
	ID      string
	Parents []string // that had leases in this run
	Depth   int      // generations above it
	Open    bool     // it still takes records
	Owner   string   // the worker's name; empty if nobody's
	Orphan  bool     // that worker's process has ended: nobody handles the shard
	Done    bool     // it was handled to its end

	Put, Handled int     // records; Handled does not count repeats
	Unsaved      int     // records handled after the checkpoint: a crash repeats them
	Rate         float64 // records handled a second
}

// WorkerState is a worker process.
type WorkerState struct {
	Name    string
	Process int    // its id
	Fate    string // "", "stopping", "stopped", "killed", or "died" by itself
	Shards  int    // that it owns
	Handled int    // calls of its handler
	Rate    float64
}

// Line is something that the demo said.
type Line struct {
	Time time.Duration
	Text string
}

// scene is what the story tells the watcher.
type scene struct {
	mu     sync.Mutex
	now    string
	since  time.Time
	at, of int
	over   bool
	lines  []Line
}

func (s *scene) doing(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.since = fmt.Sprintf(format, args...), time.Now()
}

func (s *scene) round(at, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.of = at, of
}

func (s *scene) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

func (s *scene) said(at time.Duration, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, Line{at, text})
}

// show adds what the story told.
func (s *scene) show(state *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state.Doing, state.Over, state.Round, state.Rounds = s.now, s.over, s.at, s.of
	if !s.since.IsZero() {
		state.DoingFor = time.Since(s.since)
	}
	state.Lines = slices.Clone(s.lines)
}
