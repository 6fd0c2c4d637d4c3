//go:build race

package leat

// The race detector makes each byte some ten times dearer.
func init() { flood /= 6 }
