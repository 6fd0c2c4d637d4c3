package engine

import (
	"syscall"
	"unsafe"

	"github.com/leatstream/leat/lease"
)

// clockBoottime is Linux's clock that goes on while the machine is suspended (clock_gettime(2)).
const clockBoottime = 7

// bootTime asks the system. Go's own monotonic clock stands still while a machine is suspended
// (golang/go#24595), so that a lease would look fresh to a worker that slept through its end.
func bootTime() lease.Time {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return monotonic()
	}
	return lease.Time(ts.Nano())
}
