package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/spf13/cobra"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/internal/kpl"
)

// putFlags are the flags of leat put, as they were given.
type putFlags struct {
	connection
	json                   bool
	key, keyField, hashKey string
	rate                   float64
	unordered, aggregate   bool
	output                 outputFormat
}

// putSummary is the JSON of leat put.
type putSummary struct {
	Stream  string  `json:"stream"`
	Records int64   `json:"records"` // put
	Bytes   int64   `json:"bytes"`   // of their data
	Retried int64   `json:"retried"` // how often a record had to be sent again
	Seconds float64 `json:"seconds"`
}

func (p *program) put() *cobra.Command {
	var flags putFlags
	cmd := &cobra.Command{
		Use:   "put STREAM [FILE]",
		Short: "Write lines to a stream as records",
		Long: `Write each line of FILE, or of stdin, to a stream as one record, without its
newline. With --json each line must be a JSON value (blank lines are skipped),
and --key-field can take the partition key out of it.

Records of one key are written in the order of their lines. Since a request can
fail for one record and succeed for a later one, a request holds no two records
of one key. Few keys are slow, therefore: one record of each key per round trip.
Without --key and --key-field every record has a random key, and no order.
--unordered drops the order for speed.

With --aggregate many lines become one record of the stream, in the format of the
Amazon Kinesis Producer Library: a line costs little, and a shard takes more than
1,000 of them a second. leat, and every KCL, takes such a record apart again.
What is there when a request goes out is put together, by shard, up to 1 MiB;
nothing waits for more, and a line that is alone becomes a plain record. A request
holds one record of each shard, so the order of a key is kept, few keys are fast,
and the summary's numbers are of lines. In a reshard a line can get into a shard
that is not its key's; then it is put once more, into the right one.

What the service refuses for a while (throttling, trouble) is sent again, with
pauses, until nothing could be put for a minute. A request whose answer was lost
is sent again, too: then its records may be in the stream twice.

A line that cannot be a record (over the stream's limit, no JSON, no key) ends
the command: the lines before it are put, it and those behind it are not.

The summary goes to stderr; with --output json to stdout:
{"stream", "records", "bytes", "retried", "seconds"}, also after an error, once it
has begun.`,
		Example: `  seq 1000 | leat put orders
  leat put orders events.ndjson --json --key-field customer.id
  tail -f access.log | leat put clicks --key web-1 --rate 100
  leat put readings sensors.ndjson --json --key-field sensor --aggregate`,
		Args: exactly("STREAM", "[FILE]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			return p.runPut(cmd.Context(), args[0], file, &flags)
		},
	}
	flags.flags(cmd)
	flags.output.flag(cmd)
	f := cmd.Flags()
	f.BoolVar(&flags.json, "json", false, "lines are JSON values")
	f.StringVar(&flags.key, "key", "", "partition `KEY` of all records (default: a random one for each)")
	f.StringVar(&flags.keyField, "key-field", "", "`PATH` of the key in the JSON, such as customer.id or items.0.sku")
	f.StringVar(&flags.hashKey, "hash-key", "", "explicit hash key of all records, a `NUMBER` from 0 to 2^128-1")
	f.Float64Var(&flags.rate, "rate", 0, "put at most `N` records a second (default: no limit)")
	f.BoolVar(&flags.unordered, "unordered", false, "do not keep the order of a key")
	f.BoolVar(&flags.aggregate, "aggregate", false, "put many lines into one record, as the KPL does")
	return cmd
}

// maxRate is more than any stream takes, and far from where numbers overflow.
const maxRate = 1e9

// check finds what is wrong with the flags.
func (f *putFlags) check(stream string) error {
	if err := faults(leat.TailConfig{Stream: stream}.Validate()); err != nil {
		return err
	}
	switch {
	case f.keyField != "" && !f.json:
		return usagef("--key-field: needs --json")
	case f.keyField != "" && f.key != "":
		return usagef("--key-field: not together with --key")
	case !(0 <= f.rate && f.rate <= maxRate): // so is NaN
		return usagef("--rate: %v is not a number from 0 to %v", f.rate, maxRate)
	}
	if _, err := kpl.HashKeyOf("", f.hashKey); err != nil {
		return usagef("--hash-key: %q is not a number from 0 to 2^128-1", f.hashKey)
	}
	return f.resolve()
}

