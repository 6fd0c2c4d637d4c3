package leasetest

import (
	"github.com/leatstream/leat/lease"
)

func writeCases() []testCase {
	return []testCase{
		{"CreateOnlyIfAbsent", true,
			"Create succeeds only if there is no such item; otherwise it changes nothing and reports the item as it stands. " +
				"Two workers that find a shard without a lease both create it, and neither may reset what the other began.",
			func(c *check) {
				first := owned("anna")
				c.must(create(first))
				c.conflict(create(owned("berta")), &first)
				c.stands(first.Key, &first)
			}},
		{"UpdateOnCounter", true,
			"Update succeeds only at the counter that it names. The counter is what fences a worker that was silent for too long.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				item = c.must(update(item, item))
				for _, counter := range []int64{0, 2, 1 << 40} {
					w := update(item, item)
					w.Counter, w.Item.Counter = counter, counter+1
					c.conflict(w, &item)
				}
				c.stands(item.Key, &item)
			}},
		{"UpdateOnOwner", true,
			"Update of a lease succeeds only while the owner that it names has it, even if the counter fits; \"\" is a free lease. " +
				"A lease that was deleted and made again can show an old counter.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				for _, owner := range []string{"", "berta", "Anna", "ann", "anna "} {
					w := update(item, item)
					w.Owner = owner
					c.conflict(w, &item)
				}
				free := item
				free.Lease.Owner = ""
				free.Counter = item.Counter + 1
				c.must(update(item, free))
				w := update(free, item)
				w.Owner = "anna"
				c.conflict(w, &free)
				c.must(update(free, item))
			}},
		{"ConflictWithAbsent", true,
			"Update and Delete of an item that is absent are conflicts with Found false, and create nothing. " +
				"A worker whose item was deleted must learn that it was shut out.",
			func(c *check) {
				for _, key := range []lease.Key{lease.LeaseKey("orders", "s1"), lease.WorkerKey("anna"), lease.ControlKey()} {
					c.conflict(update(blank(key), blank(key)), nil)
					c.conflict(remove(blank(key)), nil)
					c.stands(key, nil)
				}
			}},
		{"DeleteOnCondition", true,
			"Delete succeeds only at its counter and owner. Clean-up must not remove a lease that somebody has just taken.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				w := remove(item)
				w.Counter++
				c.conflict(w, &item)
				w = remove(item)
				w.Owner = ""
				c.conflict(w, &item)
				c.stands(item.Key, &item)
				c.must(remove(item))
				c.stands(item.Key, nil)
				c.conflict(remove(item), nil)
			}},
		{"CreateAfterDelete", true,
			"After a Delete the item is absent in every respect: it can be created again, and nothing of the old one shows.",
			func(c *check) {
				for _, item := range samples() {
					c.must(create(item))
					c.must(remove(item))
					c.must(create(blank(item.Key)))
					want := blank(item.Key)
					c.stands(item.Key, &want)
				}
			}},
		{"RepeatedWriteConflicts", true,
			"A write that is repeated after it has landed is a conflict with an item Equal to the one written. " +
				"That is how a worker recognises its own write when the answer was lost.",
			func(c *check) {
				for _, item := range samples() {
					w := create(item)
					c.must(w)
					c.conflict(w, &w.Item)
					next := update(item, item)
					c.must(next)
					c.conflict(next, &next.Item)
					c.stands(item.Key, &next.Item)
				}
			}},
		{"UpdateIsAbsolute", true,
			"Update sets every known attribute as in Item and removes those that Item does not have: a freed lease has no owner left.",
			func(c *check) {
				for _, item := range samples() {
					c.must(create(item))
					next := blank(item.Key)
					next.Counter = 1
					c.must(update(item, next))
					c.stands(item.Key, &next)
					c.must(update(next, item))
				}
			}},
		{"BadWriteRefused", true,
			"A write that breaks Write.Check is an error, not a conflict, and changes nothing.",
			func(c *check) {
				item := c.must(create(owned("anna")))
				skips := update(item, item)
				skips.Item.Counter++
				begins := create(lease.Item{Key: lease.LeaseKey("orders", "s2"), Counter: 1})
				begins.Item.Counter = 1
				for _, w := range []lease.Write{skips, begins, {Op: lease.Create}, {Item: item}, {Op: 99, Item: item},
					{Op: lease.Create, Item: lease.Item{Key: lease.LeaseKey("orders/eu", "s1")}},
					{Op: lease.Create, Item: lease.Item{Key: lease.WorkerKey("")}}} {
					_, err := c.store.Write(c.ctx, c.group, w)
					if _, conflict := err.(*lease.ConflictError); err == nil || conflict {
						c.fail("write %+v: %v, want an error that is no conflict", w, err)
					}
				}
				c.stands(item.Key, &item)
				c.stands(begins.Item.Key, nil)
			}},
		{"GroupsApart", true,
			"A group's items are its own, whatever its name looks like.",
			func(c *check) {
				prefix := c.group
				for i, name := range oddNames {
					c.group = prefix + name
					item := owned("anna")
					item.Lease.OwnerSwitches = int64(i)
					c.must(create(item))
				}
				for i, name := range oddNames {
					c.group = prefix + name
					want := owned("anna")
					want.Lease.OwnerSwitches = int64(i)
					c.stands(want.Key, &want)
					c.must(remove(want))
				}
			}},
	}
}

// oddNames differ from each other, but not in every way that a name can be kept. Worker ids and groups may
// be any text.
var oddNames = []string{"a", "A", "a/b", "a/../a", "..", ".", "a ", " a", "a@host:8080", "a%2fb", "a=2fb", "a\\b", "con", "a.", "*",
	"a\nb", "\u00e9", "e\u0301", "\u4e16\u754c", "'; --", "<&>", long("a"), long("b")}

func long(end string) string {
	text := make([]byte, 400)
	for i := range text {
		text[i] = 'x'
	}
	return string(text) + end
}

// owned is a lease that a worker has.
func owned(worker string) lease.Item {
	return lease.Item{Key: lease.LeaseKey("orders", "shardId-000000000000"), Lease: lease.Lease{Owner: worker}}
}
