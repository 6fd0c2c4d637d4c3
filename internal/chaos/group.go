//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// slot is a place for one worker at a time, with its host and its proxies.
type slot struct {
	number         int
	host           *host
	kinesis, store *proxy
	lives          int
	now            *process // the last one
}

// process is a worker process.
type process struct {
	name    string
	slot    *slot
	cmd     *exec.Cmd
	log     string
	keep    io.Closer     // its standard input: when that ends, so does the worker
	done    chan struct{} // closed when it has ended
	started time.Time

	mu    sync.Mutex
	fate  string    // how it was made to end; "" while it is to live
	ended time.Time // valid once done
	err   error     // of its end
}

func processName(slot, life int) string { return fmt.Sprintf("w%d.%d", slot, life) }

func slotOf(process string) int {
	var slot, life int
	fmt.Sscanf(process, "w%d.%d", &slot, &life)
	return slot
}

// group is the worker processes.
type group struct {
	dir      string
	template Worker
	slots    []*slot

	mu  sync.Mutex
	all []*process
}

func (g *group) journal() string { return filepath.Join(g.dir, "journal") }

// newGroup makes the slots, their hosts and their proxies.
func newGroup(dir string, workers int, wired bool, kinesis, store *front, template Worker) (*group, error) {
	g := &group{dir: dir, template: template}
	for n := range workers {
		host, err := newHost(n+1, wired)
		if err != nil {
			return g, err
		}
		s := &slot{number: n + 1, host: host}
		g.slots = append(g.slots, s)
		var also error
		s.kinesis, err = newProxy(host.address, kinesis.address)
		s.store, also = newProxy(host.address, store.address)
		if err := errors.Join(err, also); err != nil {
			return g, err
		}
	}
	return g, nil
}

// start starts a worker in a slot: this binary, again.
func (g *group) start(s *slot) (*process, error) {
	s.lives++
	p := &process{name: processName(s.number, s.lives), slot: s, done: make(chan struct{})}
	p.log = filepath.Join(g.dir, p.name+".log")
	w := g.template
	w.Name, w.Kinesis, w.Store, w.Journal = p.name, s.kinesis.url(), s.store.url(), g.journal()
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(program)
	p.cmd.Env = append(os.Environ(), workerEnv+"="+string(text), "NO_PROXY=*") // whatever the machine has for the outside
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = diesWithParent()
	if p.keep, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	p.started = time.Now()
	if s.host.run(func() { err = p.cmd.Start() }); err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", p.name, err)
	}
	go func() {
		err := p.cmd.Wait()
		p.mu.Lock()
		p.err, p.ended = err, time.Now()
		p.mu.Unlock()
		close(p.done)
	}()
	g.mu.Lock()
	s.now = p
	g.all = append(g.all, p)
	g.mu.Unlock()
	return p, nil
}

// in is the slot's last process.
func (g *group) in(s *slot) *process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.now
}

// processes are all that ever were.
func (g *group) processes() []*process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

// end makes sure that no process is left, no proxy and no host.
func (g *group) end() {
	for _, p := range g.processes() {
		p.keep.Close()
		p.cmd.Process.Signal(syscall.SIGKILL) //nolint:errcheck // it may have ended; SIGKILL ends stopped ones too
		<-p.done
	}
	for _, s := range g.slots {
		for _, proxy := range []*proxy{s.kinesis, s.store} {
			if proxy != nil {
				proxy.close()
			}
		}
		s.host.close()
	}
}

// running says whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// make sends the signal that makes the process end, and notes that.
func (p *process) make(fate string, signal syscall.Signal) (time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	if err := p.cmd.Process.Signal(signal); err != nil {
		return at, err
	}
	p.fate = fate
	return at, nil
}

// result is how the process ended: done must be closed.
func (p *process) result() (fate string, ended time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fate, p.ended, p.err
}

// exited waits for the process's end.
func (p *process) exited(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("worker %s has not ended within %v", p.name, patience)
	}
}
