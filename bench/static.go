package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

const (
	streamName = "orders"
	shardID    = "shardId-000000000000"
	region     = "us-east-1"
)

// staticServer is a stream of one shard without an end, whose records are there before the server starts.
type staticServer struct {
	CBOR       bool // otherwise it answers in JSON whatever it is asked in
	Aggregated bool
	Size       int // of a payload
}

func playStatic(told []byte, say func(any) error) error {
	var s staticServer
	if err := json.Unmarshal(told, &s); err != nil {
		return err
	}
	answers, err := newCanned(s.CBOR, s.Aggregated, s.Size)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		kind, out := "application/x-amz-json-1.1", []byte(nil)
		if operation == "GetRecords" {
			buffer := buffers.Get().(*[]byte)
			defer buffers.Put(buffer)
			from, limit := question(body)
			out = answers.answer((*buffer)[:0], from, limit)
			kind, *buffer = answers.contentType(), out
		} else {
			out = []byte(controlPlane[operation])
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
		w.Write(out)
	}))
	if err := say("http://" + listener.Addr().String()); err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// controlPlane is what is said to everything but GetRecords.
var controlPlane = map[string]string{
	"GetShardIterator": fmt.Sprintf(`{"ShardIterator":%q}`, iteratorAt(0)),
	"DescribeStreamSummary": `{"StreamDescriptionSummary":{"StreamName":"` + streamName + `","StreamARN":"arn:aws:kinesis:` + region + `:000000000000:stream/` + streamName + `",
		"StreamStatus":"ACTIVE","RetentionPeriodHours":24,"StreamCreationTimestamp":1700000000,"EnhancedMonitoring":[],"OpenShardCount":1}}`,
	"ListShards": `{"Shards":[{"ShardId":"` + shardID + `","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"340282366920938463463374607431768211455"},
		"SequenceNumberRange":{"StartingSequenceNumber":"` + sequenceBase + `000000000000"}}]}`,
}
