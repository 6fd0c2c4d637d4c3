package leasetest

import (
	"errors"
	"time"

	"github.com/leatstream/leat/lease"
)

// storeCases are about the store as a whole.
func storeCases(second, absent, gone bool) []testCase {
	return []testCase{
		{"OpenKeepsItems", second,
			"Open of a store that is there changes nothing, and its ID is the same for everybody: a new ID means that everything was lost.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				ids := map[string]bool{}
				for _, create := range []bool{true, false, true} {
					s := c.suite.Second(c.T, c.store)
					info, err := s.Open(c.ctx, create)
					if err != nil || info.ID == "" {
						c.fail("Open with create %t: ID %q, %v", create, info.ID, err)
					}
					ids[info.ID] = true
					if problem := wantStands(c.ctx, s, c.group, item.Key, &item); problem != "" {
						c.fail("Get through a second handle: %s", problem)
					}
				}
				if len(ids) != 1 {
					c.fail("three handles on one store were told %d IDs, want 1", len(ids))
				}
			}},
		{"HandlesSeeEachOther", second,
			"What one handle has written is there for Get, and for a consistent Members, of every other one.",
			func(c *check) {
				first, other := c.store, c.second()
				worker := c.must(create(blank(lease.WorkerKey("anna"))))
				for range 20 {
					first, other = other, first
					c.store = first
					worker = c.must(update(worker, worker))
					c.store = other
					c.stands(worker.Key, &worker)
					c.wantMembers(worker)
				}
			}},
		{"OpenCreatesOnlyIfTold", absent,
			"Open of a store that is not there is ErrStoreGone unless create is true. A wrong name must not make a new, empty store " +
				"out of which every record is handled again.",
			func(c *check) {
				s := c.suite.Absent(c.T)
				if _, err := s.Open(c.ctx, false); !errors.Is(err, lease.ErrStoreGone) {
					c.fail("Open without create: %v, want ErrStoreGone", err)
				}
				if _, err := s.Open(c.ctx, false); !errors.Is(err, lease.ErrStoreGone) {
					c.fail("Open without create, again: %v, want ErrStoreGone: did the first one create it?", err)
				}
				c.open(s)
			}},
		{"GoneIsAnError", gone,
			"Once the store is gone every call is ErrStoreGone, and none makes it again: an empty store under a running worker " +
				"would look as if all its leases had been deleted.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				c.suite.Remove(c.T, c.store)
				for range 2 { // the second time shows whether the first one made it again
					_, memberErr := c.store.Members(c.ctx, c.group, true)
					_, getErr := c.store.Get(c.ctx, c.group, item.Key)
					_, createErr := c.store.Write(c.ctx, c.group, create(blank(lease.WorkerKey("anna"))))
					_, updateErr := c.store.Write(c.ctx, c.group, update(item, item))
					var leaseErr error
					for _, err := range c.store.Leases(c.ctx, c.group, "orders") {
						leaseErr = err
					}
					for call, err := range map[string]error{"Members": memberErr, "Get": getErr, "Create": createErr, "Update": updateErr, "Leases": leaseErr} {
						if !errors.Is(err, lease.ErrStoreGone) {
							c.fail("%s: %v, want ErrStoreGone", call, err)
						}
					}
				}
			}},
	}
}

// foreignCases are about what others have written into the store.
func foreignCases(plant bool) []testCase {
	return []testCase{
		{"UnknownAttributesSurvive", plant,
			"Attributes that leat does not know stay as they are through every Update and SetHold: a later leat, a KCL or a person has put them there.",
			func(c *check) {
				for _, key := range []lease.Key{owned("").Key, lease.WorkerKey("anna"), lease.ControlKey()} {
					item := c.must(create(blank(key)))
					c.suite.Plant(c.T, c.store, c.group, key, "colour", "green")
					c.stands(key, &item)
					for range 3 {
						item = c.must(update(item, item))
					}
					if key.Kind == lease.KindLease {
						c.must(lease.PutHold(item, lease.Hold{ID: "t1", For: time.Minute}))
					}
					if value, found := c.suite.Peek(c.T, c.store, c.group, key, "colour"); !found || value != "green" {
						c.fail("the planted attribute of %s is %q (found %t) after three updates", key, value, found)
					}
				}
			}},
		{"BadLeaseIsAnItemError", plant,
			"A lease that cannot be read comes out of Leases with its Key and an *ItemError, and the others come, too; " +
				"Get of it is an *ItemError; Create does not overwrite it.",
			func(c *check) {
				bad := c.must(create(owned("anna")))
				good := c.must(create(blank(lease.LeaseKey("orders", "shardId-000000000001"))))
				c.suite.Plant(c.T, c.store, c.group, bad.Key, "checkpoint", "no position")
				c.eventually(func() string {
					found := map[lease.Key]error{}
					for item, err := range c.store.Leases(c.ctx, c.group, "orders") {
						found[item.Key] = err
					}
					var itemError *lease.ItemError
					if goodErr, ok := found[good.Key]; !ok || goodErr != nil || !errors.As(found[bad.Key], &itemError) || len(found) != 2 {
						return "Leases yielded " + describe(found)
					}
					return ""
				})
				var itemError *lease.ItemError
				if _, err := c.store.Get(c.ctx, c.group, bad.Key); !errors.As(err, &itemError) || itemError.Key != bad.Key.String() {
					c.fail("Get: %v, want an *ItemError of %s", err, bad.Key)
				}
				if _, err := c.store.Write(c.ctx, c.group, create(bad)); err == nil {
					c.fail("Create overwrote an item that cannot be read")
				}
				if value, _ := c.suite.Peek(c.T, c.store, c.group, bad.Key, "checkpoint"); value != "no position" {
					c.fail("the attribute that cannot be read is now %q", value)
				}
			}},
		{"BadMemberIsAnError", plant,
			"If a member cannot be read, Members fails with its *ItemError: a worker that is left out would count as gone, and its leases be taken.",
			func(c *check) {
				c.must(create(blank(lease.WorkerKey("anna"))))
				bad := c.must(create(blank(lease.WorkerKey("berta"))))
				c.suite.Plant(c.T, c.store, c.group, bad.Key, "state", "asleep")
				_, err := c.store.Members(c.ctx, c.group, true)
				var itemError *lease.ItemError
				if !errors.As(err, &itemError) || itemError.Key != bad.Key.String() {
					c.fail("Members: %v, want an *ItemError of %s", err, bad.Key)
				}
			}},
	}
}

func describe(found map[lease.Key]error) string {
	text := ""
	for key, err := range found {
		text += " " + key.String()
		if err != nil {
			text += " (" + err.Error() + ")"
		}
	}
	return text
}
