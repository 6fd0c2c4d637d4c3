package explore

import (
	"fmt"
	"strings"

	"github.com/leatstream/leat/lease"
)

func writeText(w lease.Write) string {
	key := w.Item.Key
	switch w.Op {
	case lease.Create:
		return "creates " + itemText(w.Item, true)
	case lease.Delete:
		return fmt.Sprintf("deletes %s #%d", key, w.Counter)
	}
	return "writes " + itemText(w.Item, true)
}

func itemText(it lease.Item, found bool) string {
	if !found {
		return "absent"
	}
	switch it.Key.Kind {
	case lease.KindLease:
		owner := "free"
		if it.Lease.Owner != "" {
			owner = "of " + it.Lease.Owner
		}
		return fmt.Sprintf("%s #%d: %s, at %v", it.Key.Shard, it.Counter, owner, it.Lease.Checkpoint)
	case lease.KindWorker:
		text := fmt.Sprintf("worker %s #%d: %v", it.Key.Worker, it.Counter, it.Worker.State)
		if len(it.Worker.Wants) > 0 {
			text += ", wants " + strings.Join(it.Worker.Wants, " ")
		}
		return text
	}
	return fmt.Sprintf("control #%d", it.Counter)
}

func (t *turn) describe(it *item) string {
	if it == nil {
		return "absent"
	}
	return itemText(it.Item, true)
}

func (l *letter) text() string {
	switch l.kind {
	case membersEvent:
		return "its read of the members"
	case leasesEvent:
		return "its read of the leases"
	case listedEvent:
		return "its listing of the shards"
	}
	return "its write of " + itemText(l.write.Item, true)
}
