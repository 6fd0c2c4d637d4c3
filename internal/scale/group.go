package scale

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/leatstream/leat/lease"
)

// group is workers, their table and their stream, in virtual time. All that happens is on one goroutine.
type group struct {
	now     time.Duration
	queue   queue
	order   uint64
	rng     *rand.Rand
	config  lease.MemberConfig // but for the id
	table   *table
	shards  []lease.Shard
	workers []*worker // those that are gone are taken out by live
	started int
	buffers [][]lease.Item // for answers; members keep none

	reader   map[string]*worker       // who reads the shard now
	stopped  map[string]time.Duration // when reading it last stopped
	owner    map[string]string        // the last one
	handedAt map[string]time.Duration // when it last went from one live worker to another

	moves  int // changes of owner, but for the first
	twice  int // hand-overs of a lease that had been handed over less than a minute before
	double int // shards that were opened while another live worker read them
	fenced int // members that ended otherwise than by a stop
	late   int // calls without an answer in time
	pauses []time.Duration
}

// rest is how long a lease that was handed over stays where it is (lease's restTime).
const rest = time.Minute

// newGroup makes a stream. Its config is a consumer's at the defaults.
func newGroup(seed uint64, shards, partitions int) *group {
	g := &group{
		rng: rand.New(rand.NewPCG(seed, 0)), table: newTable(partitions),
		config: lease.MemberConfig{
			Stream: "orders", ARN: "arn:aws:kinesis:us-east-1:000000000000:stream/orders", Created: time.UnixMilli(1_700_000_000_000),
			Failover: 6 * time.Second, Heartbeat: 2 * time.Second, Watch: time.Second, Relist: time.Minute, Checkpoint: 5 * time.Second,
		},
		reader: map[string]*worker{}, stopped: map[string]time.Duration{}, owner: map[string]string{}, handedAt: map[string]time.Duration{},
	}
	keys := new(big.Int).Lsh(big.NewInt(1), 128)
	bound := func(i int) *big.Int {
		return new(big.Int).Div(new(big.Int).Mul(keys, big.NewInt(int64(i))), big.NewInt(int64(shards)))
	}
	for i := range shards {
		g.shards = append(g.shards, lease.Shard{
			ID:        fmt.Sprintf("shardId-%012d", i),
			HashRange: lease.HashRange{Start: bound(i).String(), End: new(big.Int).Sub(bound(i+1), big.NewInt(1)).String()},
		})
	}
	return g
}

func (g *group) between(low, high time.Duration) time.Duration {
	return low + time.Duration(g.rng.Int64N(int64(high-low)+1))
}

// position is how far every shard has come.
func (g *group) position() lease.Position {
	p, err := lease.AfterSequence(fmt.Sprintf("4964%052d", g.now), 0)
	if err != nil {
		panic(err)
	}
	return p
}

func (g *group) buffer() []lease.Item {
	if n := len(g.buffers); n > 0 {
		b := g.buffers[n-1]
		g.buffers = g.buffers[:n-1]
		return b
	}
	return nil
}

// reuse takes back what a read of the leases was answered with: a member keeps none of it.
func (g *group) reuse(answer lease.Event) {
	if read, ok := answer.(lease.LeasesRead); ok {
		g.buffers = append(g.buffers, read.Items[:0])
	}
}

func (g *group) opened(shard string, w *worker) {
	if g.reader[shard] != nil {
		g.double++
	}
	g.reader[shard] = w
	if at, before := g.stopped[shard]; before {
		g.pauses = append(g.pauses, g.now-at)
	}
}

func (g *group) closed(shard string) {
	delete(g.reader, shard)
	g.stopped[shard] = g.now
}

// noteMove looks for a change of owner.
func (g *group) noteMove(was, item lease.Item) {
	shard, to := item.Key.Shard, item.Lease.Owner
	if to == "" || to == was.Lease.Owner {
		return
	}
	if last := g.owner[shard]; last != "" && last != to {
		g.moves++
	}
	g.owner[shard] = to
	if was.Lease.Owner == "" || !g.lives(was.Lease.Owner) {
		return
	}
	if at, before := g.handedAt[shard]; before && g.now < at+rest {
		g.twice++
	}
	g.handedAt[shard] = g.now
}

func (g *group) lives(id string) bool {
	for _, w := range g.live() {
		if w.id == id {
			return true
		}
	}
	return false
}

// live are the workers that are not gone.
func (g *group) live() []*worker {
	n := 0
	for _, w := range g.workers {
		if !w.gone {
			g.workers[n] = w
			n++
		}
	}
	clear(g.workers[n:])
	g.workers = g.workers[:n]
	return g.workers
}

// owned says whether every shard is read.
func (g *group) owned() bool { return len(g.reader) == len(g.shards) }

// balanced says whether no worker reads two shards more than another, and every shard is read.
func (g *group) balanced() bool {
	if !g.owned() {
		return false
	}
	least, most := len(g.shards), 0
	for _, w := range g.live() {
		least, most = min(least, len(w.open)), max(most, len(w.open))
	}
	return most-least <= 1
}
