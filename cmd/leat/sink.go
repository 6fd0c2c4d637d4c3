package main

import (
	"context"
	"errors"
	"io"
	"sync"
)

// errReaderGone says that the reader of the pipe behind stdout closed it.
var errReaderGone = errors.New("the reader of stdout has gone")

// maxUnwritten bounds the bytes that wait to be written; who adds more waits.
const maxUnwritten = 1 << 20

// sink writes in the background: whatever has been added is written at once and in one piece. So a
// slow stream's records appear as they come and a fast one's go in large writes, without a timer.
type sink struct {
	mu     sync.Mutex
	change sync.Cond // something below changed
	buffer []byte
	closed bool
	err    error // of a write; the first one ends all

	done chan struct{} // the writer has ended
	fail func(error)   // is told the first error
}

// newSink returns a sink that calls fail, once, if it cannot write.
func newSink(w io.Writer, fail func(error)) *sink {
	s := &sink{done: make(chan struct{}), fail: fail}
	s.change.L = &s.mu
	go s.run(w)
	return s
}

// add lets f append to what is to be written. The error is that of an earlier write.
func (s *sink) add(f func([]byte) []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buffer) >= maxUnwritten && s.err == nil {
		s.change.Wait()
	}
	if s.err != nil {
		return s.err
	}
	s.buffer = f(s.buffer)
	s.change.Broadcast()
	return nil
}

// close waits until all is written, and returns the first error of a write.
func (s *sink) close() error {
	s.mu.Lock()
	s.closed = true
	s.change.Broadcast()
	s.mu.Unlock()
	<-s.done
	return s.err
}

func (s *sink) run(w io.Writer) {
	defer close(s.done)
	var spare []byte // the buffer that was written last
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.buffer) == 0 && !s.closed {
			s.change.Wait()
		}
		if len(s.buffer) == 0 {
			return
		}
		writing := s.buffer
		s.buffer = spare[:0]
		s.mu.Unlock()
		_, err := w.Write(writing)
		s.mu.Lock()
		spare = writing
		if err != nil {
			s.err = err
			s.fail(s.err)
		}
		s.change.Broadcast()
		if err != nil {
			return
		}
	}
}

// watchReader ends ctx's work when the reader of the pipe behind w goes away, also if nothing is
// being written. On systems other than Linux that shows only at the next write.
func watchReader(ctx context.Context, w io.Writer, gone func(error)) {
	go func() {
		if waitForReaderGone(w) && ctx.Err() == nil {
			gone(errReaderGone)
		}
	}()
}
