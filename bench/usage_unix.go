//go:build unix

package main

import (
	"runtime"
	"syscall"
	"time"
)

// spent is the CPU time of this process so far, that of the kernel for it included, and the most memory that it has
// had, in bytes.
func spent() (cpu time.Duration, peak int64, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, err
	}
	peak = int64(u.Maxrss)
	if runtime.GOOS != "darwin" { // which counts bytes where others count KiB
		peak <<= 10
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), peak, nil
}
