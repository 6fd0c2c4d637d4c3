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
	Seed          uint64
	Span          time.Duration
	Off           []fault // kinds that the seed fails without
	Invariant     string
	At            time.Duration
	Shard, Worker string // concerned, if any
	Detail        string
	Trace         []string // if it was kept
}

// String is the violation with its trace and the command that shows it again.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s at %v, shard %q, worker %q: %s\n", v.Seed, v.Invariant, v.At, v.Shard, v.Worker, v.Detail)
	for _, line := range v.Trace {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "replay: go test ./internal/sim -run TestSeeds -sim.seed=%d -sim.minutes=%d", v.Seed, int(v.Span.Minutes()))
	if len(v.Off) > 0 {
		fmt.Fprintf(&b, " -sim.off=%q", joinFaults(v.Off))
	}
	return b.String()
}

// traceLines is how many lines a violation shows.
const traceLines = 60

// trace keeps what happened. It costs much more than the run itself, so a run is traced only when it
// is known to fail.
type trace []line

type line struct {
	at            time.Duration
	shard, worker string // concerned, "" is all
	text          string
}

// String is the line as it is shown.
func (l line) String() string {
	return fmt.Sprintf("%12.6fs %-6s %-22s %s", l.at.Seconds(), l.worker, l.shard, l.text)
}

func (w *world) tracing() bool { return w.opt.Trace }

// note keeps a line of the trace.
func (w *world) note(shard, worker, format string, args ...any) {
	if !w.tracing() {
		return
	}
	l := line{at: w.now, shard: shard, worker: worker, text: fmt.Sprintf(format, args...)}
	w.trace = append(w.trace, l)
	if w.opt.Log != nil {
		fmt.Fprintln(w.opt.Log, l)
	}
}

// about returns the last lines about a shard and its relatives, or about a worker if there is no
// shard, oldest first.
func (t trace) about(s *streamModel, shard, worker string) []string {
	family := []string{shard}
	if sh := s.byID[shard]; sh != nil {
		family = slices.Concat(family, names(sh.parents), names(sh.children))
	}
	var lines []string
	for _, l := range slices.Backward(t) {
		if len(lines) == traceLines {
			break
		}
		switch {
		case l.shard != "" && shard != "" && !slices.Contains(family, l.shard):
		case l.shard == "" && shard != "" && strings.HasPrefix(l.text, "<-"): // ticks and reads
		case l.shard == "" && shard != "" && strings.Contains(l.text, "heartbeat") && strings.Contains(l.text, "alive"):
		case l.shard == "" && shard != "" && strings.HasPrefix(l.text, "->") && !strings.Contains(l.text, "report"):
		case shard == "" && worker != "" && l.worker != worker && l.worker != "":
		default:
			lines = append(lines, l.String())
		}
	}
	slices.Reverse(lines)
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
			return fmt.Sprintf("%s heartbeat %d, %v", x.Key, x.Counter, x.Worker.State)
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
