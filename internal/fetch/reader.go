package fetch

import (
	"context"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// Config says what a Reader reads and how.
type Config struct {
	Stream Stream
	Shard  string

	// Start is the place to read after. Any position will do; LATEST leaves a gap over a restart and is
	// for Tail only; SHARD_END gives one Batch with End at once.
	Start lease.Position

	// Token is put into every record.
	Token int64

	// PollInterval is the time between two calls at the tip of the shard; 0 means
	// DefaultPollInterval. A reader that is behind asks at once, within Quota.
	PollInterval time.Duration

	// Credit is the shard's byte budget; nil means no bound.
	Credit Credit

	// Quota bounds calls and bytes; the zero Quota means the service's limits.
	Quota Quota

	// Random returns numbers in [0, 1) for jitter; nil means math/rand/v2. It is called by Next only.
	Random func() float64

	// Notice is told about trouble that a person should know of, once per change; nil means nobody.
	// It is called by Next and must not block.
	Notice func(Notice)
}

// Notice is trouble that does not pass by itself, or its end.
type Notice struct {
	Shard string
	Err   error // nil: it is over
}

// Batch is what Next tells. Any of its parts may be empty, not all.
type Batch struct {
	// Records are in order; the slice and what it holds are the caller's.
	Records []record.Record

	// Size is the sum of the records' Size. That many bytes stay taken from Config.Credit: the caller
	// gives them back as records are handled or dropped.
	Size int64

	// Behind is how far the reader is behind the newest record of the shard, as the service says.
	// Zero means that it is at the tip.
	Behind time.Duration

	// End says that the shard has no further record. Next then blocks until Rewind or ctx is done.
	End bool

	// Children are the shards that follow, with End and if the service told; else list the shards.
	Children []lease.Shard

	// Trimmed is set if records may be lost before the first of Records.
	Trimmed *Trimmed

	// Rewinds counts the calls of Rewind that the reader knew of when it read the batch. A batch with a smaller
	// count than the last Rewind returned was read too early: give its Size back and forget it.
	Rewinds int64
}

// Trimmed says that the record of the place where the reader was to go on is gone, so that records
// between After and First may have passed out of retention unread.
type Trimmed struct {
	After lease.Position // the place to go on from
	First lease.Position // the first record that is still there; SHARD_END if the shard ended without one
}

// Reader reads one shard. Next may be called by one goroutine at a time; the other methods are safe
// from any.
type Reader struct{ cfg Config }

// NewReader returns a reader of one shard. It makes no call.
func NewReader(api API, cfg Config) *Reader { return &Reader{cfg: cfg} }

// Next blocks until there is something to tell: records, the end of the shard, records that may be
// lost, or another Behind. It returns an error
//
//   - that is ctx's (context.Cause) once ctx is done, at once;
//   - that is ErrMissing if the service knows no such stream or shard;
//   - that is a *PositionError if the service does not accept the place to read from.
//
// After an error, Next may be called again: it tries again, no sooner than its back-off allows.
// Everything else is tried again inside; see Status.
func (r *Reader) Next(ctx context.Context) (Batch, error) { panic("skeleton") }

// Rewind makes the reader go back: what Next returns from now on comes after this place. A call in
// flight is given up and a blocked Next goes on. It returns how often the reader has been rewound, which is
// the least Batch.Rewinds that the caller may still use.
//
// A place before the reader's start, such as TRIM_HORIZON where nothing has been handled yet, is taken as it is.
func (r *Reader) Rewind(after lease.Position) int64 { panic("skeleton") }

// Status says, for people, what the reader is doing or waiting for.
func (r *Reader) Status() string { panic("skeleton") }

// Stalled is how long ago calls began to fail; 0 while they succeed.
func (r *Reader) Stalled() time.Duration { panic("skeleton") }
