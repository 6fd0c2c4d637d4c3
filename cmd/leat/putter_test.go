package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/local"
)

// puddle is a server with the stream "one", of one shard.
func puddle(t *testing.T, config local.Config) (*local.Server, *kinesis.Client) {
	server := local.New(config)
	client := kinesis.NewFromConfig(server.AWSConfig())
	if _, err := client.CreateStream(t.Context(), createInput("one", 1)); err != nil {
		t.Fatal(err)
	}
	return server, client
}

// contents reads what the stream holds, by key.
func contents(t *testing.T, server *local.Server) map[string][]string {
	config := server.AWSConfig()
	got := map[string][]string{}
	for r, err := range leat.Tail(t.Context(), leat.TailConfig{Stream: "one", AWS: &config, To: time.Now().Add(20 * time.Second)}) {
		if err != nil {
			t.Fatal(err)
		}
		got[r.PartitionKey] = append(got[r.PartitionKey], strings.TrimRight(string(r.Data), "x"))
	}
	return got
}

// fragments fails a share of the entries of each request, as a shard at its limit does.
type fragments struct {
	*kinesis.Client
	random *rand.Rand
}

func (f fragments) PutRecords(ctx context.Context, in *kinesis.PutRecordsInput, o ...func(*kinesis.Options)) (*kinesis.PutRecordsOutput, error) {
	answer := &kinesis.PutRecordsOutput{Records: make([]types.PutRecordsResultEntry, len(in.Records))}
	through := *in
	through.Records = nil
	var places []int
	for i, r := range in.Records {
		if f.random.IntN(3) == 0 {
			answer.Records[i] = types.PutRecordsResultEntry{
				ErrorCode: aws.String("ProvisionedThroughputExceededException"), ErrorMessage: aws.String("too much")}
			continue
		}
		through.Records = append(through.Records, r)
		places = append(places, i)
	}
	if len(through.Records) == 0 {
		return answer, nil
	}
	out, err := f.Client.PutRecords(ctx, &through, o...)
	if err != nil {
		return nil, err
	}
	for n, i := range places {
		answer.Records[i] = out.Records[n]
	}
	return answer, nil
}

// Whatever share of a request fails, a key's records are there once and in the order of their lines.
func TestPutterKeepsOrder(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				server, client := puddle(t, local.Config{Unlimited: true})
				want := map[string][]string{}
				p := &putter{api: fragments{client, random}, stream: "one"}
				for i := range 300 {
					key := fmt.Sprint(random.IntN(1 + random.IntN(50)))
					want[key] = append(want[key], fmt.Sprint(i))
					p.add(entry{line: i + 1, key: key, data: []byte(fmt.Sprint(i))})
				}
				for len(p.pending) > 0 {
					if err := p.send(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				got := contents(t, server)
				for key := range want {
					if !slices.Equal(got[key], want[key]) {
						t.Errorf("key %s: %v, want %v", key, got[key], want[key])
					}
				}
				if p.records != 300 || p.size != 0 || p.retried == 0 {
					t.Errorf("put %d, %d bytes left, %d sent again", p.records, p.size, p.retried)
				}
			})
		})
	}
}

// A record that the SDK itself sends again was sent again, too.
func TestPutterCountsTheSDKsRetries(t *testing.T) {
	for refused, want := range map[int]int64{0: 0, 2: 2, 4: 4} { // of the SDK's three tries; the putter begins anew
		synctest.Test(t, func(t *testing.T) {
			server, client := puddle(t, local.Config{})
			server.SetFaults(1, local.Fault{Kind: local.Throttle, Op: "PutRecords", Share: 1, Count: refused})
			if refused == 0 {
				server.SetFaults(1)
			}
			p := &putter{api: client, stream: "one"}
			p.add(entry{line: 1, key: "k", data: []byte("tea")})
			for len(p.pending) > 0 {
				if err := p.send(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if p.retried != want {
				t.Errorf("%d refusals: sent again %d times, want %d", refused, p.retried, want)
			}
		})
	}
}

// The shard's own limits, throttled requests and failures slow put down and lose nothing.
func TestPutterWithinLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := puddle(t, local.Config{})
		server.SetFaults(1,
			local.Fault{Kind: local.Throttle, Op: "PutRecords", Share: 0.2},
			local.Fault{Kind: local.Error, Op: "PutRecords", Share: 0.1})
		var lines strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&lines, "%d%s\n", i, strings.Repeat("x", i%3*1000))
		}
		in := &input{r: bufio.NewReader(strings.NewReader(lines.String())), limit: defaultRecordLimit}
		p := &putter{api: client, stream: "one"}
		if err := p.run(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		server.SetFaults(1)
		got := contents(t, server)
		seen := map[string]int{}
		for _, data := range got {
			seen[data[0]]++
		}
		if len(seen) != 3000 || len(got) != 3000 || p.records != 3000 {
			t.Errorf("%d different records under %d keys, %d put", len(seen), len(got), p.records)
		}
	})
}

