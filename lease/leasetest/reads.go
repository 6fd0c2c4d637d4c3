package leasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
)

func readCases() []testCase {
	return []testCase{
		{"RoundTrip", true,
			"Every field of every kind of item comes back as it was written: from Get, and from Members or Leases.",
			func(c *check) {
				items := samples()
				for _, item := range items {
					c.must(create(item))
					c.stands(item.Key, &item)
				}
				c.wantMembers(items...)
				c.wantLeases("orders", items...)
			}},
		{"MembersHoldNoLeases", true,
			"Members returns the workers and the control item, and no lease: it is read each second, and a group can have thousands of leases.",
			func(c *check) {
				c.wantMembers()
				anna, control := blank(lease.WorkerKey("anna")), blank(lease.ControlKey())
				c.must(create(owned("anna")))
				c.wantMembers()
				c.must(create(anna))
				c.must(create(control))
				c.wantMembers(anna, control)
				c.must(remove(anna))
				c.wantMembers(control)
			}},
		{"LeasesOnlyOfTheStream", true,
			"Leases yields the leases of the one stream, also if another's name begins with its name.",
			func(c *check) {
				var all []lease.Item
				for _, stream := range []string{"orders", "orders-eu", "orders.eu", "order", "Orders", "orders-", "a"} {
					for _, shard := range []string{"shardId-000000000000", "shardId-000000000001", "worker", "control"} {
						item := blank(lease.LeaseKey(stream, shard))
						c.must(create(item))
						all = append(all, item)
					}
				}
				for _, stream := range []string{"orders", "orders-eu", "orders.eu", "order", "Orders", "orders-", "a", "b"} {
					c.wantLeases(stream, all...)
				}
			}},
		{"LeasesOfManyPages", true,
			"Leases yields every lease of a stream once, however many there are.",
			func(c *check) {
				var all []lease.Item
				for i := range 300 {
					item := blank(lease.LeaseKey("orders", fmt.Sprintf("shardId-%012d", i)))
					c.must(create(item))
					all = append(all, item)
				}
				c.wantLeases("orders", all...)
			}},
		{"AnyName", true,
			"A worker's id may be any text; different ids are different items.",
			func(c *check) {
				var all []lease.Item
				for i, name := range oddNames {
					item := blank(lease.WorkerKey(name))
					item.Worker.MaxShards = i + 1
					c.must(create(item))
					all = append(all, item)
				}
				for _, item := range all {
					c.stands(item.Key, &item)
				}
				c.wantMembers(all...)
			}},
		{"WriteWhileIterating", true,
			"The body of a loop over Leases may call the Store, and may leave the loop early; the sequence can be ranged over again.",
			func(c *check) {
				for i := range 5 {
					c.must(create(blank(lease.LeaseKey("orders", fmt.Sprintf("s%d", i)))))
				}
				sequence := c.store.Leases(c.ctx, c.group, "orders")
				for item, err := range sequence {
					if err != nil {
						c.fail("Leases: %v", err)
					}
					c.must(update(item, item))
					c.stands(item.Key, &lease.Item{Key: item.Key, Counter: item.Counter + 1})
					break
				}
				count := 0
				for _, err := range sequence {
					if err != nil {
						c.fail("Leases, ranged over again: %v", err)
					}
					count++
				}
				if count != 5 {
					c.fail("Leases, ranged over again, yielded %d leases, want 5", count)
				}
			}},
		{"DoneContext", true,
			"Every call ends soon after its context is done, with the context's error. A read that was cut short never looks complete.",
			runDoneContext},
	}
}

func runDoneContext(c *check) {
	item := c.must(create(owned("anna")))
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	calls := map[string]func() error{
		"Members": func() error { _, err := c.store.Members(ctx, c.group, true); return err },
		"Get":     func() error { _, err := c.store.Get(ctx, c.group, item.Key); return err },
		"Write":   func() error { _, err := c.store.Write(ctx, c.group, update(item, item)); return err },
		"Leases": func() error {
			var last error
			for _, err := range c.store.Leases(ctx, c.group, "orders") {
				last = err
			}
			return last
		},
	}
	for name, call := range calls {
		answer := make(chan error, 1)
		go func() { answer <- call() }()
		select {
		case err := <-answer:
			if !errors.Is(err, context.Canceled) {
				c.fail("%s with a cancelled context: %v, want context.Canceled", name, err)
			}
		case <-time.After(hang):
			c.fail("%s with a cancelled context did not return", name)
		}
	}
	// Cancelled in the middle: an error, or everything.
	for i := range 50 {
		c.must(create(blank(lease.LeaseKey("many", fmt.Sprintf("s%d", i)))))
	}
	ctx, cancel = context.WithCancel(c.ctx)
	defer cancel()
	seen := 0
	var last error
	for _, err := range c.store.Leases(ctx, c.group, "many") {
		cancel()
		if last = err; err == nil {
			seen++
		}
	}
	if last == nil && seen != 50 {
		c.fail("Leases, cancelled in the middle, yielded %d of 50 leases and no error", seen)
	}
}

// wantMembers wants a consistent read of the members, and soon any read, to give those of the items
// that are no leases.
func (c *check) wantMembers(items ...lease.Item) {
	c.Helper()
	want := byKey(items, func(k lease.Key) bool { return k.Kind != lease.KindLease })
	read := func(consistent bool) string {
		members, err := c.store.Members(c.ctx, c.group, consistent)
		if err != nil {
			return "Members: " + err.Error()
		}
		return difference("Members", members, want)
	}
	if problem := read(true); problem != "" {
		c.fail("%s", problem)
	}
	c.eventually(func() string { return read(false) })
}

// wantLeases wants Leases to yield those of the items that are leases of the stream.
func (c *check) wantLeases(stream string, items ...lease.Item) {
	c.Helper()
	want := byKey(items, func(k lease.Key) bool { return k.Kind == lease.KindLease && k.Stream == stream })
	c.eventually(func() string { return leasesDiffer(c.ctx, c.store, c.group, stream, want) })
}

func leasesDiffer(ctx context.Context, s lease.Store, group, stream string, want []lease.Item) string {
	var got []lease.Item
	for item, err := range s.Leases(ctx, group, stream) {
		if err != nil {
			return "Leases: " + err.Error()
		}
		got = append(got, item)
	}
	return difference("Leases of "+stream, got, want)
}

// byKey returns the items whose key fits, sorted.
func byKey(items []lease.Item, fits func(lease.Key) bool) []lease.Item {
	var out []lease.Item
	for _, item := range items {
		if fits(item.Key) {
			out = append(out, item)
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

func compareKeys(a, b lease.Item) int { return strings.Compare(a.Key.String(), b.Key.String()) }

// difference says how got, in any order, differs from want, which is sorted.
func difference(what string, got, want []lease.Item) string {
	got = slices.Clone(got)
	slices.SortFunc(got, compareKeys)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got) || i < len(want) && compareKeys(got[i], want[i]) > 0:
			return fmt.Sprintf("%s: %s is missing", what, want[i].Key)
		case i >= len(want) || compareKeys(got[i], want[i]) < 0:
			return fmt.Sprintf("%s: %s does not belong there", what, got[i].Key)
		case !got[i].Equal(want[i]):
			return fmt.Sprintf("%s:\n\t%+v, want\n\t%+v", what, got[i], want[i])
		}
	}
	return ""
}
