package local

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leatstream/leat/local/dynamodb"
)

const (
	targetPrefix = "Kinesis_20131202."

	// maxBody bounds a request's body: PutRecords' 10 MiB in base64, with room
	// for its other members.
	maxBody = 32 << 20

	// stopTimeout is how long Serve waits for running calls once it shall stop.
	stopTimeout = 5 * time.Second
)

// errDropped stands for an answer that a fault took away.
var errDropped = errors.New("local: connection broken by a fault on demand")

// reply is an HTTP answer before it is written anywhere.
type reply struct {
	status int
	header http.Header
	body   *buffer
}

// buffer is a reused byte slice: GetRecords answers have up to 14 MB, which the
// garbage collector should not see once a call.
type buffer struct{ bytes []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.bytes = b.bytes[:0]
	return b
}

func (b *buffer) free() { buffers.Put(b) }

// reply answers one request. Its error is that of ctx, or errDropped; all others
// are answers. The caller frees the body.
func (s *Server) reply(ctx context.Context, header http.Header, body []byte) (reply, error) {
	r := reply{status: http.StatusOK, header: make(http.Header, 6), body: newBuffer()}
	var format codec = jsonCodec{}
	err := func() error {
		media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
		spoken, ok := codecs[media]
		if !ok {
			return failure("UnknownOperationException", "Content type %q is not spoken here; use %s or %s.", media, jsonType, cborType)
		}
		format = spoken
		r.header.Set("Content-Type", media)
		answer, err := s.call(ctx, header.Get("X-Amz-Target"), format, body)
		if err != nil {
			return err
		}
		r.body.bytes, err = format.append(r.body.bytes, answer)
		return err
	}()
	if refusal := (*apiError)(nil); errors.As(err, &refusal) {
		r.status = refusal.status
		r.body.bytes = format.appendError(r.body.bytes[:0], refusal)
		if r.header.Get("Content-Type") == "" {
			r.header.Set("Content-Type", jsonType)
		}
		err = nil
	}
	if err != nil {
		r.body.free()
		return reply{}, err
	}
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", s.requests.Add(1), s.now().UnixMilli())
	r.header.Set("X-Amzn-Requestid", id)
	r.header.Set("X-Amz-Id-2", base64.StdEncoding.EncodeToString([]byte(id)))
	// The answer's time is the server's: clients take it for their point LATEST.
	r.header.Set("Date", s.now().UTC().Format(http.TimeFormat))
	r.header.Set("Content-Length", strconv.Itoa(len(r.body.bytes)))
	return r, nil
}

// call decodes and carries out one request, under the faults.
func (s *Server) call(ctx context.Context, target string, format codec, body []byte) (any, error) {
	name, ours := strings.CutPrefix(target, targetPrefix)
	o, known := operations[name]
	if !ours || !known {
		return nil, failure("UnknownOperationException", "Operation %q is not known here.", target)
	}
	request := o.newRequest()
	if err := format.decode(body, request); err != nil {
		return nil, failure("SerializationException", "%v", err)
	}
	fate := s.fate(name, request)
	if fate.delay > 0 {
		timer := time.NewTimer(fate.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if fate.err != nil {
		return nil, fate.err
	}
	answer, err := s.run(o, request)
	if fate.drop {
		return nil, errDropped
	}
	return answer, err
}

// forDynamoDB says whether a request is a call of the DynamoDB API.
func forDynamoDB(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("X-Amz-Target"), dynamodb.TargetPrefix)
}

// ServeHTTP answers one call of the Kinesis or DynamoDB API, and shows (GET), replaces (POST)
// and clears (DELETE) the faults under /_leat/faults, see SetFaults. Those are JSON:
// {"seed": 1, "rules": [{"kind": "delay", "op": "GetRecords", "share": 0.5, "delay":
// "200ms"}]}; a rule's members are those of [Fault], share is 1 if it is absent. An answer that a fault drops
// ends in panic(http.ErrAbortHandler), which is how a handler breaks its
// connection. Faults and tables of DynamoDB are under /_leat/dynamodb, see
// [dynamodb.Server.ServeHTTP].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == faultsPath {
		s.serveFaults(w, r)
		return
	}
	if forDynamoDB(r) || strings.HasPrefix(r.URL.Path, dynamodb.ControlPath) {
		s.tables.ServeHTTP(w, r)
		return
	}
	// The body is read to its end before anything is answered: the AWS SDK for Go
	// takes an early answer for a broken connection.
	in := newBuffer()
	defer in.free()
	err := in.read(http.MaxBytesReader(w, r.Body, maxBody), r.ContentLength)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "Request body exceeds the limit.", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	answer, err := s.reply(r.Context(), r.Header, in.bytes)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.body.free()
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.status)
	w.Write(answer.body.bytes) // an error means that the client is gone
}

// read fills the buffer with all of src, of which length bytes are expected.
func (b *buffer) read(src io.Reader, length int64) error {
	if length > int64(cap(b.bytes)) && length <= maxBody {
		b.bytes = make([]byte, 0, length+1)
	}
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = append(b.bytes, 0)[:len(b.bytes)]
		}
		n, err := src.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ListenAndServe is Serve on a new TCP listener, such as "127.0.0.1:4567".
func (s *Server) ListenAndServe(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("local: listening for Kinesis calls: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve answers HTTP/1.1 and unencrypted HTTP/2 on the listener, which it closes,
// until ctx ends. Then running calls get five seconds to end, and Serve returns
// nil. Any other return is an error of the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("local: serving Kinesis calls on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if server.Shutdown(stop) != nil {
		server.Close() // breaks the calls that are left
	}
	<-served
	return nil
}
