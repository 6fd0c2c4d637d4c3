package leat

import (
	"testing"
	"time"

	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/local/dynamodb"
)

// inDynamoDB is the default store.
func inDynamoDB(c *Config) { c.Store = nil }

// P7: what three workers with six busy shards cost at the defaults, counted at the server.
func TestRunCostOfDynamoDB(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 6)
		var workers []*worker
		for _, name := range []string{"anna", "berta", "carla"} {
			workers = append(workers, r.start(name, nil, inDynamoDB))
		}
		r.fill(24, 180, time.Second) // until nothing moves any more
		before := r.server.DynamoDB().Usage()
		const minutes = 10
		r.fill(24, 60*minutes, time.Second)
		var reads, writes float64
		conditions := 0
		for op, u := range r.server.DynamoDB().Usage() {
			was := before[op]
			reads, writes = reads+u.Read-was.Read, writes+u.Write-was.Write
			conditions += u.Conditions - was.Conditions
		}
		t.Logf("a minute: %.0f writes, %.0f read units; %d failed conditions in %d minutes", writes/minutes, reads/minutes, conditions, minutes)
		if writes > 200*minutes || reads > 250*minutes || conditions > 0 {
			t.Errorf("more than 200 writes or 250 read units a minute, or failed conditions")
		}
		elapse(2 * time.Second)
		for _, w := range workers {
			r.must(w.stop())
		}
		if repeats := r.judge(0); repeats != 0 {
			t.Errorf("%d records repeated", repeats)
		}
	})
}

// The store throttles, fails, hangs, loses requests and answers, applies writes late and reads stale, for hours,
// while workers come and go and the stream is resharded: nothing is lost, and the order holds.
func TestRunFaultyDynamoDB(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 4)
		r.server.DynamoDB().SetFaults(7,
			dynamodb.Fault{Kind: dynamodb.Stale, Share: 0.3, Delay: 1500 * time.Millisecond},
			dynamodb.Fault{Kind: dynamodb.Delay, Share: 0.2, Delay: 300 * time.Millisecond},
			dynamodb.Fault{Kind: dynamodb.Throttle, Share: 0.1},
			dynamodb.Fault{Kind: dynamodb.Error, Share: 0.05},
			dynamodb.Fault{Kind: dynamodb.Hang, Share: 0.02},
			dynamodb.Fault{Kind: dynamodb.DropRequest, Share: 0.05},
			dynamodb.Fault{Kind: dynamodb.DropAnswer, Share: 0.05},
			dynamodb.Fault{Kind: dynamodb.Late, Op: "UpdateItem", Share: 0.02, Delay: 5 * time.Second},
		)
		slow := func(c *Config) { c.PollInterval = 5 * time.Second }
		anna := r.start("anna", nil, inDynamoDB, slow)
		elapse(20 * time.Second)
		berta := r.start("berta", nil, inDynamoDB, slow)
		for round := range 6 {
			r.fill(12, 10, 20*time.Second)
			r.split(r.open()[round%3])
			r.fill(12, 10, 20*time.Second)
			shards := r.open()
			r.merge(shards[0], shards[1])
			if round%2 == 0 {
				r.must(berta.stop())
				berta = r.start("berta", nil, inDynamoDB, slow)
			}
		}
		r.server.DynamoDB().SetFaults(0)
		elapse(5 * time.Minute)
		r.must(anna.stop())
		r.must(berta.stop())
		t.Logf("%d records repeated", r.judge(1000))
	})
}

// The workers of a group go on when the table's server was away for less than the failover time, and nobody loses
// a shard (L7).
func TestRunDynamoDBAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		anna, berta := r.start("anna", nil, inDynamoDB), r.start("berta", nil, inDynamoDB)
		r.fill(8, 90, time.Second)
		r.server.DynamoDB().SetFaults(1, dynamodb.Fault{Kind: dynamodb.Hang, Share: 1})
		r.fill(8, 3, time.Second)
		r.server.DynamoDB().SetFaults(1)
		r.fill(8, 30, time.Second)
		elapse(2 * time.Second) // the last records are read before the stop, whoever comes first in the last second
		if lost := append(anna.kinds(EventLost, EventFenced), berta.kinds(EventLost, EventFenced)...); len(lost) != 0 {
			t.Errorf("%v", lost)
		}
		r.must(anna.stop())
		r.must(berta.stop())
		if repeats := r.judge(0); repeats != 0 {
			t.Errorf("%d records repeated", repeats)
		}
	})
}
