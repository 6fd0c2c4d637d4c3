package local

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// HTTPClient calls a Server in the same process, without a socket. It serves the
// AWS SDK as kinesis.Options.HTTPClient or aws.Config.HTTPClient, whatever the
// endpoint. It starts no goroutine and is safe for concurrent use.
type HTTPClient struct{ server *Server }

// HTTPClient returns a client of the server. It runs in a testing/synctest
// bubble.
func (s *Server) HTTPClient() HTTPClient { return HTTPClient{s} }

// AWSConfig is a configuration for AWS service clients that call the server in
// process: its region, credentials that mean nothing, its HTTPClient. Retries are
// the SDK's default.
func (s *Server) AWSConfig() aws.Config {
	cfg := s.tables.AWSConfig() // the same region and credentials
	cfg.HTTPClient = s.HTTPClient()
	return cfg
}

// Do carries the request out and returns its answer, whose body is complete and
// must be closed. It returns an error if the request's context ends first, if the
// request's body cannot be read, or if a fault drops the answer (then it wraps
// io.ErrUnexpectedEOF).
func (c HTTPClient) Do(r *http.Request) (*http.Response, error) {
	if forDynamoDB(r) {
		return c.server.tables.HTTPClient().Do(r)
	}
	in := newBuffer()
	defer in.free()
	if r.Body != nil {
		err := in.read(r.Body, r.ContentLength)
		r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("local: reading the request: %w", err)
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer, err := c.server.reply(r.Context(), r.Header, in.bytes)
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
		ContentLength: int64(len(answer.body.bytes)),
		Body:          &body{buffer: answer.body},
		Request:       r,
	}, nil
}

// body reads a buffer and gives it back when it is closed.
type body struct {
	mu     sync.Mutex // a late Read must not see the buffer's next use
	buffer *buffer
	offset int
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buffer == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.offset == len(b.buffer.bytes) {
		return 0, io.EOF
	}
	n := copy(p, b.buffer.bytes[b.offset:])
	b.offset += n
	return n, nil
}

func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buffer != nil {
		b.buffer.free()
		b.buffer = nil
	}
	return nil
}
