package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/leatstream/leat/internal/demo"
)

func (p *program) demo() *cobra.Command {
	var quick, rolling bool
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
leaves nothing behind; if it fails, it keeps its folder and says where.`,
		Example: `  leat demo
  leat demo --quick     # one round, in about half a minute`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program, to start it as worker: %w", err)
			}
			d := demo.Demo{Quick: quick, Rolling: rolling, Out: p.stdout, Command: func(w demo.Worker) []string {
				return []string{self, "demo-worker", "--name", w.Name, "--endpoint", w.Endpoint, "--store", w.Store, "--log", w.Log}
			}}
			err = d.Run(cmd.Context())
			if i := interrupted(cmd.Context()); i != nil {
				return i
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&rolling, "rolling", false, "restart all of 5 workers under load instead, one after the other")
	cmd.Flags().BoolVar(&quick, "quick", false, "one round instead of three")
	return cmd
}

// demoWorker is a worker process of the demo. It ends when its standard input does.
func (p *program) demoWorker() *cobra.Command {
	var w demo.Worker
	cmd := &cobra.Command{
		Use:    "demo-worker",
		Short:  "One worker process of the demo",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return w.Run(cmd.Context(), p.stdin) },
	}
	f := cmd.Flags()
	f.StringVar(&w.Name, "name", "", "name of the worker")
	f.StringVar(&w.Endpoint, "endpoint", "", "URL of the server")
	f.StringVar(&w.Store, "store", "", "folder of the lease store")
	f.StringVar(&w.Log, "log", "", "file that the handlers append to")
	return cmd
}
