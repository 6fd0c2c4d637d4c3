package leat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/local"
)

// failures are the ways in which a handler can fail: the rows of the table in docs/failures.md.
var failures = []struct {
	name string
	fail func(context.Context) error
	how  func(*policyWorld, *Config)
}{
	{"returns an error", func(context.Context) error { return errBad }, nil},
	{"returns `RetryAfter(1 min, err)`", func(context.Context) error { return RetryAfter(time.Minute, errBad) }, nil},
	{"panics", func(context.Context) error { panic("bad") }, nil},
	{"takes longer than `HandlerTimeout`, returns the context's error", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, nil},
	{"returns `Poison(err)`", func(context.Context) error { return Poison(errBad) }, nil},
	{"defers, then acks with an error", func(context.Context) error { return errBad }, (*policyWorld).deferring},
	{"batch: returns a `*BatchError`", func(context.Context) error { return errBad }, (*policyWorld).naming},
	{"batch: returns another error", func(context.Context) error { return errBad }, (*policyWorld).batching},
	{"batch: returns `Poison(err)`", func(context.Context) error { return Poison(errBad) }, (*policyWorld).batching},
	{"shard handler: returns a `*BatchError`", func(context.Context) error { return errBad }, (*policyWorld).sharding},
	{"returns `Stop(err)`", func(context.Context) error { return Stop(errBad) }, nil},
}

var errBad = errors.New("bad")

// policies are what becomes of it: the columns.
var policies = []struct {
	name string
	set  func(*Config, *policyWorld)
}{
	{"`Retry{}`", func(*Config, *policyWorld) {}},
	{"`Attempts: 3`, `DeadLetter`", func(c *Config, w *policyWorld) { c.Retry.Attempts, c.DeadLetter = 3, w }},
	{"`Attempts: 3, Then: Skip`", func(c *Config, _ *policyWorld) { c.Retry = Retry{Attempts: 3, Then: Skip} }},
	{"`Attempts: 3, Then: Halt`", func(c *Config, _ *policyWorld) { c.Retry = Retry{Attempts: 3, Then: Halt} }},
}

// policyWorld is what happens to three records of a shard, of which the second always fails.
type policyWorld struct {
	fail func(context.Context) error

	mu      sync.Mutex
	tries   map[string]int // by key
	handled []string
	letters []string
	opened  int
}

func (w *policyWorld) try(ctx context.Context, r *Record) error {
	w.mu.Lock()
	w.tries[r.PartitionKey]++
	w.mu.Unlock()
	if r.PartitionKey == "bad" {
		return w.fail(ctx)
	}
	return nil
}

func (w *policyWorld) done(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handled = append(w.handled, key)
}

func (w *policyWorld) handle(ctx context.Context, r *Record) error {
	err := w.try(ctx, r)
	if err == nil {
		w.done(r.PartitionKey)
	}
	return err
}

func (w *policyWorld) deferring(cfg *Config) {
	cfg.Handler = HandlerFunc(func(ctx context.Context, r *Record) error {
		ack, kept := Defer(ctx), r.Clone()
		go func() { ack(w.handle(ctx, kept)) }()
		return nil
	})
}

func (w *policyWorld) inBatches(name bool) BatchHandlerFunc {
	return func(ctx context.Context, records []Record) error {
		for i := range records {
			if err := w.try(ctx, &records[i]); err != nil {
				if name {
					return &BatchError{Index: i, Err: err}
				}
				return err
			}
			if name {
				w.done(records[i].PartitionKey)
			}
		}
		for i := range records {
			if !name {
				w.done(records[i].PartitionKey)
			}
		}
		return nil
	}
}

func (w *policyWorld) naming(cfg *Config) {
	cfg.Handler, cfg.Batch = nil, &Batch{Handler: w.inBatches(true), MaxWait: time.Second}
}

func (w *policyWorld) batching(cfg *Config) {
	cfg.Handler, cfg.Batch = nil, &Batch{Handler: w.inBatches(false), MaxWait: time.Second}
}

func (w *policyWorld) sharding(cfg *Config) {
	w.naming(cfg)
	handle := cfg.Batch.Handler
	cfg.Batch.Handler, cfg.Shards = nil, &policyShards{w, handle}
}

type policyShards struct {
	w *policyWorld
	BatchHandler
}

func (s *policyShards) Open(_ context.Context, shard *Shard) error {
	s.w.opened++
	shard.State = s.w.opened
	return nil
}

func (s *policyShards) Handle(ctx context.Context, shard *Shard, records []Record) error {
	if shard.State != s.w.opened || shard.ID != records[0].Shard || shard.Token != records[0].Token {
		return errors.New("another shard's state")
	}
	return s.HandleBatch(ctx, records)
}

