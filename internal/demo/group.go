package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leatstream/leat/lease"
)

// group is the worker processes, and what their handlers have written so far.
type group struct {
	command  func(Worker) []string // how to start a worker process
	endpoint string
	dir      string
	store    lease.Store

	mu      sync.Mutex
	workers []*process // all that ever were
	calls   []handled
	err     error // of reading the log
}

type process struct {
	name string
	cmd  *exec.Cmd
	keep io.Closer // its standard input: closed, the worker ends
	done chan struct{}
	err  error // of its end

	fate atomic.Pointer[string] // how the story ended it; nil while it is to live
}

func (g *group) logFile() string  { return filepath.Join(g.dir, "handled.log") }
func (g *group) storeDir() string { return filepath.Join(g.dir, "leases") }

// start starts one more worker.
func (g *group) start() (*process, error) {
	name := fmt.Sprintf("w%d", len(g.all())+1)
	args := g.command(Worker{Name: name, Endpoint: g.endpoint, Store: g.storeDir(), Log: g.logFile()})
	p := &process{name: name, cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	stderr, err := os.Create(filepath.Join(g.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p.cmd.Stderr = stderr
	if p.keep, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", name, err)
	}
	g.mu.Lock()
	g.workers = append(g.workers, p)
	g.mu.Unlock()
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// all are the workers that were ever started.
func (g *group) all() []*process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.workers)
}

// running are the workers whose processes have not ended.
func (g *group) running() []*process {
	return slices.DeleteFunc(g.all(), func(p *process) bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
}

// end makes sure that no process is left.
func (g *group) end() {
	for _, p := range g.running() {
		p.keep.Close()
	}
	for _, p := range g.all() {
		select {
		case <-p.done:
		case <-time.After(5 * time.Second):
			p.cmd.Process.Kill() //nolint:errcheck // it ended meanwhile
			<-p.done
		}
	}
}

// leases reads the group's leases: who owns what, and how far it is.
func (g *group) leases(ctx context.Context) ([]lease.Item, error) {
	var items []lease.Item
	for item, err := range g.store.Leases(ctx, groupName, streamName) {
		if err != nil {
			return nil, fmt.Errorf("reading the leases: %w", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// owned are the leases of one worker, or of all with "".
func owned(items []lease.Item, worker string) map[string]lease.Position {
	shards := map[string]lease.Position{}
	for _, it := range items {
		name, _, _ := strings.Cut(it.Lease.Owner, "@")
		if name != "" && (worker == "" || name == worker) {
			shards[it.Key.Shard] = it.Lease.Checkpoint
		}
	}
	return shards
}

// busiest is the running worker with the most shards.
func (g *group) busiest(items []lease.Item) *process {
	return slices.MaxFunc(g.running(), func(a, b *process) int {
		return len(owned(items, a.name)) - len(owned(items, b.name))
	})
}

// follow reads the handlers' log as it grows, until ctx is done.
func (g *group) follow(ctx context.Context) {
	file, err := os.OpenFile(g.logFile(), os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		g.failed(err)
		return
	}
	defer file.Close()
	var rest []byte
	buffer := make([]byte, 64<<10)
	for {
		n, err := file.Read(buffer)
		rest = append(rest, buffer[:n]...)
		for {
			line, after, ok := strings.Cut(string(rest), "\n")
			if !ok {
				break
			}
			rest = []byte(after)
			call, err := parseLine(line)
			if err != nil {
				g.failed(err)
				return
			}
			g.mu.Lock()
			g.calls = append(g.calls, call)
			g.mu.Unlock()
		}
		if err != nil && err != io.EOF {
			g.failed(err)
			return
		}
		if n == 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

func (g *group) failed(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = fmt.Errorf("reading what the handlers wrote: %w", err)
}

// handledSoFar returns the calls so far. They are only ever appended to.
func (g *group) handledSoFar() ([]handled, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls, g.err
}
