package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

// localServer is package local's, with one stream.
type localServer struct {
	Shards    int
	Unlimited bool
	Records   int  // that are put before it serves
	Size      int  // of their payloads
	Trickle   bool // a record a second is put into each shard
}

func playLocal(told []byte, say func(any) error) error {
	var s localServer
	if err := json.Unmarshal(told, &s); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server := local.New(local.Config{Unlimited: s.Unlimited})
	client := kinesis.NewFromConfig(server.AWSConfig())
	_, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{
		StreamName: aws.String(streamName), ShardCount: aws.Int32(int32(s.Shards)),
	})
	if err != nil {
		return err
	}
	payload := make([]byte, s.Size)
	for done := 0; done < s.Records; {
		entries := make([]types.PutRecordsRequestEntry, min(500, s.Records-done))
		for i := range entries {
			entries[i] = types.PutRecordsRequestEntry{Data: payload, PartitionKey: aws.String(fmt.Sprintf("key-%d", (done+i)%keys))}
		}
		if _, err := client.PutRecords(ctx, &kinesis.PutRecordsInput{StreamName: aws.String(streamName), Records: entries}); err != nil {
			return err
		}
		done += len(entries)
	}
	if s.Trickle {
		go s.trickle(ctx, client)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go server.Serve(ctx, listener)
	if err := say("http://" + listener.Addr().String()); err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// trickle puts a record into each shard each second, spread over it.
func (s localServer) trickle(ctx context.Context, client *kinesis.Client) {
	width := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(int64(s.Shards)))
	const slices = 20
	tick := time.NewTicker(time.Second / slices)
	defer tick.Stop()
	for n := 0; ; n++ {
		var entries []types.PutRecordsRequestEntry
		for shard := n % slices; shard < s.Shards; shard += slices {
			middle := new(big.Int).Mul(width, big.NewInt(int64(shard)))
			middle.Add(middle, new(big.Int).Rsh(width, 1))
			entries = append(entries, types.PutRecordsRequestEntry{
				Data: make([]byte, s.Size), PartitionKey: aws.String("key"), ExplicitHashKey: aws.String(middle.String()),
			})
		}
		if _, err := client.PutRecords(ctx, &kinesis.PutRecordsInput{StreamName: aws.String(streamName), Records: entries}); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "bench: trickle:", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
