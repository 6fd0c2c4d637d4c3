package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

// The bounds on what an answer may hold. What the service allows is well within.
const (
	maxRecords = 10_000   // of an answer (Kinesis API reference, GetRecords)
	maxDepth   = 32       // of what is nested
	maxItem    = 32 << 20 // one record, or one other member of the answer, in bytes
)

// errShort says that the bytes end within an item. It is no error before the answer's end.
var errShort = io.ErrUnexpectedEOF

// decoder reads an answer piece by piece. It is pure: it keeps nothing of its input but in views.
type decoder interface {
	// decode reads as many whole items as in holds, adds what it finds to the answer, and returns the
	// length of what it has read. The next call goes on there. The error is errShort if the answer is not
	// over; in may hold no more than what has been read.
	decode(in []byte, a *answer) (used int, err error)

	// needs is how many bytes the item must have, as far as is known, after an errShort: from the end of
	// what has been read.
	needs() int
}

// answer is what has been found so far.
type answer struct {
	views    []view // of the bytes given to the last decode
	count    int    // how many records there are, if the answer said so
	records  bool   // the list of records has begun
	next     *string
	behind   *int64
	children []types.ChildShard
}

// view is one record as it stands in the answer.
type view struct {
	sequence, key, data text
	size                int   // of the payload, once collect.go has looked
	millis              int64 // since 1970
	timed               bool
}

// text is a string as it stands in the answer; collect.go makes the real one of it.
type text struct {
	raw    []byte
	form   form
	base64 bool // what comes out of form is base64
}

type form uint8

const (
	plain   form = iota // the bytes themselves
	escaped             // JSON, with escapes
	chunked             // CBOR of indefinite length: pieces with their heads
)

// add makes room for a record, which undo takes back. The bound is on the records of one decode, so
// that views stay few.
func (a *answer) add() (*view, error) {
	if len(a.views) == maxRecords {
		return nil, errTooMany
	}
	a.views = append(a.views, view{})
	return &a.views[len(a.views)-1], nil
}

func (a *answer) undo() { a.views = a.views[:len(a.views)-1] }

var errTooMany = fmt.Errorf("the answer has more than %d records", maxRecords)

// begin notes the list of records. A second one would leave open which counts.
func (a *answer) begin() error {
	if a.records {
		return errors.New("the answer has two lists of records")
	}
	a.records = true
	return nil
}

// payload notes the data. Other fields that come twice count as they came last.
func (v *view) payload(t text) error {
	if v.data.raw != nil {
		return errors.New("the record has two payloads")
	}
	v.data = t
	return nil
}

// behindBy notes MillisBehindLatest, bounded so that it is a time.Duration.
func (a *answer) behindBy(millis float64) error {
	if math.IsNaN(millis) {
		return errors.New("MillisBehindLatest is not a number")
	}
	const most = math.MaxInt64 / 1_000_000
	n := int64(max(0, min(millis, most-1)))
	a.behind = &n
	return nil
}

// at notes the time of arrival: seconds since 1970, as a number of any kind, or milliseconds, as the
// service has them in CBOR. From 1e11 on it is milliseconds: 1973, or the year 5138 in seconds.
func (v *view) at(since float64) error {
	const bound = 1e11
	switch {
	case since >= bound && since < bound*1000: // nearly all
		v.millis, v.timed = int64(since+0.5), true
		return nil
	case math.IsNaN(since) || math.Abs(since) >= bound*1000:
		return fmt.Errorf("%v is no time of arrival", since)
	case math.Abs(since) < bound:
		since *= 1000
	}
	v.millis, v.timed = int64(math.Round(since)), true
	return nil
}

// dateSince reads a time that came as a string: a date (RFC 3339), or a number after all.
func dateSince(s string) (float64, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return float64(t.UnixMilli()) / 1000, nil
	}
	if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return f, nil
	}
	return 0, fmt.Errorf("%q is no time of arrival", s[:min(len(s), 40)])
}
