//go:build race

package sim

// defaultSeeds is small under the race detector, which is slow, and has nothing to find here: there is no goroutine. CI
// runs more without it.
const (
	defaultSeeds = 40
	defaultHours = 1
	shrunkBugs   = 2
)
