package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leatstream/leat/lease"
)

// Violation is an invariant that did not hold.
type Violation struct {
	Options       Options // of the run
	Invariant     string
	At            time.Duration
	Shard, Worker string // concerned, if any
	Detail        string
	Trace         []string // if it was kept
}

// String is the violation with its trace and the command that shows it again.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s at %v, shard %q, worker %q: %s\n", v.Options.Seed, v.Invariant, v.At, v.Shard, v.Worker, v.Detail)
	for _, line := range v.Trace {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	test := "TestSeeds"
	if v.Options.Standard {
		test = "TestHours"
	}
	fmt.Fprintf(&b, "replay: go test ./internal/sim -run %s %s -sim.log=FILE", test, v.Options.flags())
	return b.String()
}

// traceLines is how many lines a violation shows.
const traceLines = 30

// trace keeps what happened. It costs much more than the run itself, so a run is traced only when it
// is known to fail.
type trace []line

type line struct {
	at            time.Duration
	shard, worker string // concerned, "" is all
	text          string
	detail        bool // what one member is told or wants, or of no account: shown in the log only
	routine       bool // of many that follow each other, one tells enough
}

// String is the line as it is shown.
func (l line) String() string {
	return fmt.Sprintf("%12.6fs %-6s %-22s %s", l.at.Seconds(), l.worker, l.shard, l.text)
}

func (w *world) tracing() bool { return w.opt.Trace }

// note keeps a line of the trace.
func (w *world) note(shard, worker, format string, args ...any) {
	if w.tracing() {
		w.keepLine(line{at: w.now, shard: shard, worker: worker, text: fmt.Sprintf(format, args...)})
	}
}

func (w *world) keepLine(l line) {
	w.trace = append(w.trace, l)
	if w.opt.Log != nil {
		fmt.Fprintln(w.opt.Log, l)
	}
}

// about returns the last lines that a person needs to understand what happened to a shard or a worker, oldest first:
// what the store took, which workers came and went, where records were handed out, and the faults.
func (t trace) about(s *streamModel, shard, worker string) []string {
	family := []string{shard}
	if sh := s.byID[shard]; sh != nil {
		family = slices.Concat(family, names(sh.parents), names(sh.children))
	}
	var kept []line // newest first
	for _, l := range slices.Backward(t) {
		switch last := len(kept) - 1; {
		case l.detail:
		case l.shard != "" && shard != "" && !slices.Contains(family, l.shard):
		case shard == "" && worker != "" && l.worker != worker && l.worker != "":
		case l.routine && last >= 0 && kept[last].routine && kept[last].worker == l.worker && kept[last].shard == l.shard:
			kept[last].text = "... " + strings.TrimPrefix(kept[last].text, "... ") // there were others before it
		default:
			kept = append(kept, l)
		}
		if len(kept) == traceLines {
			break
		}
	}
	var lines []string
	for _, l := range slices.Backward(kept) {
		lines = append(lines, l.String())
	}
	return lines
}

// shardOf is the shard that an event or an action is about.
func shardOf(x any) string {
	switch x := x.(type) {
	case lease.WriteItem:
		return x.Write.Item.Key.Shard
	case lease.Written:
		return x.Key.Shard
	case lease.Open:
		return x.Shard
	case lease.Drain:
		return x.Shard
	case lease.Close:
		return x.Shard
	case lease.Report:
		return x.Shard
	case lease.Acked:
		return x.Shard
	case lease.Ended:
		return x.Shard
	case lease.Drained:
		return x.Shard
	case lease.Missing:
		return x.Shard
	}
	return ""
}

// describe is an item, an event or an action in a line.
func describe(x any) string {
	switch x := x.(type) {
	case lease.Item:
		switch x.Key.Kind {
		case lease.KindLease:
			l := x.Lease
			return fmt.Sprintf("%s counter %d, owner %q, checkpoint %v, root %v, children %v, hold %q %d", x.Key, x.Counter, l.Owner, l.Checkpoint, l.Root,
				l.Children, l.Hold.ID, l.Hold.Version)
		case lease.KindWorker:
			return fmt.Sprintf("%s heartbeat %d, %v, wants %v", x.Key, x.Counter, x.Worker.State, x.Worker.Wants)
		}
		return fmt.Sprintf("%s changes %d, %v", x.Key, x.Counter, x.Control.Streams)
	case lease.WriteItem:
		return fmt.Sprintf("%v if counter %d, owner %q: %s", x.Write.Op, x.Write.Counter, x.Write.Owner, describe(x.Write.Item))
	case lease.Written:
		outcome := [...]string{lease.Landed: "landed", lease.Conflict: "conflict", lease.Unknown: "unknown"}[x.Outcome]
		if x.Outcome == lease.Unknown {
			return fmt.Sprintf("written %s: unknown: %v", x.Key, x.Err)
		}
		return fmt.Sprintf("written: %s, found %v: %s", outcome, x.Found, describe(x.Item))
	case lease.MembersRead:
		return fmt.Sprintf("members, consistent %v, error %v:%s", x.Consistent, x.Err, describeAll(x.Items))
	case lease.LeasesRead:
		return fmt.Sprintf("leases, error %v:%s", x.Err, describeAll(x.Items))
	case lease.Listed:
		var ids []string
		for _, s := range x.Shards {
			ids = append(ids, strings.TrimLeft(strings.TrimPrefix(s.ID, "shardId-"), "0")+"/")
		}
		return fmt.Sprintf("listed, error %v: %v", x.Err, ids)
	case lease.Report:
		return fmt.Sprintf("report %s: worker %s, position %v, error %v", x.Kind, x.Worker, x.Position, x.Err)
	case lease.Close:
		return fmt.Sprintf("close token %d: %v", x.Token, x.Reason)
	}
	return fmt.Sprintf("%T %+v", x, x)
}

func describeAll(items []lease.Item) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString(" {" + describe(item) + "}")
	}
	return b.String()
}
