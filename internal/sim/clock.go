package sim

import (
	"time"

	"github.com/leatstream/leat/lease"
)

// maxDrift bounds how far a clock's rate may be off, in parts per million: ten times what NTP's slewing
// does, and well under the 1 % that the protocol allows.
const maxDrift = 1000

// clock is the lease clock of one process, as a function of the world's time.
type clock struct {
	origin lease.Time
	ppm    int64 // how much faster than the world it runs, in parts per million
}

// read is what the clock shows at a time of the world.
func (c clock) read(at time.Duration) lease.Time {
	return c.origin + lease.Time(int64(at)+int64(at)*c.ppm/1e6)
}

// when is the first time of the world at which the clock shows t or later.
func (c clock) when(t lease.Time) time.Duration {
	at := time.Duration(int64(t-c.origin) / (1e6 + c.ppm) * 1e6)
	for c.read(at) < t {
		at += max(1, time.Duration(t-c.read(at))/2)
	}
	return at
}
