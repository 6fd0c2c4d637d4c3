package dynamo_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/leatstream/leat/internal/node"
)

// TestDynalite runs the conformance suite on npm's dynalite, over TCP.
func TestDynalite(t *testing.T) {
	t.Parallel()
	cfg, endpoint := dynalite(t)
	suite(func(*testing.T) (aws.Config, string) { return cfg, endpoint }).Run(t)
}

// dynalite starts a dynalite behind a proxy. It dies when a client goes away in the middle of a request: the proxy
// reads each request and each answer whole.
func dynalite(t *testing.T) (cfg aws.Config, endpoint string) {
	t.Helper()
	server := node.Start(t, node.Dynalite)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		// The request's context is not passed on: it ends when the client goes away.
		forward, err := http.NewRequest(r.Method, server+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		forward.Header = r.Header.Clone()
		answer, err := http.DefaultClient.Do(forward)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		body, err = io.ReadAll(answer.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		w.Write(body)
	}))
	t.Cleanup(proxy.Close)
	return aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}, proxy.URL
}
