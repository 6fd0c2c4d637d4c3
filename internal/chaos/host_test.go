//go:build unix

package chaos

import (
	"net"
	"testing"
)

// A host behind a wire reaches the near end through the wire, and nothing else: not even this process's loopback.
func TestWiredHost(t *testing.T) {
	if !inPrivateNetwork(t) {
		return
	}
	devices, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range devices {
		if addresses, err := device.Addrs(); err != nil || len(addresses) > 0 && device.Flags&net.FlagLoopback == 0 {
			t.Errorf("the network is not private: it has %s with %v, %v", device.Name, addresses, err)
		}
	}
	h, err := newHost(1, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	address, heard := echo(t, h.address)
	loopback, _ := echo(t, "127.0.0.1")
	var c caller
	h.run(func() {
		c = dial(t, address) // a connection stays in the namespace that it began in
		if conn, err := net.Dial("tcp", loopback); err == nil {
			t.Error("it reaches this process's loopback")
			conn.Close()
		}
	})
	if t.Failed() {
		return
	}

	c.says("1")
	c.mustHear("1")
	mustBeHeard(t, heard, "1")

	h.wire.set(weather{lostIn: 1})
	c.says("2")
	mustBeHeard(t, heard, "2")
	c.mustBeSilent()
	h.wire.set(weather{})
	c.mustHear("2") // the kernel has sent it again

	h.wire.set(weather{lostOut: 1})
	c.says("3")
	c.mustBeSilent()
	if len(heard) != 0 {
		t.Error("packets from the worker arrived")
	}
	h.wire.set(weather{})
	c.mustHear("3")
}
