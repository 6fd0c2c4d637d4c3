package lease_test

import (
	"fmt"
	"testing"

	"github.com/leatstream/leat/lease"
)

func BenchmarkShare(b *testing.B) {
	var free []string
	for i := range 10_000 {
		free = append(free, fmt.Sprintf("shardId-%012d", i))
	}
	var c []lease.Candidate
	for i := range 200 {
		c = append(c, lease.Candidate{ID: fmt.Sprintf("billing-7d4b9c8f6d-%05d/1@%08x", i, i*7919)})
	}
	for b.Loop() {
		lease.Share(free, c)
	}
}
