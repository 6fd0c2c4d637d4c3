//go:build unix

package screen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"github.com/leatstream/leat/internal/demo"
)

// terminal is a pseudo-terminal, and all that was written to it.
type terminal struct {
	master, slave *os.File
	before        *term.State
	screen        chan string // all that was written so far, each time that more comes
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() {
		master.Close()
		slave.Close()
	})
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(slave.Fd())
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{master: master, slave: slave, before: before, screen: make(chan string, 1000)}
	go func() {
		var all bytes.Buffer
		for {
			buffer := make([]byte, 4096)
			n, err := master.Read(buffer)
			if err != nil {
				close(term.screen)
				return
			}
			all.Write(buffer[:n])
			term.screen <- all.String()
		}
	}()
	return term
}

// await waits until a text has been written.
func (term *terminal) await(t *testing.T, text string) {
	t.Helper()
	for all := range term.screen {
		if strings.Contains(all, text) {
			return
		}
	}
	t.Fatalf("the terminal's end came without %q", text)
}

// restored checks that the terminal is as it was, and shows its usual screen.
func (x *terminal) restored(t *testing.T) {
	t.Helper()
	x.await(t, "\x1b[?1049l") // the alternate screen is left
	after, err := term.GetState(x.slave.Fd())
	if err != nil || !reflect.DeepEqual(after, x.before) {
		t.Errorf("the terminal's state is %+v, %v; was %+v", after, err, x.before)
	}
}

// play runs a show on the terminal.
func (x *terminal) play(t *testing.T, ctx context.Context, show func(context.Context, func(demo.State)) error) chan error {
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ended <- p.(error)
			}
		}()
		ended <- Run(ctx, x.slave, x.slave, show)
	}()
	return ended
}

func TestRun(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	errShow := errors.New("the show broke")
	untilDone := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, test := range []struct {
		name string
		ends func(*terminal, context.CancelFunc)    // once the first frame is there
		show func(context.Context, chan bool) error // the channel: the first frame is there
		want error
	}{
		{"q", func(x *terminal, _ context.CancelFunc) { io.WriteString(x.master, "q") },
			func(ctx context.Context, _ chan bool) error { return untilDone(ctx) }, ErrQuit},
		{"Ctrl-C", func(x *terminal, _ context.CancelFunc) { io.WriteString(x.master, "\x03") },
			func(ctx context.Context, _ chan bool) error { return untilDone(ctx) }, ErrQuit},
		{"a signal", func(_ *terminal, cancel context.CancelFunc) { cancel() },
			func(ctx context.Context, _ chan bool) error { return untilDone(ctx) }, context.Canceled},
		{"its end", nil, func(_ context.Context, there chan bool) error { <-there; return nil }, nil},
		{"an error", nil, func(_ context.Context, there chan bool) error { <-there; return errShow }, errShow},
		{"a panic", nil, func(_ context.Context, there chan bool) error { <-there; panic(errShow) }, errShow},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := openTerminal(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			there := make(chan bool)
			ended := x.play(t, ctx, func(ctx context.Context, watch func(demo.State)) error {
				watch(demo.State{Doing: "kill -9"})
				return test.show(ctx, there)
			})
			x.await(t, "kill -9")
			if close(there); test.ends != nil {
				test.ends(x, cancel)
			}
			if err := <-ended; !errors.Is(err, test.want) && (err == nil || !strings.Contains(err.Error(), test.want.Error())) {
				t.Errorf("ended with %v, want %v", err, test.want)
			}
			x.restored(t)
		})
	}
}

// Where stdin is no terminal there are no keys, and all else is as usual.
func TestRunWithoutKeys(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	x := openTerminal(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	ended, there := make(chan error, 1), make(chan bool)
	go func() {
		ended <- Run(t.Context(), null, x.slave, func(_ context.Context, watch func(demo.State)) error {
			watch(demo.State{Doing: "kill -9"})
			<-there
			return nil
		})
	}()
	x.await(t, "kill -9")
	close(there)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	x.restored(t)
}

// A frame follows the terminal's size.
func TestResize(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	x := openTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := x.play(t, ctx, func(ctx context.Context, watch func(demo.State)) error {
		watch(scene())
		<-ctx.Done()
		return nil
	})
	x.await(t, "kill -9")
	if err := pty.Setsize(x.master, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	ownSignal(t)
	x.await(t, "127.0.0.1:45001") // in 80 columns it is cut off
	cancel()
	<-ended
	x.restored(t)
}

func TestFits(t *testing.T) {
	x := openTerminal(t)
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, test := range []struct {
		w    io.Writer
		env  func(string) string
		want bool
	}{
		{x.slave, env("TERM", "xterm"), true},
		{x.slave, env("TERM", "xterm", "NO_COLOR", "1"), true},
		{x.slave, env("TERM", "dumb"), false},
		{x.slave, env(), false},
		{x.slave, env("TERM", "xterm", "CI", "true"), false},
		{&bytes.Buffer{}, env("TERM", "xterm"), false},
	} {
		if got := Fits(test.w, test.env); got != test.want {
			t.Errorf("%T, TERM=%q CI=%q: %v", test.w, test.env("TERM"), test.env("CI"), got)
		}
	}
}

// ownSignal tells this process that its terminal has another size: the terminal is not its own, so that
// nobody else does.
func ownSignal(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
}
