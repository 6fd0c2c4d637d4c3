package leat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/dynamo"
)

// F6: a machine sleeps for an hour, and Go's own clock does not see it. What wakes up starts no handler before a
// heartbeat has shown that nobody else had its shards; then it goes on, without repeats.
func TestRunMachineSleeps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		var mu sync.Mutex
		var slept time.Duration
		anna := r.prepare("anna", func(context.Context, *Record) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		anna.clock = func() lease.Time {
			mu.Lock()
			defer mu.Unlock()
			return lease.Time(time.Hour).Add(time.Since(r.began) + slept)
		}
		r.launch(anna)
		r.fill(10, 5, time.Second)
		r.fill(10, 100, 0) // so that there is much to do
		elapse(2 * time.Second)
		anna.line.set(true)
		mu.Lock()
		slept = time.Hour
		mu.Unlock()
		woken := time.Now()
		elapse(3 * time.Second) // by Go's clock the last heartbeat is good for longer
		if late := r.log(since(woken.Add(time.Nanosecond))); len(late) != 0 {
			t.Errorf("%d handlers started after the sleep, the first after %v", len(late), late[0].start.Sub(woken))
		}
		if !anna.Stats().Suspended {
			t.Error("not suspended")
		}
		anna.line.set(false)
		elapse(time.Minute)
		r.must(anna.stop())
		if repeats := r.judge(0); repeats != 0 {
			t.Errorf("%d records repeated", repeats)
		}
	})
}

// F4: Kinesis does not answer for half an hour. No lease moves, people are told once, Stats says why nothing does, and the
// group goes on where it was.
func TestRunKinesisAway(t *testing.T) {
	for name, kind := range map[string]local.FaultKind{"broken": local.Error, "silent": local.DropAnswer} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRiver(t, local.Config{}, 2)
				anna, berta := r.start("anna", nil), r.start("berta", nil)
				r.fill(10, 20, time.Second)
				elapse(5 * time.Second)
				r.fill(10, 5, 0)
				r.server.SetFaults(1, local.Fault{Kind: kind, Share: 1})
				elapse(30 * time.Minute)
				for _, w := range []*worker{anna, berta} {
					s := w.Stats()
					if len(s.Shards) != 1 || !strings.HasPrefix(s.Shards[0].Why, "failing: ") || w.Health() != nil {
						t.Errorf("health %v, %+v", w.Health(), s.Shards)
					}
				}
				r.server.SetFaults(1)
				elapse(time.Minute)
				for _, w := range []*worker{anna, berta} {
					told := slices.DeleteFunc(w.told(EventStuck, EventMoving), func(ev Event) bool { return ev.Shard == "" })
					if len(told) != 2 || told[0].Kind != EventStuck || told[1].Kind != EventMoving {
						t.Errorf("told %+v", told)
					}
				}
				if moved := append(anna.kinds(EventLost, EventReleased, EventFenced), berta.kinds(EventLost, EventReleased, EventFenced)...); len(moved) != 0 {
					t.Errorf("%v", moved)
				}
				r.must(anna.stop())
				r.must(berta.stop())
				if repeats := r.judge(0); repeats != 0 {
					t.Errorf("%d records repeated", repeats)
				}
			})
		})
	}
}

// F12: somebody deletes the table. Who runs starts nothing after the failover time, says so, and makes no new table,
// which would have everything handled again; nor does it use one that somebody else has made.
func TestRunTableDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		anna := r.start("anna", nil, inDynamoDB)
		r.fill(10, 10, time.Second)
		tables := dynamodb.NewFromConfig(r.server.AWSConfig())
		_, err := tables.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(dynamo.DefaultTable)})
		r.must(err)
		gone := time.Now()
		look := func() {
			t.Helper()
			s := anna.Stats()
			if late := r.log(since(gone.Add(6 * time.Second))); len(late) != 0 || !s.Suspended || !errors.Is(s.StoreError, lease.ErrStoreGone) || anna.Health() == nil {
				t.Errorf("%d handlers started after the failover time, suspended %v, store: %v", len(late), s.Suspended, s.StoreError)
			}
		}
		r.fill(10, 60, time.Second)
		look()
		if found, err := tables.ListTables(t.Context(), nil); err != nil || len(found.TableNames) != 0 {
			t.Errorf("tables %v, %v", found, err)
		}
		if told := anna.kinds(EventStoreTrouble); len(told) != 1 {
			t.Errorf("%d events", len(told))
		}
		config := r.server.AWSConfig()
		_, err = dynamo.New(dynamo.Config{AWS: &config}).Open(t.Context(), true)
		r.must(err)
		elapse(time.Minute)
		look()
		if err := anna.stop(); !errors.Is(err, ErrNotReleased) {
			t.Errorf("error %v", err)
		}
	})
}

// F29, H25: nobody is there for ten months. The checkpoints are: what came meanwhile is handled, and nothing twice.
func TestRunNobodyThereForMonths(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{Retention: 365 * 24 * time.Hour}, 3)
		first := r.start("anna", nil, inDynamoDB)
		r.fill(12, 5, time.Second)
		elapse(2 * time.Second)
		r.must(first.stop())
		elapse(150 * 24 * time.Hour)
		r.fill(12, 3, time.Second)
		r.split(r.open()[0])
		r.fill(12, 3, time.Second)
		elapse(150 * 24 * time.Hour)
		back := time.Now()
		anna, berta := r.start("anna", nil, inDynamoDB), r.start("berta", nil, inDynamoDB)
		elapse(10 * time.Second)
		if soon := r.log(since(back)); len(soon) == 0 || soon[0].start.Sub(back) > 2*time.Second {
			t.Errorf("%d records handled since", len(soon))
		}
		elapse(3 * time.Minute)
		r.must(anna.stop())
		r.must(berta.stop())
		if repeats := r.judge(0); repeats != 0 {
			t.Errorf("%d records repeated", repeats)
		}
	})
}

// H10, H11: one shard's handler fails, panics, or outlives its time, for an hour, and succeeds then. The other shards
// never wait for it, the consumer does not end, and the shard goes on by itself.
func TestRunFailingShardStopsNoOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 4)
		const bad = "shardId-000000000002"
		until := time.Now().Add(time.Hour)
		anna := r.start("anna", func(ctx context.Context, record *Record) error {
			if record.Shard != bad || time.Now().After(until) {
				return nil
			}
			switch record.Attempt % 3 {
			case 0:
				panic("no")
			case 1:
				<-ctx.Done()
				return ctx.Err()
			}
			return errors.New("no")
		}, func(c *Config) { c.HandlerTimeout, c.PollInterval = time.Second, 20*time.Second })
		r.fill(12, 30, time.Minute)
		for _, s := range anna.Stats().Shards {
			if s.Shard == bad && (s.Handled != 0 || s.Error == nil) || s.Shard != bad && (s.Queued != 0 || s.Handled == 0) {
				t.Errorf("%+v", s)
			}
		}
		elapse(time.Hour)
		r.must(anna.stop())
		r.judge(0)
	})
}
