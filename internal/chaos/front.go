//go:build unix

package chaos

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// front is a server's port, which can be closed and opened again: to its clients the server restarts, and keeps
// what it has stored.
type front struct {
	handler http.Handler
	address string

	mu     sync.Mutex
	server *http.Server
	served chan struct{}
}

func newFront(h http.Handler) (*front, error) {
	f := &front{handler: h}
	return f, f.open()
}

func (f *front) url() string { return "http://" + f.address }

// open begins to serve; after close, at the same address.
func (f *front) open() error {
	listener, err := net.Listen("tcp", cmp.Or(f.address, "127.0.0.1:0"))
	if err != nil {
		return fmt.Errorf("listening for a server: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.address = listener.Addr().String()
	server, served := &http.Server{Handler: f.handler}, make(chan struct{})
	f.server, f.served = server, served
	go func() {
		defer close(served)
		server.Serve(listener) //nolint:errcheck // it ends by close
	}()
	return nil
}

// close breaks all connections. Calls that are being carried out are carried out; their answers are lost.
func (f *front) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server.Close()
	<-f.served
}

// forward passes requests on to a server, each read whole, and each answer too: dynalite dies when a client goes away
// in the middle of a call.
func forward(server string) http.Handler {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	pass := func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		// Not with the request's context, which ends when the client goes away.
		request, err := http.NewRequest(r.Method, server+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header = r.Header.Clone()
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if body, err = io.ReadAll(answer.Body); err != nil {
			return err
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, err = w.Write(body)
		return err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := pass(w, r); err != nil && !errors.Is(err, http.ErrAbortHandler) {
			panic(http.ErrAbortHandler) // breaks the connection
		}
	})
}
