package lease_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios in testdata do now")

// TestScenarios plays testdata/*.txt. A line of a script is a comment (#) or a command; the lines below a command,
// which are indented, are what the members did: the virtual time in seconds, who, and what. Left out are plain
// heartbeats, reads, and reports that only repeat the line before. go test -run Scenarios -rewrite ./lease writes them; commit a change only if you understand it.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			switch {
			case *rewrite:
				err = os.WriteFile(file, got, 0o666)
			case !bytes.Equal(got, want):
				t.Errorf("%s: line %s\nThis is what happens:\n%s", file, firstDifference(string(got), string(want)), got)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%d:\n%s, want\n%s", i+1, a[i], b[i])
		}
	}
	return "count"
}

// play runs a script and returns it with what happens.
func play(t *testing.T, script string) []byte {
	s := &scenario{group: newGroup(t)}
	s.told, s.clones = s.note, true
	for number, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&s.out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := s.command(strings.Fields(line)); err != nil {
			t.Fatalf("line %d, %q: %v", number+1, line, err)
		}
	}
	return s.out.Bytes()
}

type scenario struct {
	*group
	out   bytes.Buffer
	reads bool
}

func (s *scenario) note(who, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.HasSuffix(text, ": heartbeat") || !s.reads && (strings.HasPrefix(text, "reads ") || strings.HasPrefix(text, "lists ")) {
		return
	}
	for _, kind := range []lease.ReportKind{lease.Joined, lease.Took, lease.Released, lease.Finished, lease.Resharded} {
		if about, ok := strings.CutPrefix(text, "reports "+string(kind)+" "); ok && !strings.Contains(about, " ") {
			return
		}
	}
	fmt.Fprintf(&s.out, "  %7.3f  %-4s  %s\n", time.Duration(s.now).Seconds(), who, text)
}

