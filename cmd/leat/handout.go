package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/leatstream/leat"
)

// grace is how long a program must live after it has taken the last lines, before it counts as having dealt
// with them, if nothing shows it earlier.
const grace = 500 * time.Millisecond

// handout hands records to the program behind stdout, and tells when it has dealt with them, as far as that
// can be seen from here.
//
// Behind a pipe, on Linux, that a write has returned says nothing: the lines may lie in the pipe, and are gone
// if the program dies. So the pipe is made so small that it is either empty or full (one page), and a batch
// is written page by page, each once the one before is taken. A program that deals with a line before it
// reads on has then dealt with all but what it took last; and with that when it takes more, of any batch, or
// does not die of it.
type handout struct {
	w    io.Writer
	file *os.File // behind w, if it is a pipe that shows what was taken; else nil
	page int      // the most that fits into it; else 0

	gone      chan struct{} // closed when the reader of the pipe has gone
	closeGone sync.Once

	mu    sync.Mutex    // one batch at a time
	later chan struct{} // closed when the next batch has been taken
	err   error         // of a write; the first one ends all
}

func newHandout(out *output) *handout {
	file, page := onePage(out.w)
	return &handout{w: out, file: file, page: page, gone: make(chan struct{}), later: make(chan struct{})}
}

// readerGone says that nobody reads any more.
func (h *handout) readerGone() { h.closeGone.Do(func() { close(h.gone) }) }

// give hands out a batch: lines, and where each record of it ends. It returns nil when the program has dealt
// with it. No record is broken off by the end of ctx, but for leat.ErrDraining: then this process ends.
func (h *handout) give(ctx context.Context, lines []byte, ends []int) error {
	later, err := h.write(ctx, lines, ends)
	if err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-later:
		return nil
	case <-h.gone:
		return errReaderGone
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}
	if h.page > 0 {
		_, err = pipeEmpty(h.file, 0)
	}
	return err
}

// write writes the batch and waits until it is taken. The channel is closed when a later batch is, too.
func (h *handout) write(ctx context.Context, lines []byte, ends []int) (later <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	begin := 0
	for _, end := range pieces(ends, h.page) {
		if err := h.awaitTaken(ctx, begin == 0 || ended(ends, begin)); err != nil {
			return nil, err
		}
		if _, err := h.w.Write(lines[begin:end]); err != nil {
			h.err = err
			return nil, err
		}
		begin = end
	}
	if err := h.awaitTaken(ctx, true); err != nil {
		return nil, err
	}
	close(h.later)
	h.later = make(chan struct{})
	return h.later, nil
}

// awaitTaken waits until all that was written is taken, or, between two records, until ctx is done.
func (h *handout) awaitTaken(ctx context.Context, between bool) error {
	for h.err == nil {
		if cause := context.Cause(ctx); cause != nil && between {
			return cause
		} else if errors.Is(cause, leat.ErrDraining) {
			h.err = cause // nothing may follow half a record
			break
		}
		if h.page == 0 {
			return nil
		}
		var empty bool
		if empty, h.err = pipeEmpty(h.file, 100*time.Millisecond); empty {
			return nil
		}
	}
	return h.err
}

// pieces are the places up to which lines are written at once, given where their records end: whole records
// where they fit a page, all of them where there is none.
func pieces(ends []int, page int) (cuts []int) {
	begin, before := 0, 0 // of the piece; of the record
	for _, end := range ends {
		if page > 0 && end-begin > page && before > begin {
			begin = before
			cuts = append(cuts, begin)
		}
		for page > 0 && end-begin > page {
			begin += page
			cuts = append(cuts, begin)
		}
		before = end
	}
	if before > begin {
		cuts = append(cuts, before)
	}
	return cuts
}

// ended says whether a record ends there.
func ended(ends []int, at int) bool {
	_, found := slices.BinarySearch(ends, at)
	return found
}