func (p *program) runPut(ctx context.Context, stream, file string, flags *putFlags) error {
	if err := flags.check(stream); err != nil {
		return err
	}
	source := p.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usagef("FILE: %w", err)
		}
		defer f.Close()
		source = f
	}
	client, err := flags.client(ctx)
	if err != nil {
		return err
	}
	limit, err := p.recordLimit(ctx, client, stream)
	if err != nil {
		return err
	}
	in := &input{r: bufio.NewReaderSize(source, 64<<10), limit: limit, json: flags.json, key: flags.key}
	if flags.keyField != "" {
		in.field = strings.Split(flags.keyField, ".")
	}
	began := time.Now()
	put := &putter{api: client, stream: stream, unordered: flags.unordered, rate: flags.rate}
	if flags.hashKey != "" {
		put.hashKey = &flags.hashKey
	}
	if flags.aggregate {
		put.list = func(ctx context.Context) (*shardMap, error) { return mapShards(ctx, client, stream) }
	}
	err = put.run(ctx, in)
	return p.summarise(putSummary{
		Stream: stream, Records: put.records, Bytes: put.bytes, Retried: put.retried,
		Seconds: time.Since(began).Seconds(),
	}, flags.output, err)
}

// defaultRecordLimit is the limit of a stream that nothing else is known of (AWS, "Quotas and limits" of
// Kinesis Data Streams).
const defaultRecordLimit = 1 << 20

// recordLimit asks for the stream's limit of a record, in bytes.
func (p *program) recordLimit(ctx context.Context, client *kinesis.Client, stream string) (int, error) {
	in := &kinesis.DescribeStreamSummaryInput{}
	target(stream, &in.StreamName, &in.StreamARN)
	out, err := client.DescribeStreamSummary(ctx, in)
	switch {
	case err == nil:
		if kib := aws.ToInt32(out.StreamDescriptionSummary.MaxRecordSizeInKiB); kib > 0 {
			return int(kib) << 10, nil
		}
		return defaultRecordLimit, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case apiCode(err) == "AccessDeniedException":
		p.say("warning: the stream's limit of a record cannot be asked for (kinesis:DescribeStreamSummary is denied), 1 MiB is assumed")
		return defaultRecordLimit, nil
	}
	return 0, fmt.Errorf("looking at stream %s: %w", stream, err)
}

// summarise tells what was put, and passes err on.
func (p *program) summarise(s putSummary, format outputFormat, err error) error {
	if format.json() {
		if json.NewEncoder(p.stdout).Encode(s); err == nil {
			err = p.stdout.err
		}
		return err
	}
	before := ""
	if err != nil {
		before = " before it ended"
	}
	p.say("records put into %s%s: %d (%d bytes, %.1f s)", s.Stream, before, s.Records, s.Bytes, s.Seconds)
	return err
}

// run puts all of the input. What could be read before an error is put, then the error comes back.
func (p *putter) run(ctx context.Context, in *input) (err error) {
	if p.list != nil {
		if p.shards, err = p.list(ctx); err != nil {
			return err
		}
	}
	chunks, failed := in.start(ctx)
	open := true
	for open || len(p.pending) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// With something to put, take what is there without waiting: a slow producer's line goes out at
		// once, a fast one's share requests.
		for ready := true; open && ready && !p.full(); {
			var chunk []entry
			if len(p.pending) == 0 {
				select {
				case chunk, open = <-chunks:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			} else {
				select {
				case chunk, open = <-chunks:
				default:
					ready = false
				}
			}
			for _, e := range chunk {
				p.add(e)
			}
		}
		if len(p.pending) == 0 {
			continue
		}
		if err := p.send(ctx); err != nil {
			return err
		}
	}
	return <-failed
}

// chunkBytes bounds a chunk of lines that the reader of the input holds, but for one record; readAhead is how many
// chunks are read while a request is under way.
const (
	chunkBytes = 1 << 20
	readAhead  = 8
)

// start reads in the background, since a read of stdin cannot be interrupted. A chunk is the lines
// that were there without waiting. The channel ends with the input; then its error follows, or nil.
func (in *input) start(ctx context.Context) (<-chan []entry, <-chan error) {
	chunks, failed := make(chan []entry, readAhead), make(chan error, 1)
	go func() {
		defer close(chunks)
		for {
			chunk, err := in.chunk()
			if len(chunk) > 0 {
				select {
				case chunks <- chunk:
				case <-ctx.Done():
					return
				}
			}
			if errors.Is(err, io.EOF) {
				err = nil
			} else if err == nil {
				continue
			}
			failed <- err
			return
		}
	}()
	return chunks, failed
}

// chunk returns at least one entry, or an error; entries before an error come with it.
func (in *input) chunk() (chunk []entry, err error) {
	for size := 0; len(chunk) < maxBatch && size < chunkBytes; {
		e, err := in.next()
		if err != nil {
			return chunk, err
		}
		chunk = append(chunk, e)
		size += e.size()
		if there, _ := in.r.Peek(in.r.Buffered()); bytes.IndexByte(there, '\n') < 0 {
			break // the next line would have to be waited for
		}
	}
	return chunk, nil
}
