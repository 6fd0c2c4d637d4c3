//go:build unix

package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// Tests with real processes: this test binary, started again, writes to one lease as often as it can
// and reports each write that was acknowledged, while some are stopped and some are killed.

const (
	childFolder = "LEAT_FILE_TEST_FOLDER"
	childSignal = "LEAT_FILE_TEST_SIGNAL" // "<step> <signal>": what the child does to itself at its third such step
	childSteps  = 3
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		fmt.Println("error", child(dir, os.Getenv(childSignal)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child raises the lease's counter for ever. Each acknowledged write is a line "ack <counter>" on its
// output, by one write(2): a process that is killed has reported all but at most one.
func child(dir, signal string) error {
	ctx := context.Background()
	s := New(dir)
	s.NoSync, s.rollAt = true, 4096
	name := strconv.Itoa(os.Getpid())
	var step string
	var number, reached int
	fmt.Sscan(signal, &step, &number)
	s.step = func(at string) {
		if at != step {
			return
		}
		if reached++; reached == childSteps {
			fmt.Println("signal", step)
			syscall.Kill(os.Getpid(), syscall.Signal(number))
		}
	}
	if _, err := s.Open(ctx, false); err != nil {
		return err
	}
	for {
		item, err := s.Get(ctx, testGroup, testKey)
		if err != nil {
			return err
		}
		w := raised(item)
		w.Item.Lease.Owner = name
		_, err = s.Write(ctx, testGroup, w)
		var conflict *lease.ConflictError
		switch {
		case err == nil:
			fmt.Println("ack", w.Item.Counter)
		case !errors.As(err, &conflict):
			return err
		}
	}
}

// crowd is a number of children and what they have reported.
type crowd struct {
	t   *testing.T
	dir string

	mu       sync.Mutex
	changed  *sync.Cond
	acks     map[int64]int // by counter: how many were told that they wrote it
	total    int
	signals  int // children that have signalled themselves
	failures []string
	expired  bool

	readers sync.WaitGroup
	live    []*exec.Cmd
	killed  int
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, dir: t.TempDir(), acks: make(map[int64]int)}
	c.changed = sync.NewCond(&c.mu)
	create(t, opened(t, c.dir))
	// Only a hang can take so long; it ends the waits below.
	timer := time.AfterFunc(2*time.Minute, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.expired = true
		c.changed.Broadcast()
	})
	t.Cleanup(func() {
		timer.Stop()
		for len(c.live) > 0 {
			c.kill(0)
		}
	})
	return c
}

func (c *crowd) start(signal string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFolder+"="+c.dir, childSignal+"="+signal)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.live = append(c.live, cmd)
	c.readers.Go(func() { c.listen(out) })
	return cmd
}

func (c *crowd) listen(out io.ReadCloser) {
	defer out.Close()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		c.mu.Lock()
		switch counter, err := strconv.ParseInt(rest, 10, 64); {
		case word == "ack" && err == nil:
			c.acks[counter]++
			c.total++
		case word == "signal":
			c.signals++
		default:
			c.failures = append(c.failures, lines.Text())
		}
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

// wait returns once the children have reported more acknowledged writes.
func (c *crowd) wait(more int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for goal := c.total + more; c.total < goal; c.changed.Wait() {
		if c.expired || len(c.failures) > 0 {
			c.t.Fatalf("the children hang: %d writes, %d missing; failures: %q", c.total, goal-c.total, c.failures)
		}
	}
}

// waitSignals returns once so many children have signalled themselves.
func (c *crowd) waitSignals(count int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; c.signals < count; c.changed.Wait() {
		if c.expired || len(c.failures) > 0 {
			c.t.Fatalf("%d children have signalled themselves, want %d; failures: %q", c.signals, count, c.failures)
		}
	}
}

func (c *crowd) signal(cmd *exec.Cmd, s syscall.Signal) {
	c.t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crowd) kill(i int) {
	c.live[i].Process.Kill()
	c.live[i].Process.Wait() // not Cmd.Wait: listen reads the pipe to its end
	c.live = append(c.live[:i], c.live[i+1:]...)
	c.killed++
}

// settle kills all children and compares what they reported with what stands in the store.
func (c *crowd) settle() {
	c.t.Helper()
	for len(c.live) > 0 {
		c.kill(0)
	}
	c.readers.Wait()
	s := opened(c.t, c.dir)
	item, err := s.Get(c.t.Context(), testGroup, testKey)
	if err != nil {
		c.t.Fatal(err)
	}
	for counter, count := range c.acks {
		if count != 1 || counter > item.Counter {
			c.t.Errorf("write %d of %d was acknowledged %d times", counter, item.Counter, count)
		}
	}
	// A child that was killed may have written once without saying so.
	if unreported := int(item.Counter) - len(c.acks); unreported < 0 || unreported > c.killed {
		c.t.Errorf("the counter is %d after %d acknowledged writes and %d killed writers", item.Counter, len(c.acks), c.killed)
	}
	if len(c.failures) > 0 {
		c.t.Errorf("children failed: %q", c.failures)
	}
	c.t.Logf("%d acknowledged writes, %d killed writers, counter %d, log %d", len(c.acks), c.killed, item.Counter, s.log.number)
}

// Children are stopped and killed at any moment; one at least stands still all the time.
func TestProcessesStoppedAndKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d (moments of real processes do not repeat exactly)", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newCrowd(t)
	for range 4 {
		c.start("")
	}
	c.wait(50)
	stopped := c.live[0]
	c.signal(stopped, syscall.SIGSTOP)
	for range 40 {
		c.wait(1 + random.IntN(30)) // of the others
		if random.IntN(2) == 0 {
			c.kill(1 + random.IntN(len(c.live)-1))
			c.start("")
		}
		next := c.live[1+random.IntN(len(c.live)-1)]
		c.signal(next, syscall.SIGSTOP)
		c.wait(1 + random.IntN(10))
		c.signal(stopped, syscall.SIGCONT)
		stopped = next
		for i, cmd := range c.live { // the stopped one is at place 0
			if cmd == next {
				c.live[0], c.live[i] = c.live[i], c.live[0]
			}
		}
	}
	c.settle()
}

// Children stop or kill themselves at every step of a write and of the change to the next log.
func TestProcessesStoppedAtEachStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"append", "appended", "end", "ended", "link"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			for range 2 {
				c.start("")
			}
			c.wait(1)
			stopped := c.start(fmt.Sprintf("%s %d", step, syscall.SIGSTOP))
			c.waitSignals(1)
			c.wait(200)
			c.start(fmt.Sprintf("%s %d", step, syscall.SIGKILL))
			c.waitSignals(2)
			c.wait(200)
			c.signal(stopped, syscall.SIGCONT)
			c.wait(200)
			c.settle()
		})
	}
}
