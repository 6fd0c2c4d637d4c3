//go:build unix

package chaos

import (
	"fmt"
	"runtime"
)

// host is where a slot's processes run, one after the other: this machine, or a network namespace of its own, which
// a wire joins to the one that the servers are in.
type host struct {
	address string // where its proxies listen, so that its processes reach them
	wire    *wire  // nil: loopback, which loses nothing

	todo  chan func()
	ended chan struct{}
}

// newHost makes the host of a slot.
func newHost(number int, wired bool) (*host, error) {
	h := &host{address: "127.0.0.1", todo: make(chan func()), ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		// A thread of its own, which is never unlocked and so ends here: it may be in another namespace. And the kernel
		// takes the end of the thread that started a process for the end of the parent.
		runtime.LockOSThread()
		for do := range h.todo {
			do()
		}
	}()
	var err error
	if wired {
		h.run(func() { h.wire, h.address, err = joinNamespace(number) })
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("making the network namespace of worker %d: %w", number, err)
	}
	return h, nil
}

// run runs a function on the host's thread, so that a process that it starts is in the host's namespace.
func (h *host) run(do func()) {
	done := make(chan struct{})
	h.todo <- func() { defer close(done); do() }
	<-done
}

// close ends the wire, and the namespace with its last process.
func (h *host) close() {
	if h.wire != nil {
		h.wire.close()
	}
	close(h.todo)
	<-h.ended
}
