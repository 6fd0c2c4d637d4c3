package sim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/leatstream/leat/lease"
)

// S15: what others have put into the table stays as it is. Others are another stream's workers in the
// same group, later versions of leat, a Java KCL, and people.

// otherStream is a second stream that the group reads, by workers that are not simulated.
const otherStream = "payments"

// plantItems puts another stream's items into the group before its first worker comes: a worker that is never
// heard of again, its lease, and the stream's record, which makes the control item.
func (w *world) plantItems() {
	if !w.faults.on[foreignItem] || !w.faults.strike(foreignItem) {
		return
	}
	worker := lease.Item{Key: lease.WorkerKey("elsewhere.1"), Counter: 7}
	worker.Worker = lease.Worker{State: lease.Alive, Streams: []string{otherStream}}
	held := lease.Item{Key: lease.LeaseKey(otherStream, "shardId-000000000000"), Counter: 3}
	held.Lease = lease.Lease{Owner: "elsewhere.1", Root: true}
	control := lease.Item{Key: lease.ControlKey(), Counter: 5}
	control.Control = lease.Control{Version: lease.ControlVersion, Streams: []lease.StreamRecord{
		{Name: otherStream, ARN: "arn:of:" + otherStream, Created: epoch, Start: lease.TrimHorizon(), Ready: true},
	}}
	for _, item := range []lease.Item{worker, held, control} {
		w.store.keep(item.Key, item, true)
		w.faults.count[foreignItem]++
	}
}

// isForeign says whether an item is none of this stream's workers' business.
func isForeign(key lease.Key) bool {
	return key.Stream == otherStream || key.Worker == "elsewhere.1"
}

// unreadable is what a read of the leases shows of an item that a later version wrote.
func (w *world) unreadable() []*lease.ItemError {
	if !w.faults.on[foreignItem] {
		return nil
	}
	return []*lease.ItemError{{Key: lease.LeaseKey(w.cfg.Stream, foreignShard).String(), Err: errors.New("of a later version")}}
}

// foreignShard is the shard of the unreadable lease.
const foreignShard = "shardId-from-the-future"

// unknownAttributes are what others add to items: a KCL's and somebody's own.
var unknownAttributes = lease.Attributes{"throughputKBps": lease.Number("12.5"), "note": "do not touch", "tags": []string{"a", "b"}}

// plantAttributes adds attributes that leat does not know to an item.
func (w *world) plantAttributes(rng *rand.Rand) {
	all := slices.Concat(w.store.members, w.store.leases)
	if len(all) == 0 {
		return
	}
	h := all[rng.IntN(len(all))]
	if v := h.versions[len(h.versions)-1]; v.found && h.stored == nil {
		w.faults.count[foreignAttribute]++
		h.stored = v.item.Attributes()
		maps.Copy(h.stored, unknownAttributes)
		w.note(h.key.Shard, "", "attributes planted in %s", h.key)
	}
}

// storeAttributes does to the attributes of an item what the Store interface says of a write: it sets
// what the item has of lease.AttributeNames, removes the others of them, and leaves the rest alone. Only items
// with planted attributes are kept so.
func (s *storeModel) storeAttributes(sender string, op lease.Op, item lease.Item, key lease.Key) {
	h := s.history[key]
	if h.stored == nil {
		return
	}
	if op == lease.Delete {
		h.stored = nil
		return
	}
	values := item.Attributes()
	if s.w.opt.Bug == WholeItem {
		h.stored = lease.Attributes{}
	}
	for _, name := range lease.AttributeNames(op, key.Kind) {
		if value, there := values[name]; there {
			h.stored[name] = value
		} else {
			delete(h.stored, name)
		}
	}
	for name, value := range unknownAttributes {
		if !reflect.DeepEqual(h.stored[name], value) {
			s.w.violate("S15 foreign", key.Shard, sender, "attribute %s of %s was %v and is now %v", name, key, value, h.stored[name])
			return
		}
	}
	if again, err := lease.DecodeItem(key, h.stored); err != nil || !again.Equal(item) {
		s.w.violate("S15 foreign", key.Shard, sender, "%s with unknown attributes reads as %s (%v), written was %s", key, describe(again), err, describe(item))
	}
}

// foreign looks at a write that should not be (S15).
func (c *checks) foreign(sender string, wr lease.Write, old, item lease.Item) {
	key := wr.Item.Key
	switch {
	case isForeign(key):
		c.w.violate("S15 foreign", key.Shard, sender, "%v of %s, which is another stream's", wr.Op, key)
	case key.Shard == foreignShard:
		c.w.violate("S15 foreign", key.Shard, sender, "%v of a lease that nobody could read", wr.Op)
	case key.Kind == lease.KindControl:
		for _, record := range old.Control.Streams {
			if now, ok := item.Control.Stream(record.Name); record.Name != c.w.cfg.Stream && (!ok || fmt.Sprint(now) != fmt.Sprint(record)) {
				c.w.violate("S15 foreign", "", sender, "the record of stream %s was %v and is now %v", record.Name, record, now)
			}
		}
	}
}
