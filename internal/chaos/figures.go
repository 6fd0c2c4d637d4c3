//go:build unix

package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// sent is a signal to a worker.
type sent struct {
	worker string
	at     time.Time
}

// pauses are the times from the signals to the next handler start elsewhere, for each shard that the worker held.
func pauses(calls []call, signals []sent) []time.Duration {
	shards := map[string][]call{}
	for _, c := range slices.SortedStableFunc(slices.Values(calls), func(a, b call) int { return a.start.Compare(b.start) }) {
		shards[c.shard] = append(shards[c.shard], c)
	}
	var took []time.Duration
	for _, s := range signals {
		for _, calls := range shards {
			next, _ := slices.BinarySearchFunc(calls, s.at, func(c call, at time.Time) int { return c.start.Compare(at) })
			if next == 0 || calls[next-1].worker != s.worker {
				continue
			}
			elsewhere := slices.IndexFunc(calls[next:], func(c call) bool { return c.worker != s.worker })
			if elsewhere >= 0 {
				took = append(took, calls[next+elsewhere].start.Sub(s.at))
			}
		}
	}
	slices.Sort(took)
	return took
}

// spread is the smallest, the median and the largest of sorted times, in seconds, and how many there are.
func spread(took []time.Duration) string {
	if len(took) == 0 {
		return "none"
	}
	n := len(took)
	median := (took[(n-1)/2] + took[n/2]) / 2
	return fmt.Sprintf("min %.2f median %.2f max %.2f s (%d)", took[0].Seconds(), median.Seconds(), took[n-1].Seconds(), n)
}

// tally counts words: "2 kill, 3 stop".
func tally(words []string) string {
	counts := map[string]int{}
	for _, w := range words {
		counts[w]++
	}
	var parts []string
	for _, w := range slices.SortedFunc(maps.Keys(counts), cmp.Compare) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[w], w))
	}
	return strings.Join(parts, ", ")
}
