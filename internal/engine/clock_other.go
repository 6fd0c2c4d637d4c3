//go:build !linux

package engine

import "github.com/leatstream/leat/lease"

// BootClock reads the lease clock.
func BootClock() lease.Time { return monotonic() }
