package dispatch

import (
	"errors"
	"fmt"
	"time"

	"github.com/leatstream/leat/lease"
)

// Causes with which a handler's context is cancelled.
var (
	ErrLeaseLost      = errors.New("leat: the shard's lease is another worker's")
	ErrDraining       = errors.New("leat: the worker is stopping and the drain timeout is over")
	ErrHandlerTimeout = errors.New("leat: the handler timeout is over")
)

// ErrHandlerExited stops the consumer.
var ErrHandlerExited = errors.New("leat: the handler ended its goroutine instead of returning (runtime.Goexit, as t.FailNow does)")

// RetryAfterError asks for a pause of its own before the record is tried again.
type RetryAfterError struct {
	Pause time.Duration
	Err   error
}

// Error implements error.
func (e *RetryAfterError) Error() string { return fmt.Sprintf("retry after %v: %v", e.Pause, e.Err) }

// Unwrap returns what went wrong.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// StopError asks for the whole consumer to stop.
type StopError struct{ Err error }

// Error implements error.
func (e *StopError) Error() string { return fmt.Sprintf("stop: %v", e.Err) }

// Unwrap returns why.
func (e *StopError) Unwrap() error { return e.Err }

// PanicError is a handler's panic as an error.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error. The stack is left to who wants it. Of a value that is no text only the type is
// told: it may be the record, and records do not belong in logs.
func (e *PanicError) Error() string {
	switch v := e.Value.(type) {
	case error, string:
		return fmt.Sprintf("handler panicked: %v", v)
	}
	return fmt.Sprintf("handler panicked with a %T", e.Value)
}

// PoisonError says that no try of the record will succeed.
type PoisonError struct{ Err error }

// Error implements error.
func (e *PoisonError) Error() string { return fmt.Sprintf("poison: %v", e.Err) }

// Unwrap returns what is wrong with the record.
func (e *PoisonError) Unwrap() error { return e.Err }

// BatchError says which record of a batch failed.
type BatchError struct {
	Index int
	Err   error
}

// Error implements error.
func (e *BatchError) Error() string { return fmt.Sprintf("record %d of the batch: %v", e.Index, e.Err) }

// Unwrap returns what went wrong.
func (e *BatchError) Unwrap() error { return e.Err }

// CloseError says that a shard's handler could not be closed, which is not tried again.
type CloseError struct {
	Reason lease.CloseReason
	Err    error
}

// Error implements error.
func (e *CloseError) Error() string {
	return fmt.Sprintf("closing the handler, %v: %v", e.Reason, e.Err)
}

// Unwrap returns what went wrong.
func (e *CloseError) Unwrap() error { return e.Err }
