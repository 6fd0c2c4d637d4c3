package explore

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// Result is what an exploration found.
type Result struct {
	Config      string
	States      int
	Transitions int
	Depth       int    // of the deepest state, in moves
	Exhausted   bool   // nothing was left out, but by hashes that collide
	Horizons    int    // states at the horizon
	Healed      int    // of them, those that were followed by a suffix without faults
	Sights      sights // how many transitions did what is worth a look
	Time        time.Duration
	MiB         int // the most that the heap held, all told

	Violation *Violation
	Trace     []string // the shortest way to it
}

// String is the result on one line.
func (r *Result) String() string {
	how := "exhausted"
	if !r.Exhausted {
		how = fmt.Sprintf("bounded at depth %d", r.Depth)
	}
	if r.Violation != nil {
		how = fmt.Sprintf("VIOLATION at depth %d", r.Depth)
	}
	return fmt.Sprintf("%-10s %9d states, %9d transitions, depth %d, %s; %d at the horizon, %d healed; %v, %d MiB",
		r.Config, r.States, r.Transitions, r.Depth, how, r.Horizons, r.Healed, r.Time.Round(100*time.Millisecond), r.MiB)
}

// waiting is a state whose successors are still to be found.
type waiting struct {
	*state
	ordinal uint32
}

// tablesFull is the number of remembered steps at which all of them are forgotten.
const tablesFull = 1 << 16

// search is one exploration.
type search struct {
	*world
	begin   *state
	res     Result
	seen    *visited
	parents []uint32 // by ordinal
	ways    []uint16 // by ordinal: the number of the move that led to the state
	queue   []waiting
	next    []waiting
	moves   []move
}

// Explore visits every state of a configuration, nearest first, until a violation is found.
func Explore(cfg Config) Result {
	began := time.Now()
	s := &search{world: &world{cfg: cfg, tables: newTables()}, seen: newVisited()}
	s.res.Config = cfg.Name
	s.begin, s.res.Violation = s.calm()
	if s.res.Violation == nil {
		s.run()
	}
	s.res.Time, s.res.Sights = time.Since(began), s.sights
	return s.res
}

func (s *search) run() {
	s.visit(s.begin, 0, 0)
	s.queue, s.next = s.next, nil
	for depth := 1; len(s.queue) > 0; depth++ {
		s.res.Depth = depth - 1
		s.weigh()
		for k, at := range s.queue {
			s.queue[k].state = nil // to be collected
			if s.expand(at); s.res.Violation != nil {
				s.res.Depth = depth
				return
			}
			if s.cfg.States > 0 && s.res.States >= s.cfg.States {
				return
			}
		}
		s.queue, s.next = s.next, s.queue[:0]
	}
	s.res.Exhausted = true
}

// expand visits the successors of a state.
func (s *search) expand(at waiting) {
	if len(s.tables.steps) > tablesFull {
		s.tables = newTables()
	}
	s.moves = s.world.moves(at.state, s.moves[:0])
	if int(at.now) >= s.cfg.horizon() && at.talks < 0 {
		s.res.Horizons++
		if s.cfg.HealShare > 0 && at.hash%uint64(s.cfg.HealShare) == 0 {
			s.res.Healed++
			if bad := s.heal(at.state); bad != nil {
				s.found(bad, at.ordinal, -1)
				return
			}
		}
	}
	for k, mv := range s.moves {
		next, bad := s.follow(at.state, mv)
		s.res.Transitions++
		if bad != nil {
			s.found(bad, at.ordinal, k)
			return
		}
		s.visit(next, at.ordinal, k)
	}
}

func (s *search) visit(st *state, parent uint32, way int) {
	if !s.seen.add(st.hash) {
		return
	}
	s.next = append(s.next, waiting{st, uint32(len(s.parents))})
	s.parents = append(s.parents, parent)
	s.ways = append(s.ways, uint16(way))
	s.res.States++
}

// weigh looks at the memory in use.
func (s *search) weigh() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.res.MiB = max(s.res.MiB, int(m.HeapInuse>>20))
}

// found takes the way to a violation anew, and writes it down. The last move is way, or -1 if what was
// wrong was found by healing.
func (s *search) found(bad *Violation, ordinal uint32, way int) {
	s.res.Violation = bad
	var ways []int
	if way >= 0 {
		ways = append(ways, way)
	}
	for ; ordinal != 0; ordinal = s.parents[ordinal] {
		ways = append(ways, int(s.ways[ordinal]))
	}
	s.note = func(format string, args ...any) { s.res.Trace = append(s.res.Trace, fmt.Sprintf(format, args...)) }
	st := s.begin
	var again *Violation
	for i := len(ways) - 1; i >= 0; i-- {
		st, again = s.follow(st, s.world.moves(st, nil)[ways[i]])
	}
	if way < 0 {
		s.note("-- no more faults")
		again = s.heal(st)
	}
	if again == nil || *again != *bad {
		s.note(astray+": %v", again)
	}
	s.note = nil
}

// astray ends a trace that does not lead to its violation: then there is more to a state than its hash knows.
const astray = "-- the same moves led to something else"

// Story is the trace, a line for each thing that happened.
func (r *Result) Story() string { return strings.Join(r.Trace, "\n") }
