//go:build unix

package chaos

import (
	"bytes"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// wire carries packets between a worker's network namespace and the one that the servers are in. It sits where a
// cable would: the TCP at both ends is the kernel's, and notices of a fault only that packets do not come.
type wire struct {
	near, far io.ReadWriteCloser // a packet each Read and Write; far is the worker's end
	running   sync.WaitGroup

	mu      sync.Mutex
	weather weather
}

// weather is what a wire does to packets. The zero value is a fine day.
type weather struct {
	lostIn, lostOut float64       // which part of the packets to the worker, and from it, vanish: 0 to 1
	late            time.Duration // each takes half of it to one and a half, so that packets overtake each other
}

// newWire carries packets until close, which closes both ends.
func newWire(near, far io.ReadWriteCloser) *wire {
	w := &wire{near: near, far: far}
	w.running.Go(func() { w.carry(near, far, func(now weather) float64 { return now.lostIn }) })
	w.running.Go(func() { w.carry(far, near, func(now weather) float64 { return now.lostOut }) })
	return w
}

func (w *wire) set(to weather) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.weather = to
}

func (w *wire) close() {
	w.near.Close()
	w.far.Close()
	w.running.Wait()
}

func (w *wire) carry(from io.Reader, to io.Writer, lost func(weather) float64) {
	packet := make([]byte, 64<<10) // the most that IP allows
	for {
		n, err := from.Read(packet)
		if err != nil {
			return // closed
		}
		w.mu.Lock()
		now := w.weather
		w.mu.Unlock()
		switch {
		case rand.Float64() < lost(now):
		case now.late > 0:
			later := bytes.Clone(packet[:n])
			time.AfterFunc(now.late/2+rand.N(now.late), func() { to.Write(later) }) //nolint:errcheck // as below
		default:
			to.Write(packet[:n]) //nolint:errcheck // a packet that an end does not take is lost, as packets are
		}
	}
}
