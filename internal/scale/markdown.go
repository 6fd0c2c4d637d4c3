package scale

import (
	"fmt"
	"strings"
	"time"
)

// Sizes are the rows of docs/scale.md.
func Sizes() []Size {
	return []Size{{1, 2}, {10, 2}, {10, 5}, {100, 5}, {100, 20}, {100, 500}, {1000, 20}, {1000, 100}, {10_000, 100}, {10_000, 500}}
}

// Markdown is the tables of docs/scale.md.
func Markdown(results []Result) string {
	var b strings.Builder
	row := func(cells ...any) {
		b.WriteString("|")
		for _, c := range cells {
			fmt.Fprintf(&b, " %v |", c)
		}
		b.WriteString("\n")
	}
	row("shards", "workers", "start: all read", "balanced", "join: balanced", "moves", "crash: all read", "balanced", "moves", "restart: all read", "balanced", "moves", "longest pause")
	row("--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, r := range results {
		row(count(r.Shards), count(r.Workers),
			span(r.Start.Owned), span(r.Start.Balanced),
			span(r.Join.Balanced), of(r.Join),
			span(r.Crash.Owned), span(r.Crash.Balanced), of(r.Crash),
			span(r.Restart.Owned), span(r.Restart.Balanced), of(r.Restart), span(r.Restart.Pause))
	}
	b.WriteString("\n")
	row("shards", "workers", "heartbeats", "checkpoints", "members", "leases", "heartbeats", "checkpoints", "reads", "all but checkpoints", "refused")
	row("--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, r := range results {
		beats, checkpoints, reads := writeDollars(r.Rest.heartbeats), writeDollars(r.Rest.checkpoints), readDollars(r.Rest.reads())
		row(count(r.Shards), count(r.Workers),
			count(r.Rest.heartbeats), count(r.Rest.checkpoints), count(r.Rest.members), count(r.Rest.leases),
			dollars(beats), dollars(checkpoints), dollars(reads), dollars(beats+reads+writeDollars(r.Rest.moves+r.Rest.control)), r.Rest.refused)
	}
	b.WriteString("\n")
	row("shards", "workers", "partitions", "start: writes", "reads", "throttled", "join: reads", "throttled", "crash: reads", "throttled", "restart: writes", "reads", "throttled", "fenced")
	row("--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, r := range results {
		row(count(r.Shards), count(r.Workers), r.partitions(),
			count(r.Start.Bill.writes()), count(r.Start.Bill.reads()), count(r.Start.Throttled),
			count(r.Join.Bill.reads()), count(r.Join.Throttled),
			count(r.Crash.Bill.reads()), count(r.Crash.Throttled),
			count(r.Restart.Bill.writes()), count(r.Restart.Bill.reads()), count(r.Restart.Throttled), r.Fenced)
	}
	return b.String()
}

// of is the moves of a change, and how many had to be.
func of(c change) string { return fmt.Sprintf("%s of %s", count(c.Moves), count(c.Needed)) }

// span is a time; a negative one was given up.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return fmt.Sprintf("> %.0f min", giveUp.Minutes())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// count writes a number with commas.
func count[N int | float64](n N) string {
	digits := fmt.Sprintf("%.0f", float64(n))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// dollars a month of units a minute.
func writeDollars(perMinute float64) float64 {
	return perMinute * minutesPerMonth * dollarsPerMillionWrites / 1e6
}
func readDollars(perMinute float64) float64 {
	return perMinute * minutesPerMonth * dollarsPerMillionReads / 1e6
}

func dollars(d float64) string {
	if d < 100 {
		return fmt.Sprintf("$%.2f", d)
	}
	return "$" + count(d)
}
