//go:build race

package sim

import "time"

// The race detector is slow, and has nothing to find here: there is no goroutine in a run. CI runs more without it.
const (
	raced        = true
	defaultSeeds = 40
	defaultHours = 1
	shrunkBugs   = 1
	replaySpan   = 10 * time.Second
)