func (s *policyShards) Close(_ context.Context, _ *Shard, reason Reason) error {
	if s.w.opened--; reason != ReasonReleased || s.w.opened != 0 {
		return errors.New("closed too often, or with another reason")
	}
	return nil
}

// Send implements DeadLetter.
func (w *policyWorld) Send(_ context.Context, r *Record, cause error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letters = append(w.letters, r.PartitionKey)
	if cause == nil {
		return errors.New("no cause")
	}
	return nil
}

// outcome runs one cell and says what came of it, in the words of the table.
func outcome(t *testing.T, row, column int) (said string) {
	synctest.Test(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		for _, key := range []string{"first", "bad", "last"} {
			r.put(key, 0)
		}
		w := &policyWorld{fail: failures[row].fail, tries: map[string]int{}}
		anna := r.start("anna", nil, func(c *Config) {
			c.Handler, c.HandlerTimeout = HandlerFunc(w.handle), time.Minute
			if how := failures[row].how; how != nil {
				how(w, c)
			}
			policies[column].set(c, w)
		})
		elapse(10 * time.Minute)
		var stats ShardStats
		if held := anna.Stats().Shards; len(held) == 1 {
			stats = held[0]
		}
		told := anna.kinds(EventRetrying, EventSkipped, EventDeadLettered, EventCloseFailed)
		err := anna.stop()
		checkpoint := r.leases()["shardId-000000000000"].Lease.Checkpoint
		_, _, passed := checkpoint.Sequence()
		tries := fmt.Sprintf("%d tries", w.tries["bad"])
		if w.tries["bad"] == 1 {
			tries = "1 try"
		}
		follows := "; the rest is handled"
		handled := maps.Collect(func(yield func(string, int) bool) {
			for _, key := range w.handled {
				if !yield(key, 1) {
					return
				}
			}
		})
		if len(w.handled) != len(handled) || !slices.Contains(w.handled, "first") || !passed {
			t.Errorf("handled %v, checkpoint %v", w.handled, checkpoint)
		}
		if handled["last"] == 0 {
			follows = "; what is behind it waits"
		}
		switch {
		case errors.Is(err, ErrGivenUp):
			said = tries + ", then `Run` returns `ErrGivenUp`"
		case errors.Is(err, errBad):
			said = "`Run` returns err"
		case err != nil:
			t.Error(err)
		case len(w.letters) > 0:
			said = tries + ", dead letter" + follows
			if len(w.letters) != 1 || w.letters[0] != "bad" || stats.GivenUp != 1 || !slices.Equal(told, []EventKind{EventDeadLettered}) {
				t.Errorf("letters %v, given up %d, told %v", w.letters, stats.GivenUp, told)
			}
		case stats.GivenUp > 0:
			said = tries + ", skipped" + follows
			if stats.GivenUp != 1 || !slices.Equal(told, []EventKind{EventSkipped}) {
				t.Errorf("given up %d, told %v", stats.GivenUp, told)
			}
		default:
			said = "tried for ever" + follows
			if !slices.Equal(told, []EventKind{EventRetrying}) || !strings.Contains(stats.Why, "retrying a record") && !strings.Contains(stats.Why, "handler running") {
				t.Errorf("told %v, why %q", told, stats.Why)
			}
		}
	})
	return said
}

const failuresPage = "docs/failures.md"

// TestFailurePolicies runs every cell of the table in docs/failures.md, and holds the page against what it sees.
// UPDATE=1 writes the table.
func TestFailurePolicies(t *testing.T) {
	cells := make([][]string, len(failures))
	t.Run("cells", func(t *testing.T) {
		for row := range failures {
			cells[row] = make([]string, len(policies))
			for column := range policies {
				t.Run(fmt.Sprintf("%s/%s", failures[row].name, policies[column].name), func(t *testing.T) {
					cells[row][column] = outcome(t, row, column)
				})
			}
		}
	})
	var table strings.Builder
	table.WriteString("| the handler ... |")
	for _, p := range policies {
		fmt.Fprintf(&table, " %s |", p.name)
	}
	table.WriteString("\n|" + strings.Repeat("---|", len(policies)+1) + "\n")
	for row := range failures {
		fmt.Fprintf(&table, "| %s | %s |\n", failures[row].name, strings.Join(cells[row], " | "))
	}
	page, err := os.ReadFile(failuresPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- TestFailurePolicies writes this -->\n", "<!-- end -->"
	head, rest, ok := strings.Cut(string(page), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has lost the marks around the table", failuresPage)
	case os.Getenv("UPDATE") != "":
		if err := os.WriteFile(failuresPage, []byte(head+begin+table.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	case old != table.String():
		t.Errorf("%s says\n%s\nbut this was seen (UPDATE=1 writes it):\n%s", failuresPage, old, table.String())
	}
}
