package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/leatstream/leat/cmd/leat/internal/screen"
	"github.com/leatstream/leat/internal/demo"
)

func (p *program) demo() *cobra.Command {
	var d demo.Demo
	var plain bool
	var picture string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a group of workers that loses nothing",
		Long: `Run a group of worker processes on an embedded Kinesis, with nothing else
installed: real earthquake reports go in, keyed by network, while a worker joins,
one is killed, a shard is split, two are merged, and a worker is stopped cleanly.

What the handlers wrote is compared with what was put. The last line says

  N records, 0 lost, 0 out of order, R repeated, longest pause S s

R is what a killed worker had handled after its last checkpoints and another
handled again; a pause runs from the signal that ended a worker to the first
handler start on each of its shards. The exit code is 1 if anything is lost or
out of order, or repeated for any other reason. The demo ends by itself and
leaves nothing behind; if it fails, it keeps its folder and says where.

With --rolling the story is another: 5 workers are stopped cleanly and replaced
under load, one after the other, and how long each shard stood still is printed.
Nothing may be repeated then. Between two handler starts lies also the wait for
records: a shard without a backlog is read once a second.

On a terminal the demo is a screen of shards, workers and counts (q ends it);
the lines follow when it is over. It is lines from the start with --plain, in a
pipe, with TERM=dumb and where CI is set. NO_COLOR takes the colours away.`,
		Example: `  leat demo
  leat demo --quick     # one round, in about half a minute
  leat demo --rolling`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.Quick && d.Rolling {
				return usagef("--rolling: not together with --quick")
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program, to start it as worker: %w", err)
			}
			d.Command = func(w demo.Worker) []string {
				return []string{self, "demo-worker", "--name", w.Name, "--endpoint", w.Endpoint, "--store", w.Store, "--log", w.Log}
			}
			switch {
			case picture != "":
				err = p.demoPicture(cmd.Context(), d, picture)
			case !plain && screen.Fits(p.stdout.w, os.Getenv):
				err = p.demoScreen(cmd.Context(), d)
			default:
				d.Out = p.stdout
				err = d.Run(cmd.Context())
			}
			if i := interrupted(cmd.Context()); i != nil {
				return i
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&d.Quick, "quick", false, "one round instead of three")
	f.BoolVar(&d.Rolling, "rolling", false, "restart each of 5 workers, one after the other, instead")
	f.BoolVar(&plain, "plain", false, "lines instead of a screen, also on a terminal")
	f.StringVar(&picture, "picture", "", "write the last frame before the end to an SVG `FILE`, for the README")
	f.MarkHidden("picture") //nolint:errcheck // it exists
	return cmd
}

// demoScreen runs the demo on the screen, then prints its lines.
func (p *program) demoScreen(ctx context.Context, d demo.Demo) error {
	var lines bytes.Buffer
	d.Out = &lines
	err := screen.Run(ctx, p.stdin, p.stdout.w, func(ctx context.Context, watch func(demo.State)) error {
		d.Watch = watch
		return d.Run(ctx)
	})
	p.stdout.Write(lines.Bytes()) //nolint:errcheck // run looks at the error
	if errors.Is(err, screen.ErrQuit) {
		return &interruption{syscall.SIGINT}
	}
	return err
}

// demoPicture runs the demo, and draws how it stood when the last step was over.
func (p *program) demoPicture(ctx context.Context, d demo.Demo, file string) error {
	var last demo.State
	d.Out = p.stdout
	d.Watch = func(s demo.State) {
		if !s.Over {
			last = s
		}
	}
	if err := d.Run(ctx); err != nil {
		return err
	}
	const columns, lines = 100, 32
	return os.WriteFile(file, []byte(screen.Picture(screen.Frame(last, columns, lines), columns, lines)), 0o644)
}

// demoWorker is a worker process of the demo. It ends when its standard input does.
func (p *program) demoWorker() *cobra.Command {
	var w demo.Worker
	cmd := &cobra.Command{
		Use:    "demo-worker",
		Short:  "One worker process of the demo",
		Hidden: true,
		Args:   exactly(),
		RunE:   func(cmd *cobra.Command, _ []string) error { return w.Run(cmd.Context(), p.stdin) },
	}
	f := cmd.Flags()
	f.StringVar(&w.Name, "name", "", "name of the worker")
	f.StringVar(&w.Endpoint, "endpoint", "", "URL of the server")
	f.StringVar(&w.Store, "store", "", "folder of the lease store")
	f.StringVar(&w.Log, "log", "", "file that the handlers append to")
	return cmd
}
