package wire

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"unsafe"

	"github.com/leatstream/leat/internal/record"
)

// window is how many bytes of an answer are looked at together.
const window = 64 << 10

// spare is read behind a record of known length, so that the short fields after its payload come with it.
const spare = 2 << 10

// smallest is the least that a record of the service takes in an answer, in CBOR, without any payload.
const smallest = 128

// Cost is a bound on the memory that an answer needs while it is read: its records, of which there are at
// most limit, and the window, or what a record larger than a window needs to grow. What the records then
// pin is the sum of their sizes. It assumes an answer of the service, in either format.
func Cost(length int64, limit int) int64 {
	records := min(int64(limit), length/smallest+1)
	return length + min(length, window) + max(length/8, records*int64(unsafe.Sizeof(record.Record{})))
}

var errNeither = errors.New("neither JSON nor CBOR")

// scratch is what reading needs and keeps nothing of.
type scratch struct {
	window []byte
	views  []view
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// reading reads one answer.
type reading struct {
	body    io.Reader
	length  int64 // of the body; below 0: unknown
	size    int   // of a window
	decoder decoder
	answer  answer
	collect collector

	first []byte // the window
	buf   []byte // the same, or a larger one for a large record
	held  int    // bytes of the answer in it
	read  int64  // bytes of the answer so far
}

// read reads an answer of either format to its end, and says which format it had. The length is below 0 if it
// is not known.
func read(body io.Reader, length int64, size int, template record.Record) (*reading, Format, error) {
	r := &reading{body: body, length: length, size: size}
	r.collect.template, r.collect.memory = template, new(record.Memory)
	format, err := r.all()
	return r, format, err
}

func (r *reading) all() (Format, error) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	switch {
	case r.length >= 0 && r.length < int64(r.size):
		r.first = make([]byte, r.length)
	case r.size != window:
		r.first = make([]byte, r.size)
	default:
		if s.window == nil {
			s.window = make([]byte, window)
		}
		r.first = s.window
	}
	r.buf = r.first
	r.answer.views = s.views[:0]
	format, err := r.loop()
	if s.views = r.answer.views[:0]; cap(s.views) > 2*window/smallest {
		s.views = nil
	}
	clear(s.views[:cap(s.views)]) // they may point into a large record's window
	if err != nil {
		return format, fmt.Errorf("reading the answer: %w", err)
	}
	return format, nil
}

func (r *reading) loop() (format Format, err error) {
	for {
		last, err := r.fill()
		if err != nil {
			return format, err
		}
		if r.decoder == nil {
			if format = formatOf(r.buf[:r.held]); format == Auto {
				return format, fmt.Errorf("%w: it begins with %q", errNeither, r.buf[:min(r.held, 16)])
			}
			r.decoder = newDecoder(format)
		}
		used, err := r.decoder.decode(r.buf[:r.held], &r.answer)
		short := err == errShort
		if err != nil && (!short || last) {
			return format, err
		}
		if err = r.take(used, !last); err != nil || last {
			return format, err
		}
		rest := r.buf[used:r.held]
		switch {
		case used > 0 && len(r.buf) > len(r.first):
			// The large record is done: the next ones are small again, or it is found out anew.
			if r.buf = r.first; len(rest)+spare > len(r.buf) {
				r.buf = make([]byte, r.bounded(len(rest)+r.size, rest))
			}
		case short && (used == 0 || r.decoder.needs() > len(r.buf)):
			size := 2 * len(r.buf)
			if need := r.decoder.needs(); need > 0 {
				size = max(need+spare, r.size)
			}
			if size = r.bounded(size, rest); size <= len(rest) {
				return format, fmt.Errorf("an item of more than %d bytes", len(rest))
			}
			r.buf = make([]byte, size)
		}
		r.held = copy(r.buf, rest)
	}
}

// bounded is the size of a window that has rest in it already: no more than the answer can still have.
func (r *reading) bounded(size int, rest []byte) int {
	if r.length >= 0 {
		size = int(min(int64(size), int64(len(rest))+r.length-r.read))
	}
	return min(size, maxItem)
}

// fill fills the window. It says whether the answer has ended.
func (r *reading) fill() (last bool, err error) {
	n, err := io.ReadFull(r.body, r.buf[r.held:])
	r.held += n
	r.read += int64(n)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		if r.read < r.length {
			return false, io.ErrUnexpectedEOF
		}
		return true, nil
	case err != nil:
		return false, err
	}
	return r.read == r.length, nil
}

// take makes records of what has been found in the first used bytes of the window. Records that fill a
// window which was made for them keep it; otherwise it is free again.
func (r *reading) take(used int, more bool) error {
	views := r.answer.views
	r.answer.views = views[:0]
	if len(views) == 0 {
		return nil
	}
	keep := false
	if len(r.buf) > r.size {
		payloads := 0
		for i := range views {
			if views[i].data.form == plain {
				payloads += len(views[i].data.raw)
			}
		}
		keep = payloads >= len(r.buf)/8*7
	}
	r.expect(len(views), used)
	return r.collect.add(views, keep, more)
}

// expect makes room for the records of the whole answer when the first have come: as many as it said, or else as
// many as there will be if the others are like these.
func (r *reading) expect(found, used int) {
	if r.collect.memory.Expected() {
		return
	}
	n := found
	if r.answer.count > 0 {
		n = max(n, r.answer.count)
	} else if r.length > int64(used) && used > 0 {
		n += int(int64(found) * (r.length - int64(used)) / int64(used))
		n += n / 64
	}
	r.collect.memory.Expect(min(n, maxRecords))
}

// records are what has been read.
func (r *reading) records() []record.Record { return r.collect.memory.Records() }
