package leat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leatstream/leat/local"
)

// keeper is a ShardHandler that keeps the book of its shards' lives.
type keeper struct {
	name string
	mu   *sync.Mutex
	book *[]string // "worker shard what"
}

func (k *keeper) write(s *Shard, what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*k.book = append(*k.book, fmt.Sprintf("%s %s %s", k.name, strings.TrimPrefix(s.ID, "shardId-00000000000"), what))
}

func (k *keeper) Open(_ context.Context, s *Shard) error { k.write(s, "open"); return nil }

func (k *keeper) Handle(_ context.Context, s *Shard, records []Record) error {
	for range records {
		k.write(s, "record")
	}
	return nil
}

func (k *keeper) Close(ctx context.Context, s *Shard, reason Reason) error {
	k.write(s, string(reason))
	if (ctx.Err() != nil) != (reason == ReasonLost) {
		k.write(s, fmt.Sprintf("closed %s with context %v", reason, ctx.Err()))
	}
	return nil
}

// A shard handler hears of each shard's begin and end, once, with the reason; a parent's handler is closed before
// its children's are opened, and no other worker opens a shard before it was closed where it was before.
func TestRunShardHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		var mu sync.Mutex
		var book []string
		start := func(name string) *worker {
			return r.start(name, nil, func(c *Config) {
				c.Handler, c.Shards = nil, &keeper{name: name, mu: &mu, book: &book}
			})
		}
		anna := start("anna")
		elapse(5 * time.Second)
		r.put("k", 0)
		elapse(2 * time.Second)
		r.split(r.open()[0]) // into 1 and 2
		elapse(90 * time.Second)
		berta := start("berta") // gets one of them
		elapse(2 * time.Minute)
		anna.line.set(true) // the store is cut off: berta takes the other one
		elapse(time.Minute)
		anna.line.set(false)
		elapse(10 * time.Second)
		r.must(anna.stop())
		r.must(berta.stop())
		mu.Lock()
		defer mu.Unlock()
		open := map[string]string{}
		moved, lost := 0, 0
		for _, line := range book {
			part := strings.SplitN(line, " ", 3)
			worker, shard, what := part[0], part[1], part[2]
			switch what {
			case "open":
				if by := open[shard]; by != "" && by == worker {
					t.Errorf("%s while it is open", line)
				}
				if by := open[shard]; by != "" && by != worker {
					moved++
				}
				open[shard] = worker
			case "lost":
				lost++
			case "record", "finished", "released":
				if open[shard] != worker {
					t.Errorf("%s, but it is open at %q", line, open[shard])
				}
				if what != "record" {
					open[shard] = ""
				}
			default:
				t.Error(line)
			}
		}
		want := []string{"anna 0 open", "anna 0 record", "anna 0 finished"}
		if len(book) < 3 || !slices.Equal(book[:3], want) || moved != 1 || lost != 1 {
			t.Errorf("%d moved without a word, %d lost, book:\n%s", moved, lost, strings.Join(book, "\n"))
		}
		for shard, by := range open {
			if by != "" {
				t.Errorf("shard %s was never closed by %s", shard, by)
			}
		}
	})
}

// P5 with order per key: a clean stop repeats nothing, though keys are unevenly loaded and much is handled
// above a record that waits for its turn.
func TestRunPerKeyCleanStopRepeatsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		order := func(c *Config) { c.Order = PerKey(8) }
		work := func(_ context.Context, record *Record) error {
			if record.PartitionKey == "hot" {
				time.Sleep(400 * time.Millisecond)
			}
			return nil
		}
		for range 20 {
			r.put("hot", 0)
			r.fill(20, 1, 0)
		}
		for round := range 4 {
			name := fmt.Sprint("worker-", round)
			w := r.start(name, work, order)
			elapse(2500 * time.Millisecond)
			r.must(w.stop())
			if len(r.log(byWorker(name))) == 0 && round == 0 {
				t.Error("nothing was handled")
			}
		}
		last := r.start("last", nil, order)
		elapse(time.Minute)
		r.must(last.stop())
		if repeats := r.judge(0); repeats != 0 {
			t.Errorf("%d records repeated", repeats)
		}
	})
}
