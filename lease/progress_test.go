package lease_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leatstream/leat/lease"
)

// Whatever is acknowledged, in whatever order, and told how often: the checkpoint never goes back, and in the end it
// is the furthest of what was told. What is no sequence number is no progress.
func TestCheckpointIsTheFurthestAck(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := newGroup(t, shards(1)...)
		starts := []lease.Position{lease.TrimHorizon(), lease.AtTimestamp(time.UnixMilli(1))}
		start := rapid.SampledFrom(starts).Draw(rt, "start")
		a := g.join("a", func(c *lease.MemberConfig) { c.Start = start })
		g.pass(time.Second)
		furthest, before := start, start
		for range rapid.IntRange(1, 20).Draw(rt, "acks") {
			position := rapid.SampledFrom([]lease.Position{lease.TrimHorizon(), lease.Latest(), lease.AtTimestamp(time.UnixMilli(7))}).Draw(rt, "sentinel")
			if rapid.IntRange(0, 3).Draw(rt, "kind") > 0 {
				sequence, sub := rapid.IntRange(0, 120).Draw(rt, "sequence"), rapid.Int64Range(0, 2).Draw(rt, "sub")
				var err error
				if position, err = lease.AfterSequence(fmt.Sprint(sequence), sub); err != nil {
					rt.Fatal(err)
				}
				if !furthest.Begun() || position.Compare(furthest) > 0 {
					furthest = position
				}
			}
			g.step(a, lease.Acked{Shard: "shard-0", Token: a.open["shard-0"].Token, Position: position})
			g.pass(time.Duration(rapid.IntRange(0, 6000).Draw(rt, "pause")) * time.Millisecond)
			now := g.lease("shard-0").Checkpoint
			if now != before && (!now.Begun() || before.Begun() && now.Compare(before) < 0) {
				rt.Fatalf("the checkpoint went from %v to %v", before, now)
			}
			before = now
		}
		g.pass(10 * time.Second)
		if got := g.lease("shard-0").Checkpoint; got != furthest {
			rt.Fatalf("the checkpoint is %v, the furthest ack was %v", got, furthest)
		}
	})
}
