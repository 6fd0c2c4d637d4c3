package dynamodb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// HTTPClient calls a Server in the same process, without a socket. It serves the AWS SDK as aws.Config.HTTPClient,
// whatever the endpoint. It starts no goroutine and is safe for concurrent use.
type HTTPClient struct{ server *Server }

// HTTPClient returns a client of the server. It runs in a testing/synctest bubble.
func (s *Server) HTTPClient() HTTPClient { return HTTPClient{s} }

// AWSConfig is a configuration for AWS service clients that call the server in process: its region,
// credentials that mean nothing, its HTTPClient. Retries are the SDK's default.
func (s *Server) AWSConfig() aws.Config {
	return aws.Config{
		Region:     s.config.Region,
		HTTPClient: s.HTTPClient(),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local", Source: "leat/local"}, nil
		}),
	}
}

// Do carries the request out and returns its answer. It returns an error if the request's context ends
// first, if its body cannot be read, or if a fault drops the answer (then it wraps io.ErrUnexpectedEOF).
func (c HTTPClient) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("local: reading the request: %w", err)
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer, err := c.server.reply(r.Context(), r.Header, body)
	if errors.Is(err, errDropped) {
		// What net/http reports when a server closes before it has answered.
		return nil, fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status)),
		StatusCode:    answer.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        answer.header,
		ContentLength: int64(len(answer.body)),
		Body:          io.NopCloser(bytes.NewReader(answer.body)),
		Request:       r,
	}, nil
}
