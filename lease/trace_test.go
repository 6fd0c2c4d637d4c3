package lease_test

import (
	"fmt"
	"strings"

	"github.com/leatstream/leat/lease"
)

// The words in which goldens tell what happens. An item is named with the counter that it has after the write.

func itemText(k lease.Key, counter int64) string {
	name := "control"
	switch k.Kind {
	case lease.KindLease:
		name = "lease " + k.Shard
	case lease.KindWorker:
		name = "worker " + k.Worker
	}
	return fmt.Sprintf("%s #%d", name, counter)
}

func writeText(w lease.Write, old lease.Item) string {
	key := w.Item.Key
	switch w.Op {
	case lease.Create:
		return "creates " + itemText(key, 0) + ": " + changes(lease.Item{Key: key}, w.Item)
	case lease.Delete:
		return "deletes " + itemText(key, w.Counter)
	case lease.SetHold:
		h := w.Item.Lease.Hold
		if h.ID == "" {
			return fmt.Sprintf("removes the hold of lease %s, version %d", key.Shard, h.Version)
		}
		return fmt.Sprintf("puts lease %s on hold for %v, version %d: %s", key.Shard, h.For, h.Version, h.Reason)
	}
	return "writes " + itemText(key, w.Item.Counter) + ": " + changes(old, w.Item)
}

// changes is what differs between two versions of an item, the counter aside.
func changes(old, item lease.Item) string {
	var said []string
	differ := func(differs bool, format string, value any) {
		if differs {
			said = append(said, fmt.Sprintf(format, value))
		}
	}
	a, b := old.Lease, item.Lease
	isLease := item.Key.Kind == lease.KindLease
	differ(a.Owner != b.Owner && b.Owner != "", "owner %s", b.Owner)
	differ(a.Owner != b.Owner && b.Owner == "", "free%s", "")
	differ(isLease && (a.Checkpoint != b.Checkpoint || item.Counter == 0), "at %v", b.Checkpoint)
	differ(a.Root != b.Root, "root%s", "")
	differ(item.Counter == 0 && len(b.Parents) > 0, "parents %s", strings.Join(b.Parents, " "))
	differ(len(b.Children) > len(a.Children), "children %s", strings.Join(b.Children, " "))
	differ(old.Worker.State != item.Worker.State, "%v", item.Worker.State)
	wants := strings.ReplaceAll(strings.Join(item.Worker.Wants, " "), "orders/", "")
	differ(wants != strings.ReplaceAll(strings.Join(old.Worker.Wants, " "), "orders/", ""), "wants %s", cmpOr(wants, "nothing"))
	for i, s := range item.Control.Streams {
		differ(i >= len(old.Control.Streams) || s != old.Control.Streams[i], "stream orders, its leases are all made: %v", s.Ready)
	}
	if said == nil {
		return map[lease.Kind]string{
			lease.KindLease: "the same", lease.KindWorker: "heartbeat", lease.KindControl: "there are leases to read",
		}[item.Key.Kind]
	}
	return strings.Join(said, ", ")
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func conflictText(w lease.Write, c *lease.ConflictError) string {
	switch {
	case w.Landed(c.Item, c.Found):
		return "it stands so already"
	case !c.Found:
		return "it is not there"
	case c.Item.Key.Kind == lease.KindWorker:
		return fmt.Sprintf("it is #%d, %v", c.Item.Counter, c.Item.Worker.State)
	}
	return fmt.Sprintf("it is #%d, owner %q", c.Item.Counter, c.Item.Lease.Owner)
}

func reportText(r lease.Report) string {
	text := string(r.Kind)
	if r.Shard != "" {
		text += " " + r.Shard
	}
	switch {
	case r.Err != nil:
		text += ": " + r.Err.Error()
	case r.Worker != "" && r.Kind == lease.Took:
		text += " from " + r.Worker
	case r.Worker != "" && r.Kind == lease.Released:
		text += " to " + r.Worker
	case r.Worker != "":
		text += " " + r.Worker
	}
	return text
}
