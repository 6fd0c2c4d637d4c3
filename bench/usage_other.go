//go:build !unix

package main

import (
	"errors"
	"time"
)

// spent needs getrusage.
func spent() (cpu time.Duration, peak int64, err error) {
	return 0, 0, errors.New("CPU time is not measured on this system")
}
