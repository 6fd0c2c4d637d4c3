package explore

import (
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
)

// Fault is what a run may have only so often.
type Fault uint8

// The faults.
const (
	Slow    Fault = iota // a message stays under way
	Lost                 // the outcome of a write is unknown, though it was applied; a read fails
	Stray                // the outcome of a write is unknown, and it may be applied at any later moment
	Stale                // a read shows how the store was a tick ago
	Crash                // a worker is no more
	Pause                // a worker does nothing, for any time
	Drift                // a worker's clock misses a tick
	Restart              // after a crash, or after it was fenced, a worker joins under a new id
	StopIt               // a worker is asked to stop
	Erase                // somebody deletes a lease that has not begun and that nobody owns
	Touch                // somebody writes an owned lease, and changes nothing but its counter
	numFaults
)

// String is the fault in a word.
func (f Fault) String() string {
	return [...]string{"slow", "lost", "stray", "stale", "crash", "pause", "drift", "restart", "stop", "erase", "touch"}[f]
}

// Limits says how many faults of each kind a run may have, at most.
type Limits [numFaults]int8

// only leaves the faults that are named, separated by commas; all if none is.
func (l Limits) only(names string) Limits {
	for f := range l {
		if names != "" && !slices.Contains(strings.Split(names, ","), Fault(f).String()) {
			l[f] = 0
		}
	}
	return l
}

// Shard is a shard of the modelled stream. All of them are there from the start.
type Shard struct {
	ID       string
	Records  int
	Closed   bool
	Parents  []int // by index
	Untold   bool  // the end of the shard does not tell its children
	Children []int
}

// Config is a small world.
type Config struct {
	Name   string
	About  string
	Shards []Shard

	Tick    time.Duration // a heartbeat; the failover time is three
	Relist  int           // in ticks
	Workers int           // at most maxWorkers
	Late    int           // as many of the workers join only when the exploration begins
	Calm    int           // ticks without faults, before it
	Horizon int           // ticks to explore
	Limits  Limits
	Faults  int // of all kinds together, at most

	// LazyAcks makes a shell tell its member of an acknowledgement a tick later, as a checkpoint interval allows.
	LazyAcks bool

	// Mixed makes the failover time of all workers but the first two ticks.
	Mixed bool

	Heal      int // ticks without faults at the end
	HealShare int // one in so many states at the horizon is healed

	Bug    Bug
	States int // explore no more; 0 is no bound
}

const (
	maxWorkers = 3
	maxShards  = 4
	stream     = "s"
)

// firstTick is where the clocks begin: 0 means "never" in a member.
const firstTick = 10

func (c *Config) member(slot int, id string) lease.MemberConfig {
	failover := 3 * c.Tick
	if c.Mixed && slot > 0 {
		failover = 2 * c.Tick
	}
	return lease.MemberConfig{
		ID: id, Stream: stream, ARN: "arn", Created: time.UnixMilli(1), Start: lease.TrimHorizon(),
		Failover: failover, Heartbeat: c.Tick, Watch: c.Tick,
		Relist: time.Duration(c.Relist) * c.Tick, Checkpoint: c.Tick,
	}
}

func (c *Config) shardIndex(id string) int {
	for i := range c.Shards {
		if c.Shards[i].ID == id {
			return i
		}
	}
	return -1
}

// shown is a shard as the stream lists it.
func (c *Config) shown(i int) lease.Shard {
	s := lease.Shard{ID: c.Shards[i].ID, Closed: c.Shards[i].Closed}
	for _, p := range c.Shards[i].Parents {
		s.Parents = append(s.Parents, c.Shards[p].ID)
	}
	return s
}

// horizon is the last tick.
func (c *Config) horizon() int { return firstTick + c.Calm + c.Horizon }

// deletes says whether leases may go in this world, before its horizon.
func (c *Config) deletes() bool { return c.Limits[Erase] > 0 || c.Horizon > c.Relist }

