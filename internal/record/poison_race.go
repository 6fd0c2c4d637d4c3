//go:build race

package record

// poisoned: payloads are overwritten when they are settled, so that the tests find whoever reads one later.
const poisoned = true
