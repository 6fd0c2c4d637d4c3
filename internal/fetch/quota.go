package fetch

import "time"

// Quota bounds what one reader asks of a shard: calls per second and bytes per second. It is a plain
// value, a function of the times it is told. The zero Quota has the service's limits and is full.
type Quota struct {
	Calls int64 // per second; 0 means 5
	Bytes int64 // per second; 0 means 2 MiB

	free time.Time // the next call is allowed from then on
}

// Wait returns how long to wait before the next call; 0 or less means none.
func (q Quota) Wait(now time.Time) time.Duration { return q.free.Sub(now) }
