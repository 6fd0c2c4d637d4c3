package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// roleVariable makes this program play a part in a measurement: "name {what it is told, as JSON}".
const roleVariable = "LEAT_BENCH_ROLE"

// roles are what a process can be. A server says its address when it is ready, and ends with its stdin; what is measured says
// its figures when it is done. Both are JSON, on a line of stdout.
var roles = map[string]func(told []byte, say func(any) error) error{
	"static":  playStatic,
	"local":   playLocal,
	"bare":    playBare,
	"leat":    playLeat,
	"latency": playLatency,
	"shards":  playShards,
	"fast":    playFast,
}

// play is main of a process that has a role.
func play(role string) error {
	name, told, _ := strings.Cut(role, " ")
	part, ok := roles[name]
	if !ok {
		return fmt.Errorf("no role %q", name)
	}
	return part([]byte(told), json.NewEncoder(os.Stdout).Encode)
}

// process is another one of this program.
type process struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  *bufio.Reader
	name string
}

// start starts a process in a role.
func start(ctx context.Context, role string, tell any) (*process, error) {
	told, err := json.Marshal(tell)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self), name: role}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role+" "+string(told))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	return p, nil
}

// hear reads the next line that the process says.
func (p *process) hear(into any) error {
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		return fmt.Errorf("hearing of %s: %w", p.name, err)
	}
	return nil
}

// stop ends the process's stdin and waits for its end.
func (p *process) stop() error {
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// server starts a process that serves, and returns its URL.
func server(ctx context.Context, role string, tell any) (url string, stop func() error, err error) {
	p, err := start(ctx, role, tell)
	if err != nil {
		return "", nil, err
	}
	if err := p.hear(&url); err != nil {
		p.stop()
		return "", nil, err
	}
	return url, p.stop, nil
}

// measure starts a process that is measured, and returns what it says in the end.
func measure[T any](ctx context.Context, role string, tell any) (said T, err error) {
	p, err := start(ctx, role, tell)
	if err != nil {
		return said, err
	}
	err = p.hear(&said)
	if stopped := p.stop(); err == nil {
		err = stopped
	}
	return said, err
}
