package leat

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/record"
)

// Batch says how records are handled in batches: what one call of its Handler gets. All records of a batch
// are of one shard, in the order of sequence numbers.
type Batch struct {
	// Handler is called for each batch. It must be set, unless Config.Shards is: then the bounds below are
	// those of ShardHandler.Handle.
	Handler BatchHandler

	// MaxRecords is the number of records in a batch at most: default 500, from 1 to 10,000.
	MaxRecords int

	// MaxBytes bounds a batch's data and partition keys; a single larger record is a batch. Default 4 MiB, at most a
	// quarter of Config.MaxBuffered, since a shard buffers no more.
	MaxBytes int

	// MaxWait is how long a batch may wait to fill, from when its first record was read: a full one, and
	// the last one of a closed shard, waits for nothing. Default 0: a batch is what has been read by now.
	MaxWait time.Duration
}

// BatchHandler handles the records of a batch, in their order. It steers by what it returns:
//
//   - nil: all of them are handled.
//   - *BatchError: the records before its Index are handled, the one at Index has failed, those behind it
//     were not tried. With PerShard they come again together; with PerKey those of other keys come again at once.
//   - any other error, or a panic: none of them is handled. The batch is tried again as it is; after 5
//     failures, or once Retry is used up, it is tried in halves, and those again, so that in the end only the record
//     that fails is left, and the others are handled.
//   - Poison, RetryAfter and Stop, also as BatchError.Err, as with Handler.
//
// With Config.Order PerKey(n) up to n batches of a shard are handled at once, no two with records of one key. The
// slice and its records are valid until the handler returns, or its deferred ack has come.
type BatchHandler interface {
	HandleBatch(ctx context.Context, records []Record) error
}

// BatchHandlerFunc is a function as a BatchHandler.
type BatchHandlerFunc func(ctx context.Context, records []Record) error

// HandleBatch calls f.
func (f BatchHandlerFunc) HandleBatch(ctx context.Context, records []Record) error {
	return f(ctx, records)
}

// BatchError says which record of a batch failed, and why. An Index out of range, or no Err, is taken for a failure of
// the whole batch.
type BatchError struct {
	Index int // in the slice that the handler got
	Err   error
}

// Error implements error.
func (e *BatchError) Error() string { return fmt.Sprintf("record %d of the batch: %v", e.Index, e.Err) }

// Unwrap returns why.
func (e *BatchError) Unwrap() error { return e.Err }

// The defaults and bounds of Batch.
const (
	defaultBatchRecords = 500
	maxBatchRecords     = 10_000 // what one answer of GetRecords holds (Kinesis API reference)
	defaultBatchBytes   = 4 << 20
)

// valid adds the faults of the batch's fields.
func (b *Batch) valid(c Config, fault func(field, format string, args ...any)) {
	if b.MaxRecords < 0 || b.MaxRecords > maxBatchRecords {
		fault("Batch.MaxRecords", "%d: from 1 to %d, or 0 for the default of %d", b.MaxRecords, maxBatchRecords, defaultBatchRecords)
	}
	if most := or(c.MaxBuffered, defaultMaxBuffered) / 4; b.MaxBytes < 0 || int64(b.MaxBytes) > most {
		fault("Batch.MaxBytes", "%d: at most %d, a quarter of MaxBuffered", b.MaxBytes, most)
	}
	if b.MaxWait < 0 || b.MaxWait > maxPeriod {
		fault("Batch.MaxWait", "%v: from 0 to %v", b.MaxWait, maxPeriod)
	}
}

// bounds are what one call gets of records.
func (c Config) bounds() dispatch.Batch {
	b := c.Batch
	switch {
	case c.Handler != nil:
		return dispatch.Batch{}
	case b == nil:
		b = &Batch{}
	}
	return dispatch.Batch{
		Records: or(b.MaxRecords, defaultBatchRecords),
		Bytes:   or(b.MaxBytes, defaultBatchBytes),
		Wait:    b.MaxWait,
	}
}

// public is the records as the user gets them: the same memory. The two types are one struct under two names (record.go
// has the line that fails to compile if not), but a slice does not convert.
func public(records []record.Record) []Record {
	return unsafe.Slice((*Record)(unsafe.Pointer(unsafe.SliceData(records))), len(records))
}

// steering is a handler's error as the lanes know it.
func steering(err error) error {
	if err == nil {
		return nil
	}
	if part, ok := errors.AsType[*BatchError](err); ok {
		return &dispatch.BatchError{Index: part.Index, Err: part.Err}
	}
	return err
}
