//go:build unix

package chaos

import (
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// device is an end of a wire by hand, with room for all packets of the test.
type device struct {
	sent, arrived chan string // by whoever uses the device, and at it
}

func newDevice() device { return device{make(chan string, 5000), make(chan string, 5000)} }

func (d device) Read(packet []byte) (int, error) {
	text, ok := <-d.sent
	if !ok {
		return 0, io.EOF
	}
	return copy(packet, text), nil
}

func (d device) Write(packet []byte) (int, error) {
	d.arrived <- string(packet)
	return len(packet), nil
}

func (d device) Close() error {
	close(d.sent)
	return nil
}

// take takes what has arrived.
func (d device) take() (packets []string) {
	for len(d.arrived) > 0 {
		packets = append(packets, <-d.arrived)
	}
	return packets
}

func TestWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := newDevice(), newDevice()
		w := newWire(near, far)
		defer w.close()
		for _, test := range []struct {
			name     string
			weather  weather
			patience time.Duration
			in, out  int // of 1000 packets, those that arrive at the worker, and from it
			within   int // so many
			swapped  bool
		}{
			{"fine", weather{}, 0, 1000, 1000, 0, false},
			{"down", weather{lostIn: 1, lostOut: 1}, time.Hour, 0, 0, 0, false},
			{"in down", weather{lostIn: 1}, time.Hour, 0, 1000, 0, false},
			{"out down", weather{lostOut: 1}, time.Hour, 1000, 0, 0, false},
			{"lossy", weather{lostIn: 0.3, lostOut: 0.1}, 0, 700, 900, 100, false},
			{"late, at first", weather{late: 100 * time.Millisecond}, 49 * time.Millisecond, 0, 0, 0, false},
			{"fine again, and half of those before", weather{}, 51 * time.Millisecond, 1500, 1500, 100, true},
			{"fine still, and the other half", weather{}, 51 * time.Millisecond, 1500, 1500, 100, true},
		} {
			w.set(test.weather)
			for i := range 1000 {
				near.sent <- strconv.Itoa(i)
				far.sent <- strconv.Itoa(i)
			}
			time.Sleep(test.patience) // on virtual time
			synctest.Wait()
			in, out := far.take(), near.take()
			if d := len(in) - test.in; max(d, -d) > test.within {
				t.Errorf("%s: %d packets arrived at the worker, want %d", test.name, len(in), test.in)
			}
			if d := len(out) - test.out; max(d, -d) > test.within {
				t.Errorf("%s: %d packets arrived from the worker, want %d", test.name, len(out), test.out)
			}
			if swapped := !slices.IsSortedFunc(in, func(a, b string) int { return len(a) - len(b) }); swapped != test.swapped {
				t.Errorf("%s: packets have overtaken each other: %v", test.name, swapped)
			}
		}
	})
}