// A request takes no more than the service does, and no key twice.
func TestPutterBatch(t *testing.T) {
	t.Parallel()
	fill := func(p *putter, n int, key func(int) string, size int) *putter {
		for i := range n {
			p.add(entry{key: key(i), data: make([]byte, size)})
		}
		return p
	}
	number := func(i int) string { return fmt.Sprintf("%04d", i) }
	same := func(int) string { return "k" }
	tests := []struct {
		name string
		p    *putter
		want int
	}{
		{"records", fill(&putter{}, 600, number, 1), 500},
		{"bytes", fill(&putter{}, 20, number, 1<<20-4), 10},
		{"bytes, one over", fill(&putter{}, 20, number, 1<<20-3), 9},
		{"one key", fill(&putter{}, 10, same, 1), 1},
		{"one key, unordered", fill(&putter{unordered: true}, 10, same, 1), 10},
		{"few keys", fill(&putter{}, 100, func(i int) string { return number(i % 7) }, 1), 7},
		{"rate", fill(&putter{rate: 200}, 100, number, 1), 20},
		{"low rate", fill(&putter{rate: 0.5}, 100, number, 1), 1},
	}
	for _, test := range tests {
		if got := test.p.batch(); len(got) != test.want {
			t.Errorf("%s: %d records, want %d", test.name, len(got), test.want)
		}
	}
}

func TestPutterRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := puddle(t, local.Config{})
		p := &putter{api: client, stream: "one", rate: 50}
		in := &input{r: bufio.NewReader(strings.NewReader(strings.Repeat("a\n", 200))), limit: 100}
		began := time.Now()
		if err := p.run(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 3800*time.Millisecond || took > 4100*time.Millisecond {
			t.Errorf("200 records at 50 a second took %v", took)
		}
	})
}

// Nothing passes for a minute: put gives up, says why, and does not hang.
func TestPutterGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := puddle(t, local.Config{})
		server.SetFaults(1, local.Fault{Kind: local.Throttle, Op: "PutRecords", Share: 1})
		p := &putter{api: client, stream: "one"}
		err := p.run(t.Context(), &input{r: bufio.NewReader(strings.NewReader("a\n")), limit: 100})
		if err == nil || !strings.Contains(err.Error(), "nothing could be put for 1m") {
			t.Errorf("got %v", err)
		}
	})
}

// A silent input does not keep a line waiting, nor an interruption.
func TestPutterSlowInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := puddle(t, local.Config{})
		reader, writer := io.Pipe()
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &putter{api: client, stream: "one"}
		ended := make(chan error, 1)
		go func() { ended <- p.run(ctx, &input{r: bufio.NewReader(reader), limit: 100, key: "k"}) }()
		io.WriteString(writer, "a\nb\nunfinish")
		if got := contents(t, server)["k"]; !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("after two lines: %q", got)
		}
		io.WriteString(writer, "ed\n")
		// A failure after a long silence is the first, not the last.
		time.Sleep(time.Hour)
		server.SetFaults(1, local.Fault{Kind: local.Throttle, Op: "PutRecords", Share: 1, Count: 4})
		io.WriteString(writer, "late\n")
		if got := contents(t, server)["k"]; len(got) != 4 {
			t.Errorf("after four lines: %q", got)
		}
		stop := errors.New("stop")
		cancel(stop)
		if err := <-ended; err != stop {
			t.Errorf("ended with %v", err)
		}
		writer.Close()
	})
}
