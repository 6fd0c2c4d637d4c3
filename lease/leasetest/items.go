package leasetest

import (
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
	"pgregory.net/rapid"
)

// Items draws items of one key, with every field that its kind has, in all the shapes that a store has to
// keep. Counter is 0.
func Items(key lease.Key) *rapid.Generator[lease.Item] {
	return rapid.Custom(func(t *rapid.T) lease.Item {
		item := lease.Item{Key: key}
		switch key.Kind {
		case lease.KindLease:
			item.Lease = lease.Lease{
				Owner:         rapid.SampledFrom([]string{"", "anna", "berta@host/1", "\u00e9\u4e16 <&>\"\\"}).Draw(t, "owner"),
				Checkpoint:    positions().Draw(t, "checkpoint"),
				OwnerSwitches: rapid.Int64Range(0, 1<<62).Draw(t, "switches"),
				Parents:       names(2).Draw(t, "parents"),
				Children:      names(2).Draw(t, "children"),
				Root:          rapid.Bool().Draw(t, "root"),
			}
			if rapid.Bool().Draw(t, "has range") {
				item.Lease.HashRange = lease.HashRange{Start: "0", End: "340282366920938463463374607431768211455"}
			}
		case lease.KindWorker:
			item.Worker = lease.Worker{
				State:     rapid.SampledFrom([]lease.WorkerState{lease.Alive, lease.Fenced, lease.Left}).Draw(t, "state"),
				Streams:   names(4).Draw(t, "streams"),
				MaxShards: rapid.IntRange(0, 1<<30).Draw(t, "max shards"),
			}
		case lease.KindControl:
			item.Control.Version = lease.ControlVersion
			for _, name := range names(4).Draw(t, "streams") {
				item.Control.Streams = append(item.Control.Streams, streamRecords(name).Draw(t, "stream"))
			}
		}
		return item
	})
}

func positions() *rapid.Generator[lease.Position] {
	return rapid.Custom(func(t *rapid.T) lease.Position {
		switch rapid.IntRange(0, 4).Draw(t, "position") {
		case 0:
			return lease.TrimHorizon()
		case 1:
			return lease.ShardEnd()
		case 2:
			return lease.AtTimestamp(time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "at")))
		}
		digits := rapid.StringMatching(`0|[1-9][0-9]{0,128}`).Draw(t, "sequence")
		position, err := lease.AfterSequence(digits, rapid.Int64Range(0, 1<<62).Draw(t, "sub"))
		if err != nil {
			t.Fatal(err)
		}
		return position
	})
}

func streamRecords(name string) *rapid.Generator[lease.StreamRecord] {
	return rapid.Custom(func(t *rapid.T) lease.StreamRecord {
		record := lease.StreamRecord{
			Name:    name,
			ARN:     "arn:aws:kinesis:eu-central-1:123456789012:stream/" + name,
			Created: time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "created")),
			Ready:   rapid.Bool().Draw(t, "ready"),
		}
		if rapid.Bool().Draw(t, "pinned") {
			record.Start = lease.AtTimestamp(time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "start")))
		}
		return record
	})
}

// names draws up to most different names, sorted; none is nil, as stores give it back.
func names(most int) *rapid.Generator[[]string] {
	return rapid.Custom(func(t *rapid.T) []string {
		list := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9_.-]{1,20}`), 0, most, rapid.ID[string]).Draw(t, "names")
		if len(list) == 0 {
			return nil
		}
		return slices.Sorted(slices.Values(list))
	})
}

// samples are items of every kind whose fields are all set, or set to their extremes.
func samples() []lease.Item {
	sequence := func(s string, sub int64) lease.Position {
		position, err := lease.AfterSequence(s, sub)
		if err != nil {
			panic(err)
		}
		return position
	}
	start := lease.AtTimestamp(time.UnixMilli(1767365045678))
	full := lease.Lease{
		Owner:         "anna@host/1:k3",
		Checkpoint:    sequence("49640000000000000000000000000000000000000000000000000002", 17),
		OwnerSwitches: 3,
		Parents:       []string{"shardId-000000000001", "shardId-000000000002"},
		Children:      []string{"shardId-000000000007", "shardId-000000000008"},
		HashRange:     lease.HashRange{Start: "170141183460469231731687303715884105728", End: "340282366920938463463374607431768211455"},
		Root:          true,
	}
	leases := map[string]lease.Lease{
		"full":         full,
		"empty":        {},
		"one-parent":   {Parents: []string{"shardId-000000000001"}},
		"at-timestamp": {Checkpoint: start, Root: true},
		"shard-end":    {Checkpoint: lease.ShardEnd(), Children: full.Children},
		"longest":      {Checkpoint: sequence("1"+strings.Repeat("0", 128), 1<<62), OwnerSwitches: 1<<63 - 1},
		"zero":         {Checkpoint: sequence("0", 0)},
	}
	var items []lease.Item
	for shard, l := range leases {
		items = append(items, lease.Item{Key: lease.LeaseKey("orders", shard), Lease: l})
	}
	control := lease.Control{Version: lease.ControlVersion, Streams: []lease.StreamRecord{
		{Name: "orders", ARN: "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", Created: time.UnixMilli(1767365000123), Start: start, Ready: true},
		{Name: "orders-eu", ARN: "arn:aws:kinesis:eu-central-1:123456789012:stream/orders-eu", Created: time.UnixMilli(1)},
		{Name: "payments", ARN: "arn:aws:kinesis:eu-central-1:123456789012:stream/payments", Created: time.UnixMilli(2), Ready: true},
	}}
	return append(items,
		lease.Item{Key: lease.WorkerKey("alive"), Worker: lease.Worker{State: lease.Alive, Streams: []string{"orders", "payments"}, MaxShards: 12}},
		lease.Item{Key: lease.WorkerKey("fenced"), Worker: lease.Worker{State: lease.Fenced}},
		lease.Item{Key: lease.WorkerKey("left"), Worker: lease.Worker{State: lease.Left}},
		lease.Item{Key: lease.ControlKey(), Control: control},
	)
}

// blank is the least that an item of this key can hold.
func blank(key lease.Key) lease.Item {
	item := lease.Item{Key: key}
	switch key.Kind {
	case lease.KindWorker:
		item.Worker.State = lease.Alive
	case lease.KindControl:
		item.Control.Version = lease.ControlVersion
	}
	return item
}

// create, update and remove are the writes that the protocol makes.
func create(item lease.Item) lease.Write {
	item.Counter = 0
	return lease.Write{Op: lease.Create, Item: item}
}

// update turns the item as it stands into next.
func update(stands, next lease.Item) lease.Write {
	next.Counter = stands.Counter + 1
	return lease.Write{Op: lease.Update, Item: next, Counter: stands.Counter, Owner: stands.Lease.Owner}
}

func remove(stands lease.Item) lease.Write {
	return lease.Write{Op: lease.Delete, Item: lease.Item{Key: stands.Key}, Counter: stands.Counter, Owner: stands.Lease.Owner}
}
