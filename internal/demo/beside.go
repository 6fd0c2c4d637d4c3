package demo

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// besides is what runs beside the story. A panic in it ends the run and becomes the story's, so that who shows
// the run on a terminal can put that right first.
type besides struct {
	end      context.CancelFunc // of the run
	running  sync.WaitGroup
	panicked atomic.Pointer[error]
}

func (b *besides) beside(f func()) {
	b.running.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				err := fmt.Errorf("%v\n\n%s", p, debug.Stack())
				b.panicked.Store(&err)
				b.end()
			}
		}()
		f()
	})
}

// wait waits for all of it, and panics if any did.
func (b *besides) wait() {
	b.running.Wait()
	if err := b.panicked.Load(); err != nil {
		panic(*err)
	}
}
