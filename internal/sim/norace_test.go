//go:build !race

package sim

const (
	defaultSeeds = 200
	defaultHours = 10
	shrunkBugs   = 5
)
