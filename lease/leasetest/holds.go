package leasetest

import (
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
)

// holdCases are about SetHold.
func holdCases() []testCase {
	first := lease.Hold{ID: "t1", Reason: "anna: replay \u4e16 <&>\"\\", For: 90 * time.Second}
	return []testCase{
		{"HoldBesideCounter", true,
			"SetHold writes the hold whatever the lease's counter and owner are, and nothing else: the owner's next write must not " +
				"be refused for it. What it wrote is there for Get and Leases.",
			func(c *check) {
				for _, item := range samples() {
					if item.Key.Kind != lease.KindLease {
						continue
					}
					item = c.must(create(item))
					next := c.must(update(item, item))
					held := c.must(lease.PutHold(item, first)) // by somebody who has not seen the update
					want := next
					want.Lease.Hold = first
					want.Lease.Hold.Version = 1
					if !held.Equal(want) {
						c.fail("SetHold returned\n\t%+v, want\n\t%+v", held, want)
					}
					c.stands(item.Key, &want)
					c.eventually(func() string {
						for got, err := range c.store.Leases(c.ctx, c.group, item.Key.Stream) {
							if got.Key == item.Key && got.Equal(want) && err == nil {
								return ""
							}
						}
						return "Leases does not show the hold"
					})
					c.must(update(next, next))
				}
			}},
		{"UpdateKeepsHold", true,
			"Create and Update leave the hold as it stands, and return it so, whatever their item says: a worker that does not know of a hold " +
				"must not remove it, and one that still knows of it must not put it back.",
			func(c *check) {
				item := owned("anna")
				item.Lease.Hold = lease.Hold{Version: 7, ID: "t0", For: time.Second}
				item = c.must(create(item))
				if item.Lease.Hold != (lease.Hold{}) {
					c.fail("a new lease has the hold %+v", item.Lease.Hold)
				}
				held := c.must(lease.PutHold(item, first))
				want := held
				want.Counter++
				if got := c.must(update(item, item)); !got.Equal(want) {
					c.fail("Update returned\n\t%+v, want\n\t%+v", got, want)
				}
				c.stands(item.Key, &want)
				free := c.must(lease.PutHold(want, lease.Hold{}))
				free.Counter++
				if got := c.must(update(want, want)); !got.Equal(free) {
					c.fail("Update returned\n\t%+v, want\n\t%+v", got, free)
				}
				c.stands(item.Key, &free)
			}},
		{"HoldOnItsVersion", true,
			"SetHold succeeds only if the hold that stands is one version before its own; otherwise it changes nothing and reports the item. " +
				"Two tools must not both believe that they hold a lease, and a late write must not put back a hold that was removed.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				put := lease.PutHold(item, first)
				held := c.must(put)
				c.conflict(put, &held)
				if !put.Landed(held, true) {
					c.fail("a SetHold that was repeated is not recognised by\n\t%+v", held)
				}
				other := lease.PutHold(item, lease.Hold{ID: "t2", For: time.Second})
				c.conflict(other, &held)
				if other.Landed(held, true) {
					c.fail("another tool's hold passes for one's own")
				}
				gone := c.must(lease.PutHold(held, lease.Hold{}))
				if gone.Lease.Hold != (lease.Hold{Version: 2}) {
					c.fail("the hold was removed and stands as %+v", gone.Lease.Hold)
				}
				c.conflict(put, &gone)
				c.stands(item.Key, &gone)
				c.must(remove(gone))
				c.conflict(put, nil)
				c.stands(item.Key, nil)
				c.must(create(owned("anna"))) // nothing of the old one is left
				c.must(put)
			}},
		{"BadHoldRefused", true,
			"A SetHold that breaks Write.Check is an error, not a conflict, and changes nothing: nobody could read the lease.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				worker := c.must(create(blank(lease.WorkerKey("anna"))))
				writes := []lease.Write{lease.PutHold(worker, first), {Op: lease.SetHold, Item: lease.Item{Key: item.Key}}}
				for _, h := range []lease.Hold{
					{Reason: "nobody"}, {For: time.Second}, {ID: "t1"}, {ID: "t1", For: -time.Second}, {ID: "t1", For: time.Microsecond},
					{ID: "t1", For: lease.MaxHold + time.Millisecond}, {ID: strings.Repeat("t", 65), For: time.Second},
					{ID: "t1", For: time.Second, Reason: strings.Repeat("r", 257)}, {ID: "t\xff", For: time.Second},
				} {
					writes = append(writes, lease.PutHold(item, h))
				}
				for _, w := range writes {
					_, err := c.store.Write(c.ctx, c.group, w)
					if _, conflict := err.(*lease.ConflictError); err == nil || conflict {
						c.fail("write %+v: %v, want an error that is no conflict", w, err)
					}
				}
				c.stands(item.Key, &item)
			}},
	}
}
