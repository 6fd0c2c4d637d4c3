package demo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/lease"
)

// What is counted while a run goes on.
func TestTally(t *testing.T) {
	for _, test := range []struct {
		name                              string
		calls                             []string
		done, repeated, passed, disorders int
	}{
		{"in order", []string{"w1:a1", "w1:b1", "w2:a2"}, 3, 0, 0, 0},
		{"a replay", []string{"w1:a1", "w1:a2", "w2:a1", "w2:a2", "w2:a3"}, 3, 2, 0, 0},
		{"one passed", []string{"w1:a1", "w1:a3"}, 2, 0, 1, 1},
		{"one passed, and handled after all", []string{"w1:a1", "w1:a3", "w1:a2"}, 3, 0, 0, 1},
		{"two keys each passed one", []string{"w1:a2", "w1:b2"}, 2, 0, 2, 2},
	} {
		tally := newTally()
		for _, c := range script(t, test.calls...) {
			tally.addCall(c)
		}
		if tally.done != test.done || tally.repeated != test.repeated || tally.passed != test.passed || tally.disorders != test.disorders {
			t.Errorf("%s: %d handled, %d repeated, %d passed, %d out of order; want %d, %d, %d, %d", test.name, tally.done, tally.repeated,
				tally.passed, tally.disorders, test.done, test.repeated, test.passed, test.disorders)
		}
	}
}

// What a crash would repeat is what was handled after the checkpoint.
func TestUnsaved(t *testing.T) {
	tally := newTally()
	for _, c := range script(t, "w1:a1", "w1:a2", "w1:a3") {
		tally.addCall(c)
	}
	at := func(sequence string) lease.Position {
		p, err := lease.AfterSequence(sequence, 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, step := range []struct {
		checkpoint lease.Position
		want       int
	}{{lease.TrimHorizon(), 3}, {at("1"), 2}, {at("2"), 1}, {lease.ShardEnd(), 0}} {
		if got := tally.unsaved("s", step.checkpoint); got != step.want {
			t.Errorf("with the checkpoint at %v %d are unsaved, want %d", step.checkpoint, got, step.want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m meter
	now := time.Unix(0, 0)
	var got []float64
	for _, n := range []int{0, 100, 200, 300, 300, 300, 300} { // each second
		got = append(got, m.rate(now, n))
		now = now.Add(time.Second)
	}
	if want := []float64{0, 100, 100, 100, 50, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("rates %v, want %v", got, want)
	}
}

// Children stand below the last of their parents.
func TestFamilies(t *testing.T) {
	shard := func(id string, parents ...string) types.Shard {
		s := types.Shard{ShardId: aws.String(id), SequenceNumberRange: &types.SequenceNumberRange{}}
		if len(parents) > 0 {
			s.ParentShardId = &parents[0]
		}
		if len(parents) > 1 {
			s.AdjacentParentShardId = &parents[1]
		}
		return s
	}
	var got []string
	for _, s := range inFamilies([]types.Shard{shard("0"), shard("1"), shard("2"), shard("3", "0"), shard("4", "0"), shard("5", "4", "1"), shard("6", "5")}) {
		got = append(got, fmt.Sprint(strings.Repeat(">", s.Depth), s.ID, s.Parents))
	}
	if want := []string{"0[]", ">3[0]", ">4[0]", ">>5[1 4]", ">>>6[5]", "1[]", "2[]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A shard stands still from its owner's last handler start to the next owner's first.
func TestGaps(t *testing.T) {
	var calls []handled
	for _, c := range []struct {
		worker, shard string
		second        int64
	}{{"w1", "a", 0}, {"w1", "a", 5}, {"w1", "b", 6}, {"w2", "a", 7}, {"w1", "a", 8}, {"w1", "b", 9}} {
		calls = append(calls, handled{worker: c.worker, shard: c.shard, at: time.Unix(c.second, 0)})
	}
	got := gaps(calls)
	if want := []time.Duration{2 * time.Second, time.Second}; len(got) != 1 || !slices.Equal(got["a"], want) {
		t.Errorf("%v, want a: %v", got, want)
	}
	if m := median([]time.Duration{1, 2, 6, 8}); m != 4 {
		t.Errorf("median %v", m)
	}
}
