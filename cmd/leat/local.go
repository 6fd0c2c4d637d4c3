package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/spf13/cobra"

	"github.com/leatstream/leat/local"
)

func (p *program) local() *cobra.Command {
	var (
		host        string
		port        uint16
		streams     []string
		unlimited   bool
		allowRemote bool
	)
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Serve an in-memory Kinesis on this machine",
		Long: `Serve a Kinesis-compatible server on a port until interrupted. Streams and
records live in memory and are gone when it ends. It has the limits of the
service (per shard: 1 MiB and 1,000 records a second in, 2 MiB and 5 calls a
second out), and no access control: anybody who reaches the port may do anything.

The endpoint is printed to stdout, once it answers. leat finds it by
LEAT_ENDPOINT, every AWS SDK by AWS_ENDPOINT_URL_KINESIS.

Calls go wrong on demand: POST rules to /_leat/faults, GET shows them, DELETE
clears them. A rule has a kind (throttle, error, delay, dropAnswer,
expireIterator) and, optionally, op (an operation), shard, share (of the calls,
0 to 1; default 1), count (at most so many calls) and delay (such as 200ms). The
same seed chooses the same calls.`,
		Example: `  leat local
  leat local --stream orders:4 --stream clicks:1
  leat local --port 0                  # any free port
  curl http://127.0.0.1:4567/_leat/faults \
    -d '{"seed": 1, "rules": [{"kind": "throttle", "op": "PutRecords", "share": 0.2}]}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !isLoopback(host) && !allowRemote {
				return withHint(usagef("--host: %q can be reached from other machines, and the server has no access control", host),
					"--allow-remote allows it")
			}
			server := local.New(local.Config{Unlimited: unlimited})
			for _, s := range streams {
				if err := createLocal(cmd.Context(), server, s); err != nil {
					return err
				}
			}
			listener, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
			if err != nil {
				return withHint(err, "--port 0 takes any free port")
			}
			endpoint := "http://" + listener.Addr().String()
			if _, err := fmt.Fprintln(p.stdout, endpoint); err != nil {
				listener.Close()
				return err
			}
			p.say("serving Kinesis in memory until interrupted; in another shell:")
			p.say("  export %s=%s", endpointVariable, endpoint)
			return server.Serve(cmd.Context(), listener)
		},
	}
	f := cmd.Flags()
	f.Uint16Var(&port, "port", 4567, "TCP `PORT`; 0 takes a free one")
	f.StringVar(&host, "host", "127.0.0.1", "`ADDRESS` to listen on")
	f.StringArrayVar(&streams, "stream", nil, "create a stream `NAME:SHARDS` (1 shard without a number); may be repeated")
	f.BoolVar(&unlimited, "unlimited", false, "without the quotas of reads and writes")
	f.BoolVar(&allowRemote, "allow-remote", false, "allow a --host that other machines can reach")
	return cmd
}

// createLocal creates the stream of a --stream flag.
func createLocal(ctx context.Context, server *local.Server, flag string) error {
	name, number, given := strings.Cut(flag, ":")
	shards := uint64(1)
	if given {
		var err error
		if shards, err = strconv.ParseUint(number, 10, 31); err != nil || shards == 0 {
			return usagef("--stream: %q is not NAME:SHARDS, such as orders:4", flag)
		}
	}
	_, err := kinesis.NewFromConfig(server.AWSConfig()).CreateStream(ctx, createInput(name, int32(shards)))
	if err != nil {
		return usagef("--stream: creating %q: %w", flag, err)
	}
	return nil
}

func createInput(name string, shards int32) *kinesis.CreateStreamInput {
	return &kinesis.CreateStreamInput{StreamName: &name, ShardCount: &shards}
}
