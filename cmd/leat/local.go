package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go"
	"github.com/spf13/cobra"

	"github.com/leatstream/leat/local"
)

func (p *program) local() *cobra.Command {
	var (
		host        string
		port        uint16
		streams     []string
		files       []string
		unlimited   bool
		allowRemote bool
	)
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Serve an in-memory Kinesis on this machine",
		Long: `Serve a Kinesis-compatible server on a port until interrupted. Streams and
records live in memory and are gone when it ends. It has the limits of the
service (per shard: 1 MiB and 1,000 records a second in, 2 MiB and 5 calls a
second out; --unlimited lifts them), and no access control: anybody who reaches
the port may do anything. It speaks JSON and CBOR. It also serves as much of
DynamoDB as leat keeps leases in.

--load fills it first, from a file of JSON objects, one a line: the output of
leat tail as it is. A line with partitionKey is a record; data (or dataBase64) is
its data, explicitHashKey and arrivalTime are optional. It goes to its stream, by
its key, behind the lines before it; it gets a sequence number of its own, and
keeps its arrival time if that is within the stream's retention. Any other line
creates a stream, of one shard if it does not say else:
  {"stream": "orders", "shards": 4, "retentionHours": 48, "maxRecordSizeKiB": 2048}
A stream that no line and no --stream creates gets one shard. With a line that is
wrong nothing is served.

The endpoint, for this machine, is printed to stdout once it answers. leat finds it
by LEAT_ENDPOINT, every AWS SDK by AWS_ENDPOINT_URL.

Calls go wrong on demand: POST rules to /_leat/faults, GET shows them, DELETE
clears them. A rule has a kind (throttle, error, delay, dropAnswer,
expireIterator) and, optionally, op (an operation), shard, share (of the calls,
0 to 1; default 1), count (at most so many calls) and delay (such as 200ms). The
same seed chooses the same calls.

DynamoDB has rules of its own, at /_leat/dynamodb/faults, without shards. Their
kinds: throttle, error, deny, delay, dropRequest, dropAnswer, late (the connection
breaks, and the call is carried out a delay later), hang (until the client gives
up), stale (a read sees what was there a delay ago), noItem (a failed condition
does not tell the item). A POST to /_leat/dynamodb/tables/NAME/backup keeps a copy
of a table, to .../lose takes the table away, to .../restore puts it back as the
copy has it.`,
		Example: `  leat local
  leat local --stream orders:4 --stream clicks:1
  leat local --port 0                  # any free port
  leat tail orders --from -1h --to now > orders.ndjson
  leat local --stream orders:4 --load orders.ndjson
  curl http://127.0.0.1:4567/_leat/faults \
    -d '{"seed": 1, "rules": [{"kind": "throttle", "op": "PutRecords", "share": 0.2}]}'
  curl http://127.0.0.1:4567/_leat/dynamodb/faults \
    -d '{"rules": [{"kind": "stale", "op": "Query", "delay": "3s"}]}'
  curl -X POST http://127.0.0.1:4567/_leat/dynamodb/tables/leat/lose`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !isLoopback(host) && !allowRemote {
				return withHint(usagef("--host: %q may be reached from other machines, and the server has no access control", host),
					"--allow-remote allows it")
			}
			server := local.New(local.Config{Unlimited: unlimited})
			for _, s := range streams {
				if err := createLocal(cmd.Context(), server, s); err != nil {
					return err
				}
			}
			for _, file := range files {
				if err := p.load(cmd.Context(), server, file); err != nil {
					return err
				}
			}
			listener, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
			if err != nil {
				return withHint(err, "--port 0 takes any free port")
			}
			endpoint := endpointAt(listener.Addr())
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
	f.StringArrayVar(&files, "load", nil, "begin with the streams and records of `FILE`, - for stdin; may be repeated")
	f.BoolVar(&unlimited, "unlimited", false, "without the quotas of reads and writes")
	f.BoolVar(&allowRemote, "allow-remote", false, "allow a --host that other machines can reach")
	return cmd
}

// endpointAt is where the server is called from this machine. An address that stands for all of the machine's is none to call.
func endpointAt(listens net.Addr) string {
	at := listens.String()
	if tcp, ok := listens.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		at = net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return "http://" + at
}

// createLocal creates the stream of a --stream flag.
func createLocal(ctx context.Context, server *local.Server, flag string) error {
	name, number, given := strings.Cut(flag, ":")
	shards := uint64(1)
	var err error
	if given {
		shards, err = strconv.ParseUint(number, 10, 31)
	}
	if err != nil || shards == 0 || name == "" {
		return usagef("--stream: %q is not NAME:SHARDS, such as orders:4", flag)
	}
	_, err = kinesis.NewFromConfig(server.AWSConfig()).CreateStream(ctx, createInput(name, int32(shards)))
	if answer, ok := errors.AsType[smithy.APIError](err); ok {
		return usagef("--stream: %q: %s", flag, answer.ErrorMessage()) // without the SDK's words about the call
	}
	return err
}

// load fills the server with a file of a --load flag.
func (p *program) load(ctx context.Context, server *local.Server, file string) error {
	source := p.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usagef("--load: %w", err)
		}
		defer f.Close()
		source = f
	}
	// In the background, since a read of stdin cannot be interrupted.
	loaded := make(chan error, 1)
	go func() { loaded <- server.Load(source) }()
	select {
	case err := <-loaded:
		if err != nil {
			return fmt.Errorf("--load: %s: %w", file, err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func createInput(name string, shards int32) *kinesis.CreateStreamInput {
	return &kinesis.CreateStreamInput{StreamName: &name, ShardCount: &shards}
}
