package local_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"testing"

	"github.com/leatstream/leat/internal/node"
	"github.com/leatstream/leat/local"
)

// TestJavaScriptSDK uses a server on a port through the AWS SDK for JavaScript, which speaks HTTP/2: see
// internal/node/testdata/kinesis.mjs. What it saw is testdata/javascript.json.
func TestJavaScriptSDK(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- local.New(local.Config{Unlimited: true}).Serve(ctx, listener) }()
	saw := node.Run(t, "kinesis.mjs", "http://"+listener.Addr().String())
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want, err := os.ReadFile("testdata/javascript.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(saw, want) {
		t.Errorf("it saw\n%s\nwant\n%s", saw, want)
	}
}
