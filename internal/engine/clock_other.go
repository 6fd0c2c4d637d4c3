//go:build !linux

package engine

import "github.com/leatstream/leat/lease"

func bootTime() lease.Time { return monotonic() }
