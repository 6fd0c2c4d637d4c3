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
			name         string
			weather      weather
			patience     time.Duration
			mostIn, most int // of 1000 packets, to the worker and from it
			within       int // of these
		}{
			{"fine", weather{}, 0, 1000, 1000, 0},
			{"down", weather{lostIn: 1, lostOut: 1}, time.Hour, 0, 0, 0},
			{"in down", weather{lostIn: 1}, time.Hour, 0, 1000, 0},
			{"out down", weather{lostOut: 1}, time.Hour, 1000, 0, 0},
			{"lossy", weather{lostIn: 0.3, lostOut: 0.1}, 0, 700, 900, 100},
			{"late: not yet", weather{late: 100 * time.Millisecond}, 49 * time.Millisecond, 0, 0, 0},
			{"late: those of before", weather{}, 101 * time.Millisecond, 2000, 2000, 0},
			{"late", weather{late: 100 * time.Millisecond}, 150 * time.Millisecond, 1000, 1000, 0},
		} {
			w.set(test.weather)
			for i := range 1000 {
				near.sent <- strconv.Itoa(i)
				far.sent <- strconv.Itoa(i)
			}
			time.Sleep(test.patience) // on virtual time
			synctest.Wait()
			in, out := far.take(), near.take()
			if d := len(in) - test.mostIn; max(d, -d) > test.within {
				t.Errorf("%s: %d packets arrived at the worker, want %d", test.name, len(in), test.mostIn)
			}
			if d := len(out) - test.most; max(d, -d) > test.within {
				t.Errorf("%s: %d packets arrived from the worker, want %d", test.name, len(out), test.most)
			}
			overtaken := !slices.IsSortedFunc(in, func(a, b string) int { return len(a) - len(b) })
			if overtaken != (test.name == "late" || test.name == "late: those of before") {
				t.Errorf("%s: packets have overtaken each other: %v", test.name, overtaken)
			}
		}
	})
}
