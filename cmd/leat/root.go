package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// program is what the subcommands share: the three streams of the process.
type program struct {
	stdin  io.Reader
	stdout *output // data
	stderr io.Writer
}

// say writes a line of talk to stderr.
func (p *program) say(format string, args ...any) {
	fmt.Fprintf(p.stderr, "leat: "+format+"\n", args...)
}

// run is the command: it returns the exit code. It takes over SIGINT, SIGTERM and SIGHUP while it runs; the
// second one ends the process at once.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{stdin: stdin, stdout: &output{w: stdout}, stderr: stderr}
	ctx, stop := interruptible(context.Background())
	defer stop()

	root := p.root()
	began := false
	// Cobra runs this after flags and arguments have been checked: an error before is the user's.
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !began {
		err = &usageError{err}
	}
	if err != nil && exitCode(err) == exitUsage && hintOf(err) == "" {
		err = withHint(err, "%s --help", cmd.CommandPath())
	}
	if err == nil {
		err = p.stdout.err
	}
	return p.report(ctx, err)
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "leat",
		Short: "Read and write Amazon Kinesis streams",
		Long: `Leat reads and writes Amazon Kinesis streams.

Data goes to stdout, everything else to stderr. A stream is given by its name or
its ARN. Region and credentials are found as the AWS command line does: by
environment, shared files or role.`,
		Example: `  leat demo --quick                   # a group of workers that loses nothing
  leat local --stream orders:4        # a Kinesis on this machine, in memory
  export LEAT_ENDPOINT=http://127.0.0.1:4567
  seq 1000 | leat put orders
  leat tail orders --from trim -n 10`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	put, tail := p.put(), p.tail()
	put.ValidArgsFunction = completeStream(cobra.ShellCompDirectiveDefault)
	tail.ValidArgsFunction = completeStream(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(p.demo(), p.demoWorker(), p.local(), put, tail, p.version(), exitCodes())
	root.SetHelpCommand(helpCommand(root))
	root.SetFlagErrorFunc(flagError)
	root.Version = build().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.RunE = unknownShell // else a shell that is misspelt gets help text to evaluate, and exit code 0
			cmd.Args = cobra.ArbitraryArgs
			for _, shell := range cmd.Commands() {
				shell.Args = exactly()
			}
		}
	}
	return root
}

// unknownShell is what leat completion does without the name of a shell.
func unknownShell(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return usagef("%q is no shell that completion knows: bash, fish, powershell, zsh", args[0])
}

// helpCommand is cobra's, but for a topic that does not exist, which is an error here.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command or topic",
		Long:  "Show the help of a command or of a topic such as exit-codes.",
		RunE: func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no help on %q", strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			topic.InitDefaultVersionFlag()
			return topic.Help()
		},
	}
}

// interruptible returns a context that ends at the first SIGINT, SIGTERM or SIGHUP. The signals then have
// their usual effect again, so that a second one ends a process that does not come to an end.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A write to a closed pipe is to be an error that is looked at, not the end of the process.
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&interruption{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
