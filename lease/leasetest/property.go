package leasetest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/leatstream/leat/lease"
)

// The size of the random test.
const (
	randomRuns  = 30
	randomSteps = 40
)

func propertyCases() []testCase {
	return []testCase{{"LikeAMap", true,
		"Any sequence of writes and reads has the outcome that it has on a map under Write.Applies.",
		func(c *check) {
			seed := c.suite.Seed
			if seed == 0 {
				seed = rand.Uint64()
			}
			c.Logf("Suite.Seed: %d replays this", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			for range randomRuns {
				c.likeAMap(r)
			}
		}}}
}

// likeAMap compares a random sequence of writes with a map.
func (c *check) likeAMap(r *rand.Rand) {
	c.group = newGroup()
	model := make(map[lease.Key]lease.Item)
	handles := []lease.Store{c.store, c.second()}
	keys := []lease.Key{lease.LeaseKey("a", "s1"), lease.LeaseKey("a", "s2"), lease.LeaseKey("b", "s1"),
		lease.WorkerKey("anna"), lease.WorkerKey("a/s1"), lease.ControlKey()}
	for range randomSteps {
		key := oneOf(r, keys...)
		stands, found := model[key]
		w := lease.Write{
			Op:      oneOf(r, lease.Create, lease.Update, lease.Update, lease.Delete, lease.SetHold),
			Item:    RandomItem(r, key),
			Counter: stands.Counter,
			Owner:   stands.Lease.Owner,
		}
		switch r.IntN(6) { // mostly the right condition
		case 0:
			w.Counter = r.Int64N(6)
		case 1:
			if key.Kind == lease.KindLease {
				w.Owner = oneOf(r, "", "anna", "berta@host/1")
			}
		}
		switch {
		case w.Op == lease.Update:
			w.Item.Counter = w.Counter + 1
		case w.Op == lease.SetHold && key.Kind != lease.KindLease:
			continue
		case w.Op == lease.SetHold:
			w.Item.Lease.Hold = RandomHold(r, stands.Lease.Hold.Version+oneOf[int64](r, 1, 1, 1, 2))
		}
		written, err := oneOf(r, handles...).Write(c.ctx, c.group, w)
		switch {
		case !w.Applies(stands, found):
			want := &stands
			if !found {
				want = nil
			}
			if problem := wantConflict(err, want); problem != "" {
				c.fail("%s of %s: %s", w.Op, key, problem)
			}
		case err != nil:
			c.fail("%s of %s: %v, want success", w.Op, key, err)
		case w.Op == lease.Delete:
			delete(model, key)
		case !written.Equal(w.Apply(stands)):
			c.fail("%s of %s returned\n\t%+v, want\n\t%+v", w.Op, key, written, w.Apply(stands))
		default:
			model[key] = w.Apply(stands)
		}
		c.wantModel(oneOf(r, handles...), keys, model)
	}
	for _, stream := range []string{"a", "b"} {
		c.wantLeases(stream, slices.Collect(maps.Values(model))...)
	}
}

// wantModel compares what a handle reads with the map.
func (c *check) wantModel(s lease.Store, keys []lease.Key, model map[lease.Key]lease.Item) {
	for _, key := range keys {
		var want *lease.Item
		if item, found := model[key]; found {
			want = &item
		}
		if problem := wantStands(c.ctx, s, c.group, key, want); problem != "" {
			c.fail("Get of %s: %s", key, problem)
		}
	}
	members, err := s.Members(c.ctx, c.group, true)
	if err != nil {
		c.fail("Members: %v", err)
	}
	want := byKey(slices.Collect(maps.Values(model)), func(k lease.Key) bool { return k.Kind != lease.KindLease })
	if problem := difference("Members", members, want); problem != "" {
		c.fail("%s", problem)
	}
}
