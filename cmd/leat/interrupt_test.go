//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	ossignal "os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/leatstream/leat/local"
)

// process is a leat that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	pipe   io.ReadCloser
	stderr bytes.Buffer
}

// start runs the command against a server that has the streams of the scripts.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	endpoint, err := serve(t.Cleanup, local.Config{})
	if err == nil {
		err = createStreams(endpoint)
	}
	if err != nil {
		t.Fatal(err)
	}
	return startAt(t, endpoint, args...)
}

func startAt(t *testing.T, endpoint string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("leat", args...)}
	p.cmd.Env = append(os.Environ(), hermetic(t.TempDir(), endpoint)...)
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		p.pipe, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(p.pipe)
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// line waits for a line of stdout.
func (p *process) line() string {
	p.t.Helper()
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		p.t.Fatalf("no line on stdout: %v; stderr: %s", err, &p.stderr)
	}
	return strings.TrimSuffix(line, "\n")
}

// ends waits for the process to end by itself, and wants an exit code.
func (p *process) ends(want int) {
	p.t.Helper()
	io.Copy(io.Discard, p.stdout)
	p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.t.Errorf("exit code %d (%v), want %d; stderr: %s", got, p.cmd.ProcessState, want, &p.stderr)
	}
}

func (p *process) says(want string) {
	p.t.Helper()
	if got := p.stderr.String(); !strings.Contains(got, want) {
		p.t.Errorf("stderr is %q, without %q", got, want)
	}
}

// put puts a line by another process.
func put(t *testing.T, endpoint, line string) {
	t.Helper()
	p := startAt(t, endpoint, "put", "one", "--key", "k")
	io.WriteString(p.stdin, line+"\n")
	p.stdin.Close()
	p.ends(exitOK)
}

func TestTailInterrupted(t *testing.T) {
	t.Parallel()
	for signal, code := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if ossignal.Ignored(signal) {
			continue // as the command does; the tests run under nohup
		}
		name := map[int]string{130: "SIGINT", 143: "SIGTERM", 129: "SIGHUP"}[code]
		p := start(t, "tail", "one", "--from", "trim", "-f", "%s\n")
		put(t, endpointOf(p), "tea")
		if got := p.line(); got != "tea" { // flushed, though nothing follows
			t.Errorf("got %q", got)
		}
		p.cmd.Process.Signal(signal)
		p.ends(code)
		p.says("leat: interrupted by " + name)
	}
}

func endpointOf(p *process) string {
	const name = "LEAT_ENDPOINT="
	for i := len(p.cmd.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(p.cmd.Env[i], name); ok {
			return value
		}
	}
	return ""
}

// The reader of stdout goes away and no further record comes.
func TestTailReaderGone(t *testing.T) {
	t.Parallel()
	p := start(t, "tail", "one", "--from", "trim", "-f", "%s\n")
	put(t, endpointOf(p), "tea")
	p.line()
	p.pipe.Close()
	if runtime.GOOS != "linux" {
		put(t, endpointOf(p), "bread") // there only a write shows it
	}
	p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != exitOK || p.stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, &p.stderr)
	}
}

// An interrupted put says what was put, though its input is open and silent.
func TestPutInterrupted(t *testing.T) {
	t.Parallel()
	p := start(t, "put", "one", "--key", "k", "--output", "json")
	io.WriteString(p.stdin, "tea\nbread\n")
	reader := startAt(t, endpointOf(p), "tail", "one", "--from", "trim", "-n", "2", "-f", "%s\n")
	if got := reader.line() + " " + reader.line(); got != "tea bread" {
		t.Errorf("got %q", got)
	}
	reader.ends(exitOK)
	p.cmd.Process.Signal(os.Interrupt)
	if got := p.line(); !strings.Contains(got, `"records":2,`) {
		t.Errorf("summary %q", got)
	}
	p.ends(130)
}

// local serves until it is interrupted, which is its usual end.
func TestLocal(t *testing.T) {
	t.Parallel()
	p := startAt(t, "", "local", "--port", "0", "--stream", "one", "--stream", "orders:3")
	endpoint := p.line()
	put(t, endpoint, "tea")
	reader := startAt(t, endpoint, "tail", "one", "--from", "trim", "-n", "1", "-f", "%s\n")
	if got := reader.line(); got != "tea" {
		t.Errorf("got %q", got)
	}
	reader.ends(exitOK)
	p.cmd.Process.Signal(os.Interrupt)
	p.ends(exitOK)
	p.says("export LEAT_ENDPOINT=" + endpoint)
}
