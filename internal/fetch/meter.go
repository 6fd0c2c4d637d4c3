package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/leatstream/leat/internal/wire"
)

// HTTPClient sends requests, as *http.Client does; it is the SDK's interface of the same name.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

const (
	// MaxAnswer is the most that is read of an answer's body, and what is assumed where the answer does not
	// tell its length: 10 MiB of data in base64 and 10,000 records of 1.4 KiB besides (a partition key has
	// up to 256 characters).
	MaxAnswer = 28 << 20

	// shortAnswer of a body of unknown length is read before anything is taken: most such answers
	// end within it, and are then charged by their length.
	shortAnswer = 64 << 10
)

// The time-outs of a call. Waiting for memory is not counted.
const (
	answerTimeout = 10 * time.Second // to the answer's header
	stallTimeout  = 10 * time.Second // between two reads of its body
)

// errTimeout is a time-out of ours, so that it is not taken for the end of the caller's context.
type errTimeout string

func (e errTimeout) Error() string { return string(e) }
func (e errTimeout) Timeout() bool { return true }

const (
	errNoAnswer = errTimeout("no answer within 10s")
	errStalled  = errTimeout("the answer stalled for 10s")
)

// MeteredHTTP wraps the HTTP client of the Kinesis SDK client so that the answers that a Reader asks
// for are paid for from its Credit as soon as their length is known, before their body is read: with
// wire.Cost, of MaxAnswer where an answer does not tell its length. Until the bytes are there the
// connection waits, and with it the sender. What the records do not pin is given back after.
//
// It also gives every request its time-outs, and hides the request body's WriteTo: the SDK's body
// cannot be written and closed at one time, and a server that answers within a millisecond makes
// net/http do so ("use of closed network connection", then a slow retry).
func MeteredHTTP(inner HTTPClient) HTTPClient { return metered{inner} }

type metered struct{ inner HTTPClient }

func (c metered) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(answerTimeout, func() { cancel(errNoAnswer) })
	answer, err := c.inner.Do(plainBody(request.WithContext(ctx)))
	if !timer.Stop() && err == nil {
		answer.Body.Close()
		err = errNoAnswer
	}
	if err != nil {
		if err = timedOut(ctx, err); errors.Is(err, errNoAnswer) {
			// The other connections may be as dead: a network that was cut tells nobody.
			if idle, ok := c.inner.(interface{ CloseIdleConnections() }); ok {
				idle.CloseIdleConnections()
			}
		}
		cancel(nil)
		return nil, err
	}
	answer.Body = newWatchedBody(ctx, cancel, answer.Body)
	if m, ok := request.Context().Value(meterKey{}).(*meter); ok && answer.StatusCode == http.StatusOK {
		if err := m.pay(request.Context(), answer); err != nil {
			answer.Body.Close()
			return nil, err
		}
	}
	return answer, nil
}

// plainBody hides every method of the request's body but Read and Close. The request is the caller's
// copy.
func plainBody(r *http.Request) *http.Request {
	type plain struct{ io.ReadCloser }
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = plain{r.Body}
	}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return plain{body}, nil
		}
	}
	return r
}

// timedOut replaces the error of a call that our own time-out ended.
func timedOut(ctx context.Context, err error) error {
	var ours errTimeout
	if errors.As(context.Cause(ctx), &ours) {
		return ours
	}
	return err
}

// watchedBody ends a read that gets nothing for stallTimeout: a peer that has gone away without a
// word would block it for ever. Between two reads no time runs.
type watchedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func newWatchedBody(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser) *watchedBody {
	timer := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	timer.Stop()
	return &watchedBody{body, ctx, cancel, timer}
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.timer.Reset(stallTimeout)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF {
		err = timedOut(b.ctx, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

type meterKey struct{}

// meter is one call's account with a Credit. The reader puts it into the call's context; whatever
// becomes of the call, it closes the meter and gives back what it does not keep.
type meter struct {
	credit  Credit
	limit   int        // how many records were asked for
	waiting func(bool) // told around a Take

	mu     sync.Mutex // never held while waiting
	taken  int64
	closed bool
}

// pay takes what the answer costs, after giving back what an earlier try of the same call had cost.
func (m *meter) pay(ctx context.Context, answer *http.Response) error {
	length, body, err := measure(answer.ContentLength, answer.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	answer.Body = body

	m.mu.Lock()
	earlier := m.taken
	m.taken = 0
	m.mu.Unlock()
	// Given back before the next Take: who held and waited could deadlock with others that do.
	m.credit.Give(earlier)

	cost := wire.Cost(length, m.limit)
	m.waiting(true)
	err = m.credit.Take(ctx, cost)
	m.waiting(false)
	if err != nil {
		return fmt.Errorf("waiting for memory: %w", err)
	}
	m.mu.Lock()
	if !m.closed {
		m.taken, cost = cost, 0
	}
	m.mu.Unlock()
	m.credit.Give(cost) // the caller has gone
	return nil
}

// close returns what the call has taken and not given back: it is the reader's now.
func (m *meter) close() (taken int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken, m.taken, m.closed = m.taken, 0, true
	return taken
}

// measure finds how long a body is; one of unknown length that is not short counts as MaxAnswer. A
// longer one is an error, here or when it is read.
func measure(length int64, body io.ReadCloser) (int64, io.ReadCloser, error) {
	if length > MaxAnswer {
		return 0, nil, fmt.Errorf("%d bytes; the service's have at most %d", length, MaxAnswer)
	}
	if length >= 0 {
		return length, body, nil
	}
	start := make([]byte, shortAnswer)
	n, err := io.ReadFull(body, start)
	start = start[:n]
	switch err {
	case io.EOF, io.ErrUnexpectedEOF:
		return int64(n), &joined{bytes.NewReader(start), body}, nil
	case nil:
		rest := http.MaxBytesReader(nil, body, int64(MaxAnswer-n))
		return MaxAnswer, &joined{io.MultiReader(bytes.NewReader(start), rest), body}, nil
	default:
		return 0, nil, err
	}
}

// joined reads from one place and closes another.
type joined struct {
	io.Reader
	io.Closer
}
