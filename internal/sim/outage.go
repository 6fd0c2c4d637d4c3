package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// outage is a time in which a service cannot be reached.
type outage struct {
	until time.Duration
	mode  outageMode
	rng   *rand.Rand // says which calls are throttled
}

type outageMode uint8

const (
	refuses    outageMode = iota // answers at once with an error, and does nothing
	swallows                     // requests are lost
	staysQuiet                   // requests are carried out, answers are lost
	throttles                    // refuses most of them
	numOutageModes
)

var (
	errRefused   = errors.New("service unavailable")
	errThrottled = errors.New("throttled")
)

// String is the mode in words.
func (m outageMode) String() string {
	return [...]string{"refuses", "swallows", "stays quiet", "throttles"}[m]
}

// String is the outage for the trace.
func (o *outage) String() string { return fmt.Sprintf("%v until %v", o.mode, o.until) }

// outageLength is mostly short, at times several failover times.
func outageLength(rng *rand.Rand) time.Duration {
	length := between(rng, 100*time.Millisecond, 8*time.Second)
	if rng.IntN(3) == 0 {
		length *= 4
	}
	return length
}

// begin begins an outage, in any mode.
func (o *outage) begin(w *world, length time.Duration, rng *rand.Rand) {
	*o = outage{until: w.now + length, mode: outageMode(rng.IntN(int(numOutageModes))), rng: rand.New(rand.NewPCG(rng.Uint64(), 0))}
}

// meets says what becomes of a request that comes to the service now.
func (o *outage) meets(w *world) (lost, quiet bool, err error) {
	switch {
	case w.now >= o.until || w.faults.healed:
		return false, false, nil
	case o.mode == swallows:
		return true, false, nil
	case o.mode == refuses:
		return false, false, errRefused
	case o.mode == throttles && o.rng.IntN(5) > 0:
		return false, false, errThrottled
	}
	return false, o.mode == staysQuiet, nil
}
