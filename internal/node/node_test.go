package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/leatstream/leat/internal/node"
)

// TestServers: each server answers calls of its own API.
func TestServers(t *testing.T) {
	for _, test := range []struct {
		name   string
		server node.Server
		media  string
		target string // an operation that needs nothing
	}{
		{"kinesis-local", node.KinesisLocal, "application/x-amz-json-1.1", "Kinesis_20131202.ListStreams"},
		{"dynalite", node.Dynalite, "application/x-amz-json-1.0", "DynamoDB_20120810.ListTables"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			endpoint := node.Start(t, test.server)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", test.media)
			request.Header.Set("X-Amz-Target", test.target)
			request.Header.Set("X-Amz-Date", "20260101T000000Z")
			request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/x/aws4_request, SignedHeaders=host, Signature=x")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", test.target, response.Status)
			}
		})
	}
}
