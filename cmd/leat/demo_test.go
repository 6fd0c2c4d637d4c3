//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// The demo on a pseudo-terminal: it draws, and q ends it and its processes.
func TestDemoOnTerminal(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("leat", "demo", "--quick")
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "CI=", "TMPDIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer terminal.Close()
	t.Cleanup(func() { cmd.Process.Kill() })
	var all strings.Builder
	readTo := func(text string) {
		t.Helper()
		buffer := make([]byte, 4096)
		for !strings.Contains(all.String(), text) {
			n, err := terminal.Read(buffer)
			if all.Write(buffer[:n]); err != nil {
				t.Fatalf("the terminal ended without %q: %v; stderr: %s", text, err, &stderr)
			}
		}
	}
	readTo("started worker w3")
	readTo("earthquake reports a second go in")
	if _, err := terminal.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	readTo("\x1b[?1049l") // the alternate screen is left; the lines follow
	_, lines, _ := strings.Cut(all.String(), "\x1b[?1049l")
	all.Reset()
	all.WriteString(lines)
	readTo("started worker w3")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130; stderr: %s", code, &stderr)
	}
	if !strings.Contains(stderr.String(), "leat: interrupted by SIGINT") {
		t.Errorf("stderr is %q", &stderr)
	}
	for _, found := range regexp.MustCompile(`\(process (\d+)\)`).FindAllStringSubmatch(all.String(), -1) {
		id, _ := strconv.Atoi(found[1])
		if err := syscall.Kill(id, 0); err == nil {
			t.Errorf("worker process %d still runs", id)
		}
	}
}

// In a pipe, and with --plain, it is lines. SIGTERM ends it and its processes.
func TestDemoPlain(t *testing.T) {
	t.Parallel()
	p := startAt(t, "", "demo", "--plain")
	for !strings.Contains(p.line(), "earthquake reports a second go in") {
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.ends(143)
}
