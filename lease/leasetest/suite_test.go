package leasetest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/lease/leasetest"
	"github.com/leatstream/leat/store/memory"
)

// A suite that passes everything is worth nothing: each bug below must be found by the case that is
// named, which says its rule.
var bugs = map[string]struct {
	foundBy string
	store   func(lease.Store) lease.Store
}{
	"create overwrites": {"CreateOnlyIfAbsent", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		item, err := s.Write(ctx, g, w)
		var conflict *lease.ConflictError
		if w.Op == lease.Create && errors.As(err, &conflict) {
			return item, nil
		}
		return item, err
	})},
	"counter is not checked": {"UpdateOnCounter", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		if stands, err := s.Get(ctx, g, w.Item.Key); err == nil && w.Op == lease.Update && stands.Lease.Owner == w.Owner {
			w.Counter, w.Item.Counter = stands.Counter, stands.Counter+1
		}
		return s.Write(ctx, g, w)
	})},
	"owner is not checked": {"UpdateOnOwner", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		if stands, err := s.Get(ctx, g, w.Item.Key); err == nil && w.Op == lease.Update {
			w.Owner = stands.Lease.Owner
		}
		return s.Write(ctx, g, w)
	})},
	"delete is unconditional": {"DeleteOnCondition", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		if stands, err := s.Get(ctx, g, w.Item.Key); err == nil && w.Op == lease.Delete {
			w.Counter, w.Owner = stands.Counter, stands.Lease.Owner
		}
		return s.Write(ctx, g, w)
	})},
	"conflict without the item": {"RepeatedWriteConflicts", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		item, err := s.Write(ctx, g, w)
		var conflict *lease.ConflictError
		if errors.As(err, &conflict) {
			err = &lease.ConflictError{Found: conflict.Found}
		}
		return item, err
	})},
	"read, then write": {"OneWinnerAStep", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		stands, err := s.Get(ctx, g, w.Item.Key)
		if err == nil && w.Op == lease.Update && w.Applies(stands, true) {
			for range 100 {
				runtime.Gosched()
			}
			for { // until it is written, whatever has happened in between
				if item, err := s.Write(ctx, g, w); err == nil {
					return item, nil
				}
				if stands, err = s.Get(ctx, g, w.Item.Key); err != nil {
					return lease.Item{}, err
				}
				w.Counter, w.Owner, w.Item.Counter = stands.Counter, stands.Lease.Owner, stands.Counter+1
			}
		}
		return s.Write(ctx, g, w)
	})},
	"attributes are not removed": {"UpdateIsAbsolute", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		if stands, err := s.Get(ctx, g, w.Item.Key); err == nil && w.Op == lease.Update && w.Item.Lease.Children == nil {
			w.Item.Lease.Children = stands.Lease.Children
		}
		return s.Write(ctx, g, w)
	})},
	"update writes the hold": {"UpdateKeepsHold", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		item, err := s.Write(ctx, g, w)
		if h := item.Lease.Hold; err == nil && w.Op == lease.Update && h != w.Item.Lease.Hold {
			erase := lease.PutHold(item, w.Item.Lease.Hold)
			return s.Write(ctx, g, erase)
		}
		return item, err
	})},
	"hold raises the counter": {"HoldBesideCounter", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		item, err := s.Write(ctx, g, w)
		if err == nil && w.Op == lease.SetHold {
			raised := lease.Write{Op: lease.Update, Item: item, Counter: item.Counter, Owner: item.Lease.Owner}
			raised.Item.Counter++
			return s.Write(ctx, g, raised)
		}
		return item, err
	})},
	"hold on the counter": {"HoldBesideCounter", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		if stands, err := s.Get(ctx, g, w.Item.Key); err == nil && w.Op == lease.SetHold && stands.Counter != w.Counter {
			return lease.Item{}, &lease.ConflictError{Item: stands, Found: true}
		}
		return s.Write(ctx, g, w)
	})},
	"a hold's version is not checked": {"HoldOnItsVersion", writer(func(s lease.Store, ctx context.Context, g string, w lease.Write) (lease.Item, error) {
		if stands, err := s.Get(ctx, g, w.Item.Key); err == nil && w.Op == lease.SetHold {
			w.Item.Lease.Hold.Version = stands.Lease.Hold.Version + 1
		}
		return s.Write(ctx, g, w)
	})},
	"groups share items": {"GroupsApart", func(s lease.Store) lease.Store { return lowered{s} }},
	"leases by prefix":   {"LeasesOnlyOfTheStream", func(s lease.Store) lease.Store { return prefixed{s} }},
	"first page only":    {"LeasesOfManyPages", func(s lease.Store) lease.Store { return clipped{s} }},
	"context ignored":    {"DoneContext", func(s lease.Store) lease.Store { return deaf{s} }},
}

