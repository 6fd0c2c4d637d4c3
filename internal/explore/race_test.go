//go:build race

package explore

// The race detector makes each state some ten times dearer; and an exploration has one goroutine.
func init() { few = 8_000 }
