package leat

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// putAggregated writes the next n records of each of so many keys in one aggregated record, into the shard with
// this hash key.
func (r *river) putAggregated(keys, n int, hashKey string) {
	r.t.Helper()
	a := kpl.NewAggregator(0)
	r.mu.Lock()
	for range n {
		for k := range keys {
			key := fmt.Sprintf("key-%d", k)
			r.puts[key]++
			if full, err := a.Add(key, "", fmt.Appendf(nil, "%s %d", key, r.puts[key])); full || err != nil {
				r.t.Fatal(full, err)
			}
		}
	}
	r.mu.Unlock()
	r.putRaw(a.Finish(), hashKey)
}

func (r *river) putRaw(data []byte, hashKey string) {
	r.t.Helper()
	_, err := r.client.PutRecord(r.t.Context(), &kinesis.PutRecordInput{
		StreamName: aws.String(riverName), PartitionKey: aws.String("a"), ExplicitHashKey: aws.String(hashKey), Data: data,
	})
	r.must(err)
}

// User records are handled like any: in order, retried, checkpointed inside of their aggregated record. A clean
// stop in the middle of one repeats nothing (hazard H14).
func TestRunAggregated(t *testing.T) {
	for name, order := range map[string]Order{"per shard": PerShard(), "per key": PerKey(4)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRiver(t, local.Config{}, 1)
				for range 10 {
					r.putAggregated(5, 20, "1")
					r.fill(5, 1, 0)
				}
				work := func(_ context.Context, record *Record) error {
					time.Sleep(20 * time.Millisecond)
					if record.Aggregated != (record.SubSequenceNumber > 0) && record.SubSequenceNumber != 0 {
						t.Errorf("%+v", record)
					}
					return nil
				}
				for i := range 4 {
					w := r.start(fmt.Sprint("worker-", i), work, func(c *Config) { c.Order = order })
					elapse(2 * time.Second)
					r.must(w.stop())
				}
				failing := 0
				last := r.start("last", func(_ context.Context, record *Record) error {
					if failing++; failing%50 == 0 {
						return errors.New("no")
					}
					return nil
				}, func(c *Config) { c.Order = order })
				elapse(3 * time.Minute)
				r.must(last.stop())
				if repeats := r.judge(0); repeats != 0 {
					t.Errorf("%d records repeated", repeats)
				}
			})
		})
	}
}

// A crash in the middle of an aggregated record goes on at the last checkpoint, inside of it.
func TestRunAggregatedFailover(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.putAggregated(10, 100, "1")
		slow := func(context.Context, *Record) error { time.Sleep(30 * time.Millisecond); return nil }
		anna := r.start("anna", slow)
		elapse(12 * time.Second)
		anna.line.set(true)
		berta := r.start("berta", nil)
		elapse(time.Minute)
		r.must(berta.stop())
		anna.cancel()
		anna.line.set(false)
		<-anna.done
		repeats := r.judge(1)
		if first := r.log(byWorker("berta"))[0]; repeats == 0 || first.n == 1 {
			t.Errorf("%d repeats, berta begins with record %d of its key: want a checkpoint inside of the aggregated record", repeats, first.n)
		}
	})
}

// What looks like an aggregated record and is not comes as it is; strays are handled and counted, or dropped.
func TestRunOddAggregates(t *testing.T) {
	for policy, want := range map[Policy]int64{Continue: 20, Skip: 0} {
		synctest.Test(t, func(t *testing.T) {
			r := newRiver(t, local.Config{}, 2)
			r.putRaw([]byte("\xf3\x89\x9a\xc2 this is no aggregated record, though it begins like one"), "1")
			a := kpl.NewAggregator(0)
			for n := range 20 { // all belong to the other shard
				if _, err := a.Add(fmt.Sprint(n), "1", []byte("stray")); err != nil {
					t.Fatal(err)
				}
			}
			r.putRaw(a.Finish(), "340282366920938463463374607431768211455")
			var raw, strays int64
			anna := r.start("anna", func(_ context.Context, record *Record) error {
				if string(record.Data) == "stray" && record.Aggregated {
					strays++
				} else if record.PartitionKey == "a" && !record.Aggregated {
					raw++
				}
				return nil
			}, func(c *Config) { c.OnStray = policy })
			elapse(5 * time.Second)
			var bad, counted int64
			for _, s := range anna.Stats().Shards {
				bad, counted = bad+s.Bad, counted+s.Strays
			}
			r.must(anna.stop())
			if raw != 1 || bad != 1 || counted != 20 || strays != want {
				t.Errorf("%d raw, %d bad; %d strays counted, %d handled, want %d", raw, bad, counted, strays, want)
			}
		})
	}
}

// Tail takes aggregated records apart, too, also from inside of one.
func TestTailAggregated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		r.putAggregated(1, 10, "1")
		r.putAggregated(1, 5, "1")
		config := r.server.AWSConfig()
		read := func(from Position, n int) (got []string, at []Position) {
			for record, err := range Tail(t.Context(), TailConfig{Stream: riverName, AWS: &config, From: from, Shard: "shardId-000000000000"}) {
				r.must(err)
				p, err := record.position()
				r.must(err)
				got, at = append(got, string(record.Data)), append(at, p)
				if len(got) == n {
					break
				}
			}
			return got, at
		}
		all, at := read(TrimHorizon(), 15)
		rest, _ := read(at[6], 8)
		if all[0] != "key-0 1" || all[14] != "key-0 15" || rest[0] != "key-0 8" || rest[7] != "key-0 15" {
			t.Errorf("%q, then %q", all, rest)
		}
	})
}

func (r *Record) position() (Position, error) {
	return lease.AfterSequence(r.SequenceNumber, r.SubSequenceNumber)
}
