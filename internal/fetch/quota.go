package fetch

import "time"

// Quota spaces the calls that one reader makes to a shard: so many calls a second, so many bytes a
// second. It is a plain value, a function of the times it is told. The zero Quota has the service's
// limits.
//
// It is a token bucket that holds one token and may go into debt: a call spends the token, an answer
// of n bytes puts off the next one by n / Bytes. Nothing is saved up while the reader is idle, so that no
// second ever sees more than the limit, and an answer of 10 MiB puts the next call off by the five
// seconds for which the service would refuse it (Kinesis API reference, GetRecords).
type Quota struct {
	Calls int64 // per second; 0 means 5
	Bytes int64 // per second; 0 means 2 MiB

	free time.Time // when the token is back and the debt paid
}

// Wait returns how long to wait from now until the next call; never negative.
func (q Quota) Wait(now time.Time) time.Duration { return max(0, q.free.Sub(now)) }

// Charge returns the quota after a call that began at this time and was answered with n bytes.
func (q Quota) Charge(began time.Time, n int64) Quota {
	spacing := time.Second / time.Duration(or(q.Calls, callsPerSecond))
	debt := time.Duration(float64(n) / float64(or(q.Bytes, bytesPerSecond)) * float64(time.Second))
	debt = debt.Truncate(time.Millisecond) + time.Millisecond // the service may count in milliseconds
	if free := began.Add(max(spacing, debt)); free.After(q.free) {
		q.free = free
	}
	return q
}

func or(n, otherwise int64) int64 {
	if n <= 0 {
		return otherwise
	}
	return n
}
