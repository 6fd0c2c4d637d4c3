//go:build unix

package chaos

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// mode is what a proxy does to bytes.
type mode string

const (
	pass     mode = "pass"
	cut      mode = "cut"       // nothing moves; later all of it arrives, as TCP would send it again
	mute     mode = "mute"      // requests arrive, answers do not, until later
	reset    mode = "reset"     // connections are reset, and new ones too
	slow     mode = "slow"      // every piece takes up to slowest
	halfOpen mode = "half-open" // the connections that there are carry nothing, ever; new ones work
)

// slowest is how long a piece of a slow connection may take: long beside an attempt of a sixth of the failover time.
const slowest = 400 * time.Millisecond

// proxy is one worker's way to one server: TCP, byte by byte.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu      sync.Mutex
	mode    mode
	changed chan struct{} // closed when mode changes
	links   map[*link]bool
	closed  bool
}

// link is one connection through a proxy.
type link struct {
	client, server net.Conn
	dead           bool
}

// newProxy listens on any port of an IP address.
func newProxy(ip, target string) (*proxy, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return nil, fmt.Errorf("listening for a proxy: %w", err)
	}
	p := &proxy{listener: listener, target: target, mode: pass, changed: make(chan struct{}), links: map[*link]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

// set changes the mode. halfOpen is not one that lasts: it happens to the connections that there are.
func (p *proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		switch m {
		case halfOpen:
			l.dead = true
		case reset:
			l.reset()
		}
	}
	if m == halfOpen {
		m = pass
	}
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
}

// close ends all connections, and waits for what serves them.
func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	close(p.changed)
	p.changed = make(chan struct{})
	for l := range p.links {
		l.reset()
	}
	p.mu.Unlock()
	p.listener.Close()
	p.running.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve carries one connection, until either side has ended it and that has reached the other.
func (p *proxy) serve(client net.Conn) {
	l := &link{client: client}
	defer l.reset()
	if !p.moves(l, false) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // as a server that is not there
	}
	p.mu.Lock()
	l.server = server
	p.links[l] = true
	closed := p.closed
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	if closed {
		return
	}
	over := make(chan struct{}, 2)
	p.running.Go(func() { p.pump(l, client, server, false); over <- struct{}{} })
	p.running.Go(func() { p.pump(l, server, client, true); over <- struct{}{} })
	<-over
	l.client.Close()
	l.server.Close()
	<-over
}

// pump carries bytes, and the end of them, in one direction.
func (p *proxy) pump(l *link, from, to net.Conn, answers bool) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if !p.moves(l, answers) {
			return
		}
		if n > 0 {
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// moves waits until a piece may go on; false is never.
func (p *proxy) moves(l *link, answers bool) bool {
	var delay <-chan time.Time
	for {
		p.mu.Lock()
		mode, changed, dead, closed := p.mode, p.changed, l.dead, p.closed
		p.mu.Unlock()
		switch {
		case closed, mode == reset:
			return false
		case dead, mode == cut, mode == mute && answers:
			<-changed // a dead link's next change is its proxy's end, or some mode that does not help it
		case mode == slow && delay == nil:
			timer := time.NewTimer(rand.N(slowest))
			defer timer.Stop()
			delay = timer.C
		case mode == slow:
			select {
			case <-delay:
				return true
			case <-changed:
			}
		default:
			return true
		}
	}
}

// reset ends a connection without a word of farewell.
func (l *link) reset() {
	for _, c := range []net.Conn{l.client, l.server} {
		if c != nil {
			c.(*net.TCPConn).SetLinger(0) //nolint:errcheck // it is closed already
			c.Close()
		}
	}
}
