//go:build !race

package sim

import "time"

const (
	raced        = false
	defaultSeeds = 200
	defaultHours = 10
	shrunkBugs   = 5
	replaySpan   = 2 * time.Minute
)
