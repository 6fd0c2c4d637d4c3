package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/leatstream/leat"
)

// tailFlags are the flags of leat tail, as they were given.
type tailFlags struct {
	connection
	from, to, shard, format string
	most                    int

	group, store, start, worker string // of a member of a group
}

func (p *program) tail() *cobra.Command {
	var flags tailFlags
	cmd := &cobra.Command{
		Use:   "tail STREAM",
		Short: "Print the records of a stream",
		Long: `Print the records of a stream, by default from now on and until interrupted.
It uses no consumer group and stores nothing, but with --group. Records of one
partition key come in order, also where shards were split or merged; shards are
read side by side.

Each record is a line of JSON:
  stream, shard, sequenceNumber, partitionKey, arrivalTime (RFC 3339, UTC),
  data, or dataBase64 where the data is not valid UTF-8;
  subSequenceNumber and explicitHashKey for records out of an aggregated one.
More fields may be added.

With --format it is what the format says, and nothing else: no newline comes by
itself.
  ` + strings.ReplaceAll(verbList, "\n", "\n  ") + `

--from is
  latest       what comes from now on (the default; also: now)
  trim         all that the stream still keeps
  -10m, -2d    so long ago; also 2026-01-02T15:04:05Z and Unix seconds
  @SEQUENCE    what comes after that record; needs --shard
--to takes the same times and ends the command when all shards have been read up
to it. Times are those of arrival, by the service's clock.

When the reader of a pipe behind stdout closes it, as head does, tail ends by
itself with exit code 0 (at once on Linux, elsewhere with the next record).

With --group it is a member of a consumer group, for "tail --group g | program".
Members of the same group share the shards, and one that starts again goes on
where the group stands. Leases are in the DynamoDB table "leat" (at --endpoint, if
it is given), or in the folder --store of this machine, which all members must then
name. A record is acknowledged only when the program has taken
it out of the pipe, and then taken more or lived on for half a second. When the
program ends, so does tail, with exit code 141, and what is not acknowledged
comes again. So a program that deals with each line before it reads on loses
nothing, unless it dies over the last lines that it took after more than half a
second. SIGINT and SIGTERM drain: what was written is waited for, up to 20 s.
Where stdout is no pipe, and on systems other than Linux, taken means written.`,
		Example: `  leat tail orders
  leat tail orders --from -1h --to now | jq -r .data
  leat tail orders --from trim -n 10 --format '%t %k %s\n'
  leat tail orders --shard shardId-000000000000 --from @4959...
  leat tail orders --group billing | ./charge
  leat tail orders --group billing --store /var/lib/billing | ./charge`,
		Args: exactly("STREAM"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("group") {
				return p.runGroup(cmd.Context(), args[0], &flags)
			}
			return p.runTail(cmd.Context(), args[0], &flags)
		},
	}
	flags.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.from, "from", "latest", "where to begin: latest, trim, a `TIME` or @SEQUENCE")
	f.StringVar(&flags.to, "to", "", "where to end: a `TIME` (default: never)")
	f.IntVarP(&flags.most, "max", "n", 0, "end after `N` records (default: no limit)")
	f.StringVar(&flags.shard, "shard", "", "read only the shard with this `ID`")
	f.StringVarP(&flags.format, "format", "f", "", "print each record by `FORMAT` (default: JSON lines)")
	f.StringVar(&flags.group, "group", "", "be a member of the consumer group `NAME`, and go on where it stands")
	f.StringVar(&flags.store, "store", "", "with --group: the `FOLDER` of its leases (default: DynamoDB)")
	f.StringVar(&flags.start, "start", "trim", "with --group: where a new group begins: trim, latest or a `TIME`")
	f.StringVar(&flags.worker, "worker", "", "with --group: `NAME` of this member (default: the host's)")
	return cmd
}

// check finds flags that do not go together.
func (f *tailFlags) check(cmd *cobra.Command) error {
	others, why := []string{"store", "start", "worker"}, "needs --group"
	if cmd.Flags().Changed("group") {
		others, why = []string{"from", "to", "shard", "max"}, "not together with --group"
	}
	for _, name := range others {
		if cmd.Flags().Changed(name) {
			return usagef("--%s: %s", name, why)
		}
	}
	return nil
}

// writer is how records are printed.
func (f *tailFlags) writer() (writer, error) {
	if f.format == "" {
		return writeJSON, nil
	}
	write, err := parseFormat(f.format)
	if err != nil {
		return nil, usagef("--format: %w", err)
	}
	return write, nil
}

// config reads the flags.
func (f *tailFlags) config(stream string, now time.Time) (cfg leat.TailConfig, write writer, err error) {
	cfg = leat.TailConfig{Stream: stream, Shard: f.shard}
	if cfg.From, err = parseFrom(f.from, f.shard, now); err != nil {
		return cfg, nil, usagef("--from: %w", err)
	}
	if f.to != "" {
		if cfg.To, err = parseTime(f.to, now); err != nil {
			return cfg, nil, usagef("--to: %w", err)
		}
	}
	if f.most < 0 {
		return cfg, nil, usagef("--max: %d is negative", f.most)
	}
	if write, err = f.writer(); err != nil {
		return cfg, nil, err
	}
	if err := f.resolve(); err != nil {
		return cfg, nil, err
	}
	cfg.Endpoint = f.endpoint
	return cfg, write, faults(cfg.Validate())
}

func (p *program) runTail(parent context.Context, stream string, flags *tailFlags) error {
	cfg, write, err := flags.config(stream, time.Now())
	if err != nil {
		return err
	}
	if cfg.AWS, err = flags.aws(parent); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	out := newSink(p.stdout, func(err error) { cancel(err) })
	watchReader(ctx, p.stdout.w, func(err error) { cancel(err) })

	err = p.copyRecords(ctx, cfg, flags.most, out, write)
	// What was read is written before anything else is said, also after an interruption. Not to a
	// reader that has gone: a write would only say that again.
	if errors.Is(context.Cause(ctx), errReaderGone) {
		return errReaderGone
	}
	if failed := out.close(); failed != nil {
		return failed
	}
	return err
}

// copyRecords brings records to the sink until it has brought most of them (0: no limit), the tail ends,
// or ctx is done: then the error is ctx's cause.
func (p *program) copyRecords(ctx context.Context, cfg leat.TailConfig, most int, out *sink, write writer) error {
	n := 0
	for r, err := range leat.Tail(ctx, cfg) {
		if errors.Is(err, leat.ErrTrimmed) {
			p.say("warning: %s", strings.TrimPrefix(err.Error(), "leat: ")) // and the rest goes on
			continue
		}
		if err != nil {
			return err
		}
		if err := out.add(func(b []byte) []byte { return write(b, r) }); err != nil {
			return err
		}
		if n++; n == most {
			return nil
		}
	}
	return context.Cause(ctx) // nil if the tail ended by itself
}
