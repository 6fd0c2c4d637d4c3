//go:build unix

package chaos

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// call is one record that a handler has handled. Times are the machine's clock: all processes run on one.
type call struct {
	worker     string // process
	shard      string
	token      int64
	key        string
	n          int // which one of its key, from 1
	sequence   string
	start, end time.Time
}

// event is what a worker's Events was told.
type event struct {
	worker string
	at     time.Time
	kind   string // with _ for spaces
	shard  string // - for none
}

// stall is a time in which a worker's process, as it found afterwards, did not run.
type stall struct {
	worker   string
	from, to time.Time
}

func (c call) line() string {
	return fmt.Sprintf("handled %s %s %d %s %d %s %d %d\n", c.worker, c.shard, c.token, c.key, c.n, c.sequence, c.start.UnixNano(), c.end.UnixNano())
}

func (e event) line() string {
	shard := e.shard
	if shard == "" {
		shard = "-"
	}
	return fmt.Sprintf("event %s %d %s %s\n", e.worker, e.at.UnixNano(), strings.ReplaceAll(e.kind, " ", "_"), shard)
}

func (s stall) line() string {
	return fmt.Sprintf("stall %s %d %d\n", s.worker, s.from.UnixNano(), s.to.UnixNano())
}

// openJournal opens the file that all workers append to. O_APPEND makes one order out of their lines, each of which
// is one write; what is written has left the process, so that SIGKILL does not take it back.
func openJournal(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return file, nil
}

// journal is what all workers have written.
type journal struct {
	mu     sync.Mutex
	calls  []call
	events []event
	stalls []stall
	err    error // of reading it
}

// sofar returns what has been read. The slices are only ever appended to.
func (j *journal) sofar() (calls []call, events []event, stalls []stall, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.calls, j.events, j.stalls, j.err
}

// follow reads the file as it grows, until ctx is done; then to its end.
func (j *journal) follow(ctx context.Context, name string) {
	err := func() error {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		var rest []byte
		buffer := make([]byte, 64<<10)
		for {
			n, err := file.Read(buffer)
			if err != nil && err != io.EOF {
				return err
			}
			rest = append(rest, buffer[:n]...)
			lines := strings.SplitAfter(string(rest), "\n")
			rest = []byte(lines[len(lines)-1])
			if err := j.add(lines[:len(lines)-1]); err != nil {
				return err
			}
			if n > 0 {
				continue
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	if err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.err = fmt.Errorf("reading the journal: %w", err)
	}
}

func (j *journal) add(lines []string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range lines {
		var from, to int64
		var err error
		what, rest, _ := strings.Cut(line, " ")
		switch what {
		case "handled":
			var c call
			_, err = fmt.Sscan(rest, &c.worker, &c.shard, &c.token, &c.key, &c.n, &c.sequence, &from, &to)
			c.start, c.end = time.Unix(0, from), time.Unix(0, to)
			j.calls = append(j.calls, c)
		case "event":
			var e event
			_, err = fmt.Sscan(rest, &e.worker, &from, &e.kind, &e.shard)
			e.at = time.Unix(0, from)
			j.events = append(j.events, e)
		case "stall":
			var s stall
			_, err = fmt.Sscan(rest, &s.worker, &from, &to)
			s.from, s.to = time.Unix(0, from), time.Unix(0, to)
			j.stalls = append(j.stalls, s)
		default:
			err = fmt.Errorf("%q is none of its words", what)
		}
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
	}
	return nil
}
