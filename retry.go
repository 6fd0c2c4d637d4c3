package leat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/record"
)

// Retry says how often a record that fails is tried again, and what becomes of it then. The zero value tries it
// for ever.
//
// A record that is given up goes to Config.DeadLetter, if there is one, and counts as handled once that has it;
// or is skipped; or stops the consumer; as Then says. Tries are counted by the worker that holds the shard: another
// one begins at 1.
type Retry struct {
	// Attempts is how often a record is tried before it is given up. Default 0: no bound. A record of a batch that
	// failed as a whole has failed with it; before it is given up it is tried alone.
	Attempts int

	// MaxAge gives up a record that fails when its ArrivalTime is longer ago, by this machine's clock against the
	// service's. Default 0: no bound.
	MaxAge time.Duration

	// Pause is the time before the second try, and doubles from try to try. Default 100 ms.
	Pause time.Duration

	// MaxPause is the longest pause. Default 30 s.
	MaxPause time.Duration

	// Then says what becomes of a record that is given up. Continue, the zero value: it goes to
	// Config.DeadLetter, which must then be set if Attempts or MaxAge is; Poison without a DeadLetter
	// is tried for ever. Skip: it is dropped, counted in Stats, and told in an EventSkipped. Halt: the
	// consumer stops, the record stays unhandled, and Run returns ErrGivenUp.
	Then Policy
}

// DeadLetter takes records that were given up. Package deadletter has one that writes a file, and one that
// writes another stream.
type DeadLetter interface {
	// Send takes a record that was given up because of cause. It returns nil only if the record is safe: then
	// it counts as handled. After an error Send is called again, after the pauses of Retry, and the shard
	// waits. A worker that dies in between leaves a record that was sent, and is handled again. Send is called
	// from several goroutines; the record is valid until it returns.
	Send(ctx context.Context, r *Record, cause error) error
}

// ErrGivenUp says that a record was given up, and Retry.Then is Halt.
var ErrGivenUp = errors.New("a record was given up")

// Poison returns an error that gives the record up at once: no try of it will succeed.
func Poison(err error) error { return &dispatch.PoisonError{Err: err} }

// valid adds the faults of the fields.
func (r Retry) valid(c Config, fault func(field, format string, args ...any)) {
	if r.Attempts < 0 {
		fault("Retry.Attempts", "%d is negative; 0 is no bound", r.Attempts)
	}
	within := func(field string, d time.Duration) {
		if d < 0 || d > maxPeriod {
			fault(field, "%v: from 0 to %v", d, maxPeriod)
		}
	}
	within("Retry.MaxAge", r.MaxAge)
	within("Retry.Pause", r.Pause)
	within("Retry.MaxPause", r.MaxPause)
	switch r.Then {
	case Continue:
		if (r.Attempts > 0 || r.MaxAge > 0) && c.DeadLetter == nil {
			fault("Retry.Then", "must say what becomes of a record that is given up: set it to Skip or Halt, or set DeadLetter")
		}
	case Skip, Halt:
		if c.DeadLetter != nil {
			fault("DeadLetter", "gets nothing, since Retry.Then is another policy: set only one of them")
		}
	default:
		fault("Retry.Then", "%d is neither Continue nor Halt nor Skip", r.Then)
	}
}

// giveUp is what the lanes do with a record that is given up; nil if they never do.
func (c *Consumer) giveUp() func(context.Context, *record.Record, error) error {
	switch {
	case c.cfg.Retry.Then == Skip:
		return func(context.Context, *record.Record, error) error { return nil }
	case c.cfg.Retry.Then == Halt:
		return func(_ context.Context, r *record.Record, cause error) error {
			return Stop(fmt.Errorf("%w: shard %s, record %s, attempt %d: %w", ErrGivenUp, r.Shard, r.SequenceNumber, r.Attempt, cause))
		}
	case c.cfg.DeadLetter != nil:
		return func(ctx context.Context, r *record.Record, cause error) error {
			if err := c.cfg.DeadLetter.Send(ctx, (*Record)(r), cause); err != nil {
				return fmt.Errorf("dead letter: %w", err)
			}
			return nil
		}
	}
	return nil
}
