// Package leasetest holds the tests that every lease.Store must pass. Each failure says which rule of
// the Store interface was broken, and why the rule is there.
package leasetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// TestStore runs the suite against the stores that open returns. It is Suite.Run without the
// optional parts.
func TestStore(t *testing.T, open func(t *testing.T) lease.Store) {
	Suite{Open: open}.Run(t)
}

// Suite is the conformance suite of lease.Store. Only Open is required; each other part makes
// further cases possible, and a case whose part is missing is not run.
type Suite struct {
	// Open returns a Store on which lease.Store.Open has not been called. It is called once for each case.
	// The Stores may share one table or folder: every case works in groups of its own, which have new names
	// in each run. Clean up with t.Cleanup.
	Open func(t *testing.T) lease.Store

	// Second returns another handle on the same store, as another process would have. Without it one
	// handle is used from many goroutines.
	Second func(t *testing.T, s lease.Store) lease.Store

	// Plant sets a string attribute of an item that exists, as a foreign program or a later leat would:
	// without regard to what leat knows. Peek reads one.
	Plant func(t *testing.T, s lease.Store, group string, key lease.Key, name, value string)
	Peek  func(t *testing.T, s lease.Store, group string, key lease.Key, name string) (value string, found bool)

	// Absent returns a Store that does not exist yet; its lease.Store.Open(ctx, true) would create it.
	Absent func(t *testing.T) lease.Store

	// Remove removes the whole store (the table, the folder) behind the back of its handles.
	Remove func(t *testing.T, s lease.Store)

	// Seed makes the random case replay; 0 is a new one in each run, and the case's log tells it.
	Seed uint64

	// Patience is how long a list that may be stale is asked for again until it is right, 30 s by
	// default.
	Patience time.Duration
}

// hang is how long a call may take after its context is done. Nothing is expected to take so long.
const hang = 30 * time.Second

// testCase is one rule. Its explanation stands in every failure message.
type testCase struct {
	name  string
	needs bool // whether the optional parts that it uses are there
	rule  string
	run   func(c *check)
}

// Run runs all cases as parallel subtests.
func (s Suite) Run(t *testing.T) {
	if s.Patience == 0 {
		s.Patience = 30 * time.Second
	}
	second := s.Second != nil
	plant := s.Plant != nil && s.Peek != nil
	var cases []testCase
	cases = append(cases, writeCases()...)
	cases = append(cases, holdCases()...)
	cases = append(cases, readCases()...)
	cases = append(cases, raceCases()...)
	cases = append(cases, propertyCases()...)
	cases = append(cases, storeCases(second, s.Absent != nil, s.Remove != nil)...)
	cases = append(cases, foreignCases(plant)...)
	for _, tc := range cases {
		if !tc.needs {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := &check{T: t, suite: s, rule: tc.rule, ctx: ctx, group: newGroup()}
			c.store = s.Open(t)
			c.open(c.store)
			tc.run(c)
		})
	}
}

// newGroup returns a name that no earlier run has used: a table may outlive a run.
func newGroup() string { return "test-" + strings.ToLower(rand.Text()[:12]) }

// check is a running case.
type check struct {
	*testing.T
	suite Suite
	rule  string
	ctx   context.Context
	store lease.Store
	group string
}

// fail ends the case.
func (c *check) fail(format string, args ...any) {
	c.Helper()
	c.Fatalf("%s\n\tthe rule: %s", fmt.Sprintf(format, args...), c.rule)
}

func (c *check) open(s lease.Store) lease.Info {
	c.Helper()
	info, err := s.Open(c.ctx, true)
	if err != nil {
		c.fail("Open: %v", err)
	}
	return info
}

// second returns another handle, or the same one if the suite has no way to make one.
func (c *check) second() lease.Store {
	c.Helper()
	if c.suite.Second == nil {
		return c.store
	}
	s := c.suite.Second(c.T, c.store)
	c.open(s)
	return s
}

// must writes and returns the item as written.
func (c *check) must(w lease.Write) lease.Item {
	c.Helper()
	item, err := c.store.Write(c.ctx, c.group, w)
	if err != nil {
		c.fail("%s of %s (counter %d, owner %q): %v, want success", w.Op, w.Item.Key, w.Counter, w.Owner, err)
	}
	if w.Op != lease.Delete && !w.Landed(item, true) {
		c.fail("%s of %s returned\n\t%+v, want the item as written,\n\t%+v", w.Op, w.Item.Key, item, w.Item)
	}
	return item
}

// conflict writes and wants a conflict with the item want; nil is absent.
func (c *check) conflict(w lease.Write, want *lease.Item) {
	c.Helper()
	_, err := c.store.Write(c.ctx, c.group, w)
	if problem := wantConflict(err, want); problem != "" {
		c.fail("%s of %s (counter %d, owner %q): %s", w.Op, w.Item.Key, w.Counter, w.Owner, problem)
	}
}

func wantConflict(err error, want *lease.Item) string {
	var conflict *lease.ConflictError
	switch {
	case err == nil:
		return "succeeded, want a *ConflictError"
	case !errors.As(err, &conflict):
		return fmt.Sprintf("%v, want a *ConflictError", err)
	case conflict.Found != (want != nil):
		return fmt.Sprintf("conflict with Found %t, want %t", conflict.Found, want != nil)
	case want != nil && !conflict.Item.Equal(*want):
		return fmt.Sprintf("conflict with\n\t%+v, want the item as it stands,\n\t%+v", conflict.Item, *want)
	}
	return ""
}

// stands wants the item in the store to be want; nil is absent.
func (c *check) stands(key lease.Key, want *lease.Item) {
	c.Helper()
	if problem := wantStands(c.ctx, c.store, c.group, key, want); problem != "" {
		c.fail("Get of %s: %s", key, problem)
	}
}

func wantStands(ctx context.Context, s lease.Store, group string, key lease.Key, want *lease.Item) string {
	item, err := s.Get(ctx, group, key)
	switch {
	case want == nil && err == nil:
		return fmt.Sprintf("found %+v, want ErrNotFound", item)
	case want == nil && !errors.Is(err, lease.ErrNotFound):
		return fmt.Sprintf("%v, want ErrNotFound", err)
	case want != nil && err != nil:
		return fmt.Sprintf("%v, want\n\t%+v", err, *want)
	case want != nil && !item.Equal(*want):
		return fmt.Sprintf("\n\t%+v, want\n\t%+v", item, *want)
	}
	return ""
}

// eventually asks again until a list that may be stale is as wanted.
func (c *check) eventually(problem func() string) {
	c.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(c.suite.Patience)
	for {
		said := problem()
		if said == "" {
			return
		}
		select {
		case <-deadline:
			c.fail("still after %v: %s", c.suite.Patience, said)
		case <-ticker.C:
		}
	}
}
