//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/local"
)

// pipeline is `leat tail --group g ... | program`, two processes and a pipe.
type pipeline struct {
	*process
	program *exec.Cmd
	told    *bufio.Reader // what the program prints
}

// startPipeline starts a member of the group and a shell script that gets the records.
func startPipeline(t *testing.T, endpoint, store, stream, script string) *pipeline {
	t.Helper()
	reads, writes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reads.Close()
	defer writes.Close()
	member := &process{t: t, cmd: exec.Command("leat", "tail", stream, "--group", "g", "--store", store, "-f", "%s\n")}
	member.cmd.Env = append(os.Environ(), hermetic(t.TempDir(), endpoint)...)
	member.cmd.Stdout, member.cmd.Stderr = writes, &member.stderr
	program := exec.Command("sh", "-c", script)
	program.Stdin, program.Stderr = reads, os.Stderr
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err == nil {
		err = member.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		member.cmd.Process.Kill()
		program.Process.Kill()
	})
	return &pipeline{member, program, bufio.NewReader(out)}
}

// tells waits for the next line that the program printed.
func (p *pipeline) tells() string {
	p.t.Helper()
	line, err := p.told.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the program says no more: %v; stderr of tail: %s", err, &p.stderr)
	}
	return strings.TrimSuffix(line, "\n")
}

// over waits for the end of both processes, and wants an exit code of tail.
func (p *pipeline) over(want int) {
	p.t.Helper()
	p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.t.Errorf("exit code %d, want %d; stderr: %s", got, want, &p.stderr)
	}
	p.program.Wait()
}

// stop stops the member cleanly.
func (p *pipeline) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.over(143)
}

// groupServer is a server with the streams of the scripts, and a folder for leases.
func groupServer(t *testing.T) (endpoint, store string) {
	t.Helper()
	endpoint, err := serve(t.Cleanup, local.Config{})
	if err == nil {
		err = createStreams(endpoint)
	}
	if err != nil {
		t.Fatal(err)
	}
	return endpoint, filepath.Join(t.TempDir(), "leases")
}

func putLines(t *testing.T, endpoint, stream string, lines []string) {
	t.Helper()
	p := startAt(t, endpoint, "put", stream)
	fmt.Fprintln(p.stdin, strings.Join(lines, "\n"))
	p.stdin.Close()
	p.ends(exitOK)
}

// The program takes some lines and is killed; much lies in the pipe then, or has been handed out. Started
// again, both together have got all lines, and each of them whole. A clean stop repeats nothing.
func TestGroupProgramKilled(t *testing.T) {
	t.Parallel()
	endpoint, store := groupServer(t)
	var lines []string
	for n := range 300 {
		lines = append(lines, fmt.Sprintf("%d:%s:end", n, strings.Repeat("x", n*n%9000))) // many are larger than the pipe
	}
	putLines(t, endpoint, "orders", lines)

	const dealt = 40
	p := startPipeline(t, endpoint, store, "orders", fmt.Sprintf(
		`n=0; while read -r line; do echo "$line"; n=$((n+1)); if [ $n = %d ]; then kill -STOP $$; fi; done`, dealt))
	got := map[string]bool{}
	for range dealt {
		got[p.tells()] = true
	}
	p.program.Process.Kill()
	p.over(141)
	p.says("leat: the program behind stdout has ended")

	p = startPipeline(t, endpoint, store, "orders", "cat")
	whole := regexp.MustCompile(`^\d+:x*:end$`)
	for len(got) < len(lines) {
		line := p.tells()
		if !whole.MatchString(line) || !slices.Contains(lines, line) {
			t.Fatalf("a line that was not put: %.50q", line)
		}
		got[line] = true
	}
	p.stop()

	putLines(t, endpoint, "orders", []string{"the next"})
	p = startPipeline(t, endpoint, store, "orders", "cat")
	if line := p.tells(); line != "the next" {
		t.Errorf("after a clean stop %.50q came again", line)
	}
	p.stop()
}

// The program has taken all lines, and ends over the last one.
func TestGroupProgramFails(t *testing.T) {
	t.Parallel()
	endpoint, store := groupServer(t)
	putLines(t, endpoint, "one", []string{"good", "bad"})
	p := startPipeline(t, endpoint, store, "one", `while read -r line; do if [ $line = bad ]; then exit 1; fi; echo $line; done`)
	if line := p.tells(); line != "good" {
		t.Errorf("got %q", line)
	}
	p.over(141)
	p = startPipeline(t, endpoint, store, "one", "cat")
	for p.tells() != "bad" {
	}
	p.stop()
}

func TestPieces(t *testing.T) {
	for _, test := range []struct {
		ends []int
		page int
		want []int
	}{
		{[]int{3, 6}, 0, []int{6}},
		{[]int{3, 6}, 10, []int{6}},
		{[]int{3, 6, 12}, 10, []int{6, 12}},
		{[]int{3, 26, 28}, 10, []int{3, 13, 23, 28}},
		{[]int{10, 20}, 10, []int{10, 20}},
		{[]int{0, 0, 4}, 10, []int{4}},
		{[]int{0}, 10, nil},
	} {
		if got := pieces(test.ends, test.page); !slices.Equal(got, test.want) {
			t.Errorf("records that end at %v, pages of %d: %v, want %v", test.ends, test.page, got, test.want)
		}
	}
}

// A batch that the reader has not read to its end is not done, however long that takes.
func TestHandoutWaitsForTheReader(t *testing.T) {
	reads, writes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writes.Close()
	h := newHandout(&output{w: writes})
	done := make(chan error, 1)
	go func() { done <- h.give(t.Context(), []byte("tea\n"), []int{4}) }()
	if _, err := io.ReadFull(reads, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	reads.Close()
	if err := <-done; err != errReaderGone {
		t.Errorf("the reader went without the last byte: %v, want %v", err, errReaderGone)
	}
}

// A batch that was taken is done when a later one is taken, or after the grace; not if the reader goes.
func TestHandoutGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandout(&output{w: io.Discard})
		done := make(chan string, 3)
		give := func(line string) {
			err := h.give(t.Context(), []byte(line), []int{len(line)})
			done <- fmt.Sprintf("%s %v", line, err)
		}
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			got := "none"
			select {
			case got = <-done:
			default:
			}
			if got != want {
				t.Errorf("done is %q, want %q", got, want)
			}
		}
		go give("tea")
		expect("none")
		go give("bread")
		expect("tea <nil>")
		expect("none")
		time.Sleep(grace)
		expect("bread <nil>")
		go give("salt")
		expect("none")
		h.readerGone()
		expect(fmt.Sprintf("salt %v", errReaderGone))
	})
}
