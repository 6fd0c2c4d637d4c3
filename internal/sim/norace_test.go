//go:build !race

package sim

import "time"

const (
	raced        = false
	defaultSeeds = 200
	defaultHours = 10
	shrunkBugs   = 4
	replaySpan   = 2 * time.Minute
)
