//go:build unix

package chaos

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// echo answers each line with itself, on any port of an IP address.
func echo(t *testing.T, ip string) (address string, heard chan string) {
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	heard = make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					heard <- lines.Text()
					fmt.Fprintln(conn, lines.Text())
				}
			}()
		}
	}()
	return listener.Addr().String(), heard
}

type caller struct {
	*testing.T
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, address string) caller {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return caller{t, conn, bufio.NewReader(conn)}
}

func (c caller) says(text string) { fmt.Fprintln(c.Conn, text) }

// hears waits for a line; an error is the end of the connection, or a silence of so long.
func (c caller) hears(patience time.Duration) (string, error) {
	c.SetReadDeadline(time.Now().Add(patience)) //nolint:errcheck // reading fails
	line, err := c.lines.ReadString('\n')
	return line, err
}

func (c caller) mustHear(want string) {
	c.Helper()
	if got, err := c.hears(10 * time.Second); err != nil || got != want+"\n" {
		c.Fatalf("heard %q, %v, want %q", got, err, want)
	}
}

func (c caller) mustBeSilent() {
	c.Helper()
	got, err := c.hears(50 * time.Millisecond)
	if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
		c.Fatalf("heard %q, %v", got, err)
	}
}

// mustBeHeard waits until the server has heard a line.
func mustBeHeard(t *testing.T, heard chan string, want string) {
	t.Helper()
	select {
	case got := <-heard:
		if got != want {
			t.Fatalf("the server heard %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("the server did not hear %q", want)
	}
}

func TestProxy(t *testing.T) {
	address, heard := echo(t, "127.0.0.1")
	p, err := newProxy("127.0.0.1", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	was := func(want string) { t.Helper(); mustBeHeard(t, heard, want) }

	c := dial(t, p.listener.Addr().String())
	c.says("1")
	c.mustHear("1")
	was("1")

	p.set(cut)
	c.says("2")
	c.mustBeSilent()
	if len(heard) != 0 {
		t.Error("a request went through the cut")
	}
	p.set(pass)
	c.mustHear("2") // late
	was("2")

	p.set(mute)
	c.says("3")
	was("3")
	c.mustBeSilent()
	p.set(pass)
	c.mustHear("3")

	p.set(slow)
	c.says("4")
	c.mustHear("4")
	was("4")
	p.set(pass)

	p.set(halfOpen)
	c.says("5")
	c.mustBeSilent()
	p.set(pass)
	c.mustBeSilent()
	if len(heard) != 0 {
		t.Error("a request went through the half-open connection")
	}
	c = dial(t, p.listener.Addr().String())
	c.says("6")
	c.mustHear("6")
	was("6")

	p.set(reset)
	if _, err := c.hears(10 * time.Second); err == nil || err == io.EOF {
		t.Errorf("reset: %v", err)
	}
	if conn, err := net.Dial("tcp", p.listener.Addr().String()); err == nil {
		conn.SetReadDeadline(time.Now().Add(10 * time.Second)) //nolint:errcheck // reading fails
		if _, err := conn.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("a new connection: %v, want a reset", err)
		}
		conn.Close()
	} // else it was reset at once
	p.set(pass)
	c = dial(t, p.listener.Addr().String())
	c.says("7")
	c.mustHear("7")
}