// Configs are the worlds that the project explores.
func Configs() []Config {
	return []Config{
		{
			Name:    "crash",
			About:   "crash, pause and restart with stray and late writes: 2 workers, 1 lease, 2 records",
			Shards:  []Shard{{ID: "s0", Records: 2}},
			Tick:    time.Second,
			Relist:  6,
			Workers: 2, Calm: 3, Horizon: 8,
			Limits: Limits{Slow: 1, Lost: 1, Stray: 1, Crash: 1, Pause: 1, Drift: 1, Restart: 1, Touch: 1},
			Faults: 1, Heal: 40, HealShare: 1024,
		},
		{
			Name:    "start",
			About:   "two workers start a group: 2 workers, 1 lease, 1 record",
			Shards:  []Shard{{ID: "s0", Records: 1}},
			Tick:    time.Second,
			Relist:  6,
			Workers: 2, Late: 2, Horizon: 5,
			Limits: Limits{Slow: 2, Lost: 1, Stray: 1, Stale: 1, Crash: 1, Drift: 1},
			Faults: 1, Heal: 40, HealShare: 1024,
		},
		{
			Name:    "clocks",
			About:   "deadline against patience: pauses, a clock that lags, slow messages: 2 workers, 1 lease, 2 records",
			Shards:  []Shard{{ID: "s0", Records: 2}},
			Tick:    time.Second,
			Relist:  6,
			Workers: 2, Calm: 3, Horizon: 8,
			Limits: Limits{Slow: 1, Pause: 1, Drift: 1},
			Faults: 2, Heal: 40, HealShare: 1024,
		},
		{
			Name:    "mixed",
			About:   "as clocks, but one worker's failover time is shorter than the other's",
			Shards:  []Shard{{ID: "s0", Records: 2}},
			Tick:    time.Second,
			Relist:  6,
			Workers: 2, Calm: 3, Horizon: 8,
			Limits: Limits{Slow: 1, Pause: 1, Drift: 1},
			Mixed:  true,
			Faults: 2, Heal: 40, HealShare: 1024,
		},
		{
			Name:    "hand-over",
			About:   "a second worker joins, a lease moves, with stray writes: 2 workers, 2 leases, 2 records",
			Shards:  []Shard{{ID: "s0", Records: 2}, {ID: "s1"}},
			Tick:    time.Second,
			Relist:  6,
			Workers: 2, Late: 1, Calm: 3, Horizon: 8,
			Limits:   Limits{Slow: 1, Lost: 1, Stray: 1, Pause: 1, StopIt: 1},
			LazyAcks: true,
			Faults:   1, Heal: 40, HealShare: 1024,
		},
		{
			Name:  "merge",
			About: "two parents and their merge child: 2 workers, 3 leases, 1 record each",
			Shards: []Shard{
				{ID: "s0", Records: 1, Closed: true, Children: []int{2}},
				{ID: "s1", Records: 1, Closed: true, Children: []int{2}, Untold: true},
				{ID: "s2", Records: 1, Parents: []int{0, 1}},
			},
			Tick:    time.Second,
			Relist:  6,
			Workers: 2, Calm: 3, Horizon: 7,
			Limits: Limits{Slow: 1, Lost: 1, Stray: 1, Stale: 1, Crash: 1},
			Faults: 1, Heal: 40, HealShare: 1024,
		},
		{
			Name:  "clean-up",
			About: "a finished lease is tidied away, a lost one is made again: 2 workers, a parent and its child",
			Shards: []Shard{
				{ID: "s0", Records: 1, Closed: true, Children: []int{1}},
				{ID: "s1", Records: 1, Parents: []int{0}},
			},
			Tick:    time.Minute,
			Relist:  3,
			Workers: 2, Calm: 3, Horizon: 14,
			Limits: Limits{Slow: 1, Stray: 1, Stale: 1, Erase: 1},
			Faults: 1, Heal: 40, HealShare: 1024,
		},
	}
}

// Named is the configuration of that name.
func Named(name string) Config {
	for _, c := range Configs() {
		if c.Name == name {
			return c
		}
	}
	return Config{}
}
