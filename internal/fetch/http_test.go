package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// pipes is a network in process: a server takes 10 ms for each answer, and counts its connections.
type pipes struct {
	dialed, open atomic.Int64
	silent       atomic.Bool // the server answers no more
	accept       chan net.Conn
}

// newPipes returns a network, and the SDK's own client for it.
func newPipes(t *testing.T) (*pipes, *awshttp.BuildableClient) {
	p := &pipes{accept: make(chan net.Conn)}
	server := &http.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			time.Sleep(10 * time.Millisecond)
			if p.silent.Load() {
				<-r.Context().Done()
			}
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				p.dialed.Add(1)
				p.open.Add(1)
			case http.StateClosed:
				p.open.Add(-1)
			}
		},
	}
	go server.Serve(p)
	t.Cleanup(func() { server.Close() })
	return p, awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			p.accept <- there
			return here, nil
		}
	})
}

// Accept, Close and Addr implement net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.accept; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p *pipes) Close() error   { close(p.accept); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// callAtOnce makes n calls at one time.
func callAtOnce(t *testing.T, client HTTPClient, n int) {
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			answer, err := client.Do(request(t, t.Context()))
			if err != nil {
				t.Error(err)
				return
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		})
	}
	calls.Wait()
	synctest.Wait()
}

// TestSpareConnections: connections that a burst of calls has left are closed soon, those that the polling needs stay,
// however long its interval is.
func TestSpareConnections(t *testing.T) {
	for _, poll := range []time.Duration{200 * time.Millisecond, time.Second, 20 * time.Second, time.Hour} {
		t.Run(poll.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, sdk := newPipes(t)
				client := MeteredHTTP(NewHTTP(sdk, poll))
				const burst = 200
				callAtOnce(t, client, burst)
				if n := network.open.Load(); n != burst {
					t.Errorf("%d connections after %d calls at one time", n, burst)
				}
				for began := time.Now(); time.Since(began) < 3*max(poll, spareAfter); {
					time.Sleep(poll)
					callAtOnce(t, client, 1)
				}
				if open, dialed := network.open.Load(), network.dialed.Load(); open != 1 || dialed != burst {
					t.Errorf("%d connections are open, %d were made", open, dialed)
				}
			})
		})
	}
}

// TestSilenceClosesTheSDKsConnections: those of the SDK's own client, too, which cannot do so itself.
func TestSilenceClosesTheSDKsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, sdk := newPipes(t)
		client := MeteredHTTP(NewHTTP(sdk, time.Hour))
		callAtOnce(t, client, 5)
		network.silent.Store(true)
		if _, err := client.Do(request(t, t.Context())); err != errNoAnswer {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if n := network.open.Load(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}
