//go:build !race

package record

const poisoned = false
