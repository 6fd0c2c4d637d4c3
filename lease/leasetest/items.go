package leasetest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
)

// RandomItem returns an item of this key with every field that its kind has, in all the shapes that a
// store has to keep. Counter is 0.
func RandomItem(r *rand.Rand, key lease.Key) lease.Item {
	item := lease.Item{Key: key}
	switch key.Kind {
	case lease.KindLease:
		item.Lease = lease.Lease{
			Owner:         oneOf(r, "", "anna", "berta@host/1", "\u00e9\u4e16 <&>\"\\"),
			Checkpoint:    randomPosition(r),
			OwnerSwitches: r.Int64N(1 << 62),
			Parents:       randomNames(r, 2),
			Children:      randomNames(r, 2),
			Root:          r.IntN(2) == 0,
			Hold:          RandomHold(r, r.Int64N(4)),
		}
		if r.IntN(2) == 0 {
			item.Lease.HashRange = lease.HashRange{Start: "0", End: "340282366920938463463374607431768211455"}
		}
	case lease.KindWorker:
		item.Worker = lease.Worker{
			State:     oneOf(r, lease.Alive, lease.Leaving, lease.Fenced, lease.Left),
			Streams:   randomNames(r, 4),
			Wants:     randomNames(r, 4),
			MaxShards: r.IntN(1 << 30),
			Failover:  oneOf(r, 0, time.Millisecond, 6*time.Second, lease.MaxFailover),
		}
	case lease.KindControl:
		item.Control.Version = lease.ControlVersion
		for _, name := range randomNames(r, 4) {
			item.Control.Streams = append(item.Control.Streams, randomRecord(r, name))
		}
	}
	return item
}

// RandomHold returns a hold with this version, in all the shapes that a store has to keep.
func RandomHold(r *rand.Rand, version int64) lease.Hold {
	if version == 0 || r.IntN(3) == 0 {
		return lease.Hold{Version: version}
	}
	return lease.Hold{
		Version: version,
		ID:      oneOf(r, "t1", "anna@host/1 k3"),
		Reason:  oneOf(r, "", "berta: \u4e16 <&>\"\\", strings.Repeat("r", 256)),
		For:     oneOf(r, time.Millisecond, 90*time.Second, lease.MaxHold),
	}
}

func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func randomPosition(r *rand.Rand) lease.Position {
	switch r.IntN(5) {
	case 0:
		return lease.TrimHorizon()
	case 1:
		return lease.ShardEnd()
	case 2:
		return lease.AtTimestamp(time.UnixMilli(r.Int64N(1 << 42)))
	}
	digits := make([]byte, 1+r.IntN(129))
	for i := range digits {
		digits[i] = '0' + byte(r.IntN(10))
	}
	position, err := lease.AfterSequence(string(digits), r.Int64N(1<<62))
	if err != nil {
		panic(err) // at most 129 digits are a sequence number
	}
	return position
}

func randomRecord(r *rand.Rand, name string) lease.StreamRecord {
	record := lease.StreamRecord{
		Name:    name,
		ARN:     "arn:aws:kinesis:eu-central-1:123456789012:stream/" + name,
		Created: time.UnixMilli(r.Int64N(1 << 42)),
		Ready:   r.IntN(2) == 0,
	}
	if r.IntN(2) == 0 {
		record.Start = lease.AtTimestamp(time.UnixMilli(r.Int64N(1 << 42)))
	}
	return record
}

// randomNames returns up to most different names, sorted; none is nil, as stores give it back.
func randomNames(r *rand.Rand, most int) []string {
	const letters = "abcXYZ019_.-"
	set := map[string]bool{}
	for range r.IntN(most + 1) {
		name := make([]byte, 1+r.IntN(20))
		for i := range name {
			name[i] = letters[r.IntN(len(letters))]
		}
		set[string(name)] = true
	}
	return slices.Sorted(maps.Keys(set))
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
		lease.Item{Key: lease.WorkerKey("alive"), Worker: lease.Worker{State: lease.Alive, Streams: []string{"orders", "payments"}, MaxShards: 12, Failover: 6 * time.Second}},
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