// commands are what a script can say. Words in capitals are arguments; the last one may be many words.
var commands = map[string]func(s *scenario, args []string) error{
	"shards N": func(s *scenario, args []string) error {
		n, err := strconv.Atoi(args[0])
		for i := range n {
			s.shards = append(s.shards, lease.Shard{ID: fmt.Sprintf("s%d", i)})
		}
		return err
	},
	"worker W": func(s *scenario, args []string) error { s.join(args[0]); return nil },
	"worker W takes at most N": func(s *scenario, args []string) error {
		n, err := strconv.Atoi(args[1])
		s.join(args[0], func(c *lease.MemberConfig) { c.MaxShards = n })
		return err
	},
	"run D": func(s *scenario, args []string) error {
		d, err := time.ParseDuration(args[0])
		s.pass(d)
		return err
	},
	// What becomes of workers.
	"stop W":    func(s *scenario, args []string) error { s.step(s.worker(args[0]), lease.Stop{}); return nil },
	"crash W":   func(s *scenario, args []string) error { s.worker(args[0]).away = true; return nil },
	"suspend W": func(s *scenario, args []string) error { s.worker(args[0]).away = true; return nil },
	"resume W":  func(s *scenario, args []string) error { s.worker(args[0]).away = false; return nil },
	// Handlers.
	"ack SHARD SEQUENCE by W": func(s *scenario, args []string) error {
		s.ack(s.worker(args[2]), args[0], args[1])
		return nil
	},
	"handlers of W do not end": func(s *scenario, args []string) error { s.worker(args[0]).slow = true; return nil },
	"handlers of W end": func(s *scenario, args []string) error {
		w := s.worker(args[0])
		drains := w.drains
		w.slow, w.drains = false, nil
		for _, a := range drains {
			s.step(w, w.drained(a))
		}
		return nil
	},
	"end of SHARD by W": func(s *scenario, args []string) error {
		w := s.worker(args[1])
		token := w.open[args[0]].Token
		var children []lease.Shard
		for _, shard := range s.shards {
			for _, p := range shard.Parents {
				if p == args[0] {
					children = append(children, shard)
				}
			}
		}
		s.step(w, lease.Ended{Shard: args[0], Token: token, Children: children})
		s.step(w, lease.Acked{Shard: args[0], Token: token, Position: lease.ShardEnd()})
		return nil
	},
	// The stream.
	"split SHARD": func(s *scenario, args []string) error { s.reshard(2, args[0]); return nil },
	"merge SHARD SHARD": func(s *scenario, args []string) error {
		s.reshard(1, args[0], args[1])
		return nil
	},
	// Faults.
	"lose the next answer to a heartbeat of W":     lose(lease.KindWorker),
	"lose the next answer to a lease write of W":   lose(lease.KindLease),
	"lose the next answer to a control write of W": lose(lease.KindControl),
	"reads of leases by W are stale from now on": func(s *scenario, args []string) error {
		s.worker(args[0]).stale = s.leases()
		return nil
	},
	"reads of leases by W are true again": func(s *scenario, args []string) error {
		s.worker(args[0]).stale = nil
		return nil
	},
	// Operators.
	"hold SHARD for D as ID REASON": func(s *scenario, args []string) error {
		d, err := time.ParseDuration(args[1])
		s.hold(args[0], lease.Hold{ID: args[2], For: d, Reason: args[3]})
		return err
	},
	"remove the hold of SHARD": func(s *scenario, args []string) error {
		s.hold(args[0], lease.Hold{})
		return nil
	},
	"seek SHARD to POSITION as ID": func(s *scenario, args []string) error {
		to := lease.TrimHorizon()
		if args[1] != to.String() {
			to = after(s.t, args[1])
		}
		w, err := lease.Seek(s.item(lease.LeaseKey("orders", args[0])), args[2], to)
		if err != nil {
			s.note("tool", "%v", err)
			return nil
		}
		s.tool(w, nil)
		return nil
	},
	"write SHARD by hand at SEQUENCE": func(s *scenario, args []string) error {
		s.touch(args[0], func(l *lease.Lease) { l.Checkpoint = after(s.t, args[1]) })
		return nil
	},
	// What to show.
	"show reads": func(s *scenario, _ []string) error { s.reads = true; return nil },
	"leases": func(s *scenario, _ []string) error {
		for _, item := range s.leases() {
			l := item.Lease
			text := fmt.Sprintf("  %s %v", itemText(item.Key, item.Counter), l.Checkpoint)
			if l.Owner != "" {
				text += ", owner " + l.Owner
			}
			if l.Hold.ID != "" {
				text += ", on hold"
			}
			fmt.Fprintln(&s.out, text)
		}
		return nil
	},
}

func lose(kind lease.Kind) func(s *scenario, args []string) error {
	return func(s *scenario, args []string) error {
		s.worker(args[0]).lose = kind
		return nil
	}
}

// command carries out a line of a script.
func (s *scenario) command(words []string) error {
	for pattern, run := range commands {
		if args, ok := match(strings.Fields(pattern), words); ok {
			return run(s, args)
		}
	}
	return fmt.Errorf("no such command")
}

// match returns what stands in the place of the words in capitals.
func match(pattern, words []string) (args []string, ok bool) {
	for i, p := range pattern {
		switch {
		case i >= len(words):
			return nil, false
		case p == "REASON":
			return append(args, strings.Join(words[i:], " ")), true
		case p == strings.ToUpper(p):
			args = append(args, words[i])
		case p != words[i]:
			return nil, false
		}
	}
	return args, len(words) == len(pattern)
}

func (s *scenario) worker(id string) *worker {
	for _, w := range s.workers {
		if w.id == id {
			return w
		}
	}
	s.t.Fatalf("there is no worker %s", id)
	return nil
}

// reshard adds the children of some shards to the stream.
func (s *scenario) reshard(n int, parents ...string) {
	for range n {
		s.shards = append(s.shards, lease.Shard{ID: fmt.Sprintf("s%d", len(s.shards)), Parents: parents})
	}
}
