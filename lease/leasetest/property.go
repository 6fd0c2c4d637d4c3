package leasetest

import (
	"maps"
	"slices"

	"github.com/leatstream/leat/lease"
	"pgregory.net/rapid"
)

func propertyCases() []testCase {
	return []testCase{{"LikeAMap", true,
		"Any sequence of writes and reads has the outcome that it has on a map under Write.Applies.",
		func(c *check) { rapid.Check(c.T, c.likeAMap) }}}
}

// likeAMap compares a random sequence of writes with a map.
func (c *check) likeAMap(t *rapid.T) {
	group := newGroup()
	model := make(map[lease.Key]lease.Item)
	handles := []lease.Store{c.store, c.second()}
	keys := []lease.Key{lease.LeaseKey("a", "s1"), lease.LeaseKey("a", "s2"), lease.LeaseKey("b", "s1"),
		lease.WorkerKey("anna"), lease.WorkerKey("a/s1"), lease.ControlKey()}

	t.Repeat(map[string]func(*rapid.T){
		"write": func(t *rapid.T) {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			stands, found := model[key]
			w := lease.Write{
				Op:      rapid.SampledFrom([]lease.Op{lease.Create, lease.Update, lease.Update, lease.Delete}).Draw(t, "op"),
				Item:    Items(key).Draw(t, "item"),
				Counter: stands.Counter,
				Owner:   stands.Lease.Owner,
			}
			switch rapid.IntRange(0, 5).Draw(t, "condition") { // mostly the right one
			case 0:
				w.Counter = rapid.Int64Range(0, 5).Draw(t, "counter")
			case 1:
				if key.Kind == lease.KindLease {
					w.Owner = rapid.SampledFrom([]string{"", "anna", "berta@host/1"}).Draw(t, "owner")
				}
			}
			if w.Op == lease.Update {
				w.Item.Counter = w.Counter + 1
			}
			handle := rapid.SampledFrom(handles).Draw(t, "handle")
			_, err := handle.Write(c.ctx, group, w)
			if !w.Applies(stands, found) {
				want := &stands
				if !found {
					want = nil
				}
				if problem := wantConflict(err, want); problem != "" {
					t.Fatalf("%s of %s: %s\n\tthe rule: %s", w.Op, key, problem, c.rule)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s of %s: %v, want success\n\tthe rule: %s", w.Op, key, err, c.rule)
			}
			if model[key] = w.Item; w.Op == lease.Delete {
				delete(model, key)
			}
		},
		"": func(t *rapid.T) { // after each step
			s := handles[len(model)%len(handles)]
			for _, key := range keys {
				var want *lease.Item
				if item, found := model[key]; found {
					want = &item
				}
				if problem := wantStands(c.ctx, s, group, key, want); problem != "" {
					t.Fatalf("Get of %s: %s\n\tthe rule: %s", key, problem, c.rule)
				}
			}
			members, err := s.Members(c.ctx, group, true)
			if err != nil {
				t.Fatalf("Members: %v", err)
			}
			want := byKey(slices.Collect(maps.Values(model)), func(k lease.Key) bool { return k.Kind != lease.KindLease })
			if problem := difference("Members", members, want); problem != "" {
				t.Fatalf("%s\n\tthe rule: %s", problem, c.rule)
			}
		},
	})
	for _, stream := range []string{"a", "b"} {
		c.group = group
		c.wantLeases(stream, slices.Collect(maps.Values(model))...)
	}
}
