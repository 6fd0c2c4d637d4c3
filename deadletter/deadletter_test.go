package deadletter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/deadletter"
	"github.com/leatstream/leat/local"
)

func failed(n int) *leat.Record {
	return &leat.Record{
		Stream: "orders", Shard: "shardId-000000000000", SequenceNumber: fmt.Sprint(n), PartitionKey: "anna",
		Data: []byte("<tea>"), ArrivalTime: time.UnixMilli(1_700_000_000_123), Attempt: 3,
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "failed.ndjson")
	box := deadletter.File(path)
	if err := box.Send(t.Context(), failed(1), errors.New("no milk")); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(out, `{"time":"cut short by a cra`)
	out.Close()
	binary := failed(2)
	binary.Data = []byte{0xff}
	if err := box.Send(t.Context(), binary, errors.New("no sugar")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 4 || lines[3] != "" {
		t.Fatalf("lines %q", lines)
	}
	const first = `,"error":"no milk","attempt":3,"record":{"stream":"orders","shard":"shardId-000000000000","sequenceNumber":"1",` +
		`"partitionKey":"anna","arrivalTime":"2023-11-14T22:13:20.123Z","data":"<tea>"}}`
	if !strings.HasSuffix(lines[0], first) || !strings.Contains(lines[2], `"dataBase64":"/w=="`) || !json.Valid([]byte(lines[2])) {
		t.Errorf("lines %q", lines)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFileFromManyShards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "failed.ndjson")
	box := deadletter.File(path)
	var senders sync.WaitGroup
	for n := range 20 {
		senders.Go(func() {
			if err := box.Send(t.Context(), failed(n), errors.New("no")); err != nil {
				t.Error(err)
			}
		})
	}
	senders.Wait()
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 20 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestFileThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no such folder", "failed.ndjson")
	if err := deadletter.File(path).Send(t.Context(), failed(1), errors.New("no")); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

func TestStream(t *testing.T) {
	server := local.New(local.Config{})
	client := kinesis.NewFromConfig(server.AWSConfig())
	ctx := t.Context()
	box := deadletter.Stream(client, "failed")
	if err := box.Send(ctx, failed(1), errors.New("no")); err == nil || !strings.Contains(err.Error(), "stream failed") {
		t.Errorf("error %v", err)
	}
	if _, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: aws.String("failed"), ShardCount: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	described, err := client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: aws.String("failed")})
	if err != nil {
		t.Fatal(err)
	}
	empty := failed(2)
	empty.Data = nil
	for r, box := range map[*leat.Record]leat.DeadLetter{
		failed(1): box, empty: deadletter.Stream(client, *described.StreamDescriptionSummary.StreamARN),
	} {
		if err := box.Send(ctx, r, errors.New("no")); err != nil {
			t.Fatal(err)
		}
	}
	awsConfig := server.AWSConfig()
	seen := 0
	for r, err := range leat.Tail(ctx, leat.TailConfig{Stream: "failed", AWS: &awsConfig}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.PartitionKey != "anna" || string(r.Data) != "<tea>" && len(r.Data) != 0 {
			t.Errorf("%+v", r)
		}
		if seen++; seen == 2 {
			break
		}
	}
}
