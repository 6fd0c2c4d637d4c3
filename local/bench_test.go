package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/fxamacker/cbor/v2"

	"github.com/leatstream/leat/local"
)

// BenchmarkGetRecordsLoopback serves the same 10,000 records over TCP to a
// reader that throws them away. B/op and MiB/s are of payload: data only.
func BenchmarkGetRecordsLoopback(b *testing.B) {
	for _, format := range []string{"json", "cbor"} {
		for _, size := range []int{1024, 128} {
			b.Run(fmt.Sprintf("%s/%dB", format, size), func(b *testing.B) { getRecordsLoopback(b, format, size) })
		}
	}
}

// getRecordsLoopback asks the same question again and again.
func getRecordsLoopback(b *testing.B, format string, size int) {
	server := local.New(local.Config{Unlimited: true})
	records := fill(b, server, size)
	question := map[string]string{"ShardIterator": horizonOf(b, server)}
	marshal := json.Marshal
	if format == "cbor" {
		marshal = cbor.Marshal
	}
	body, err := marshal(question)
	if err != nil {
		b.Fatal(err)
	}
	endpoint := serve(b, server)

	b.SetBytes(int64(records * size))
	for b.Loop() {
		r, err := http.NewRequest(http.MethodPost, endpoint, bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-amz-"+format+"-1.1")
		r.Header.Set("X-Amz-Target", "Kinesis_20131202.GetRecords")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || n < int64(records*size) {
			b.Fatal(answer.Status, n, err)
		}
	}
	payload := float64(b.N) * float64(records*size)
	b.ReportMetric(payload/(1<<20)/b.Elapsed().Seconds(), "payload-MiB/s")
}

// fill makes a stream whose only shard holds as many records of a size as one
// GetRecords call returns, and says how many they are.
func fill(tb testing.TB, server *local.Server, size int) int {
	client := kinesis.NewFromConfig(server.AWSConfig())
	_, err := client.CreateStream(tb.Context(), &kinesis.CreateStreamInput{
		StreamName: aws.String("bench"), ShardCount: aws.Int32(1)})
	if err != nil {
		tb.Fatal(err)
	}
	const key = "0123456789"
	count := min(10_000, (10<<20)/(size+len(key)))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for done := 0; done < count; {
		entries := make([]types.PutRecordsRequestEntry, min(500, count-done))
		for i := range entries {
			entries[i] = types.PutRecordsRequestEntry{Data: data, PartitionKey: aws.String(key)}
		}
		done += len(entries)
		_, err := client.PutRecords(tb.Context(), &kinesis.PutRecordsInput{StreamName: aws.String("bench"), Records: entries})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return count
}

func horizonOf(tb testing.TB, server *local.Server) string {
	client := kinesis.NewFromConfig(server.AWSConfig())
	out, err := client.GetShardIterator(tb.Context(), &kinesis.GetShardIteratorInput{
		StreamName: aws.String("bench"), ShardId: aws.String("shardId-000000000000"),
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	if err != nil {
		tb.Fatal(err)
	}
	return *out.ShardIterator
}

// serve puts the server on a loopback port until the test ends, and returns its
// endpoint.
func serve(tb testing.TB, server *local.Server) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- server.Serve(ctx, listener) }()
	tb.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}
