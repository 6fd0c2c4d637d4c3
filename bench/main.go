// Command bench measures leat: what a record costs, how soon it comes to the handler, what a held shard costs, and
// how fast one shard is read.
//
//	go run ./bench                  # all of it, some minutes
//	go run ./bench throughput       # against the bare loop over the AWS SDK
//	go run ./bench latency
//	go run ./bench shards
//	go run ./bench fast-shard
//
// Whatever is measured runs in a process of its own, and so do the servers: CPU time and memory are of nothing else.
// Nothing is sent to AWS. docs/performance.md says what the figures mean.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

const usage = `usage: go run ./bench [flags] [throughput|latency|shards|fast-shard ...]

throughput   the whole consumer and the bare loop over the AWS SDK, against one static server
latency      from put to handler, on leat local with the service's limits
shards       1,000 held shards in one process: memory and CPU, idle and with a trickle
fast-shard   one shard, from leat local without limits

Without a name, all of them. Flags:
`

// options are the flags.
type options struct {
	rounds  int
	period  time.Duration
	output  string
	profile string
	only    string
}

// measurement is one of the names on the command line.
type measurement struct {
	name string
	run  func(context.Context, options) (table, error)
}

var measurements = []measurement{
	{"throughput", throughput},
	{"latency", latency},
	{"shards", shards},
	{"fast-shard", fastShard},
}

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		exit(play(role))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func exit(err error) {
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, args []string, out, talk io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(talk)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.rounds, "rounds", 3, "how often each thing is measured, in turn; the table has the medians")
	flags.DurationVar(&o.period, "for", 2*time.Second, "how long each time, after a second of warming up")
	flags.StringVar(&o.output, "output", "table", "table or json")
	flags.StringVar(&o.profile, "profile", "", "write CPU profiles of what is measured into this `folder`")
	flags.StringVar(&o.only, "only", "", "throughput: measure only what has this `text` in its name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.rounds < 1 || o.period <= 0 || o.output != "table" && o.output != "json" {
		return errors.New("-rounds is at least 1, -for is above 0, and -output is table or json")
	}
	var known []string
	for _, m := range measurements {
		known = append(known, m.name)
	}
	names := flags.Args()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%q is none of %s", name, strings.Join(known, ", "))
		}
	}
	if o.output == "table" {
		fmt.Fprintln(out, machine())
	}
	for _, m := range measurements {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		t, err := m.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if o.output == "json" {
			err = json.NewEncoder(out).Encode(map[string]any{"measurement": m.name, "machine": machine(), "rows": t.objects()})
		} else {
			_, err = fmt.Fprintf(out, "\n%s\n\n%s", t.title, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