const bugVariable = "LEASETEST_BUG"

// TestSuiteFindsBugs runs this test binary once for each bug.
func TestSuiteFindsBugs(t *testing.T) {
	t.Parallel()
	for name, bug := range bugs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestBrokenStore$/^"+bug.foundBy+"$", "-test.v")
			cmd.Env = append(os.Environ(), bugVariable+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestBrokenStore/"+bug.foundBy) ||
				!strings.Contains(string(out), "the rule: ") {
				t.Errorf("%s did not find it, or does not say its rule (%v):\n%s", bug.foundBy, err, out)
			}
		})
	}
}

// TestBrokenStore is what the runs above run. In a run of its own it shows that a store without bugs
// passes.
func TestBrokenStore(t *testing.T) {
	bug := bugs[os.Getenv(bugVariable)]
	if bug.store == nil {
		leasetest.TestStore(t, func(t *testing.T) lease.Store { return memory.New() })
		return
	}
	leasetest.Suite{
		Open:     func(t *testing.T) lease.Store { return bug.store(memory.New()) },
		Patience: time.Millisecond,
	}.Run(t)
}

type writing struct {
	lease.Store
	write func(lease.Store, context.Context, string, lease.Write) (lease.Item, error)
}

// writer breaks a store's Write.
func writer(write func(lease.Store, context.Context, string, lease.Write) (lease.Item, error)) func(lease.Store) lease.Store {
	return func(s lease.Store) lease.Store { return writing{s, write} }
}

func (s writing) Write(ctx context.Context, group string, w lease.Write) (lease.Item, error) {
	return s.write(s.Store, ctx, group, w)
}

// lowered does not tell groups apart that differ only in case.
type lowered struct{ lease.Store }

func (s lowered) Get(ctx context.Context, group string, key lease.Key) (lease.Item, error) {
	return s.Store.Get(ctx, strings.ToLower(group), key)
}

func (s lowered) Write(ctx context.Context, group string, w lease.Write) (lease.Item, error) {
	return s.Store.Write(ctx, strings.ToLower(group), w)
}

type prefixed struct{ lease.Store }

func (s prefixed) Leases(ctx context.Context, group, stream string) iter.Seq2[lease.Item, error] {
	return func(yield func(lease.Item, error) bool) {
		for _, name := range []string{stream, stream + "-eu"} {
			for item, err := range s.Store.Leases(ctx, group, name) {
				if !yield(item, err) {
					return
				}
			}
		}
	}
}

type clipped struct{ lease.Store }

func (s clipped) Leases(ctx context.Context, group, stream string) iter.Seq2[lease.Item, error] {
	return func(yield func(lease.Item, error) bool) {
		count := 0
		for item, err := range s.Store.Leases(ctx, group, stream) {
			if count++; count > 100 || !yield(item, err) {
				return
			}
		}
	}
}

type deaf struct{ lease.Store }

func (s deaf) Get(ctx context.Context, group string, key lease.Key) (lease.Item, error) {
	return s.Store.Get(context.WithoutCancel(ctx), group, key)
}
