//go:build unix

package wire

import (
	"syscall"
	"testing"
	"time"
)

// perCPU runs the benchmark and reports payload MB per second of the process's CPU time, garbage collection and
// all, which a busy machine changes less than it does the wall clock's.
func perCPU(b *testing.B, payload int64, run func()) {
	before := cpu(b)
	n := 0
	for b.Loop() {
		run()
		n++
	}
	b.ReportMetric(float64(payload)*float64(n)/1e6/(cpu(b)-before).Seconds(), "MB/cpu-s")
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
