package fetch

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// Config says what a Reader reads and how.
type Config struct {
	Stream Stream
	Shard  string

	// Start is the place to read after. Any position will do. LATEST is for Tail: after a restart it
	// leaves a gap. SHARD_END gives one Batch with End at once.
	Start lease.Position

	// Token is put into every record.
	Token int64

	// PollInterval is the time between two calls at the tip of the shard; 0 means
	// DefaultPollInterval. A reader that is behind asks at once, within Quota.
	PollInterval time.Duration

	// Credit is the shard's byte budget; nil means no bound.
	Credit Credit

	// Quota spaces the calls; the zero Quota has the service's limits.
	Quota Quota

	// Random returns numbers in [0, 1) for jitter; nil means math/rand/v2. Only Next calls it.
	Random func() float64

	// Notice is told about trouble that passes only when a person acts, and about any that has not passed for a minute,
	// once per change; nil means nobody is. Next calls it, and it must not block.
	Notice func(Notice)
}

// Notice is trouble that somebody should look at, or its end.
type Notice struct {
	Shard   string
	Err     error // nil: it is over
	Passing bool  // it may pass by itself, and has not for a minute
}

// Batch is what Next tells. Any of its parts may be empty.
type Batch struct {
	// Records are in order; the slice and what it holds are the caller's. One with Aggregated set is an aggregated
	// record, found good and still whole: kpl.Reopen takes it apart. If the place to read from is in one, that one comes
	// again.
	Records []record.Record

	// Memory is what lies behind them: they are its last records. Whoever has no more use for one settles it. It may be nil.
	Memory *record.Memory

	// Malformed is how many of Records look like aggregated ones, and are not.
	Malformed int64

	// Size is the sum of the records' Size. That many bytes stay taken from Config.Credit: the caller
	// gives them back as records are handled or dropped.
	Size int64

	// Behind is how far the reader is behind the newest record of the shard, as the service says.
	// Zero means that it is at the tip.
	Behind time.Duration

	// End says that the shard has no further record. Unless the reader is rewound, Next then blocks until ctx is done.
	End bool

	// Children are the shards that follow, with End and if the service told; else list the shards.
	Children []lease.Shard

	// Trimmed is set if records may be lost before the first of Records.
	Trimmed *Trimmed
}

// Trimmed says that the record of the place where the reader was to go on is gone, so that records
// between After and First may have passed out of retention unread.
//
// They need not have: a shard that was idle for longer than its retention loses the record of its
// checkpoint too, with nothing after it. The service's answers are the same in both cases, so this
// says "may".
type Trimmed struct {
	After lease.Position // the place to go on from
	First lease.Position // the first record that is still there; SHARD_END if the shard ended without one
}

// Reader reads one shard. Next and Rewind belong to one goroutine; Status is for anybody.
type Reader struct {
	api       API
	cfg       Config
	status    status
	place     place
	reads     Quota
	opens     Quota
	iterator  string
	ended     bool
	pause     time.Time // no call before
	failures  int       // in a row
	noticed   string    // what Notice was told of: the code, or that it is stalled
	told      time.Duration
	perRecord int64 // bytes taken for each record of an answer
	lastTaken int64 // bytes taken for the last answer
}

// NewReader returns a reader of one shard. It makes no call.
func NewReader(api API, cfg Config) *Reader {
	if cfg.PollInterval <= 0 {
		cfg.PollInterval = DefaultPollInterval
	}
	if cfg.Credit == nil {
		cfg.Credit = unlimited{}
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Notice == nil {
		cfg.Notice = func(Notice) {}
	}
	r := &Reader{
		api: api, cfg: cfg,
		place: place{after: cfg.Start},
		reads: cfg.Quota,
		opens: Quota{Calls: cfg.Quota.Calls},
		told:  -1,
	}
	r.status.set("starting", time.Time{})
	return r
}

// Next blocks until there is something to tell: records, the end of the shard, records that may be
// lost, or another Behind. It returns an error
//
//   - that is ctx's cause once ctx is done, at once;
//   - that is ErrMissing if the service knows no such stream or shard;
//   - that is a *PositionError if the service does not accept the place to read from.
//
// After an error, Next may be called again: it tries again, no sooner than its back-off allows.
// Everything else is tried again inside; see Status.
func (r *Reader) Next(ctx context.Context) (Batch, error) {
	for {
		if ctx.Err() != nil {
			return Batch{}, context.Cause(ctx)
		}
		if r.place.after.IsShardEnd() && !r.ended {
			return r.end(), nil
		}
		wait, doing := r.due(time.Now())
		if r.ended || wait > 0 {
			if err := r.sleep(ctx, wait, doing); err != nil {
				return Batch{}, err
			}
			continue
		}
		var (
			batch Batch
			tell  bool
			err   error
		)
		apart(func() { batch, tell, err = r.step(ctx) })
		if tell || err != nil {
			return batch, err
		}
	}
}

// apart runs a step on a goroutine of its own. A call through the SDK makes the stack of its goroutine grow to 16 or 32 KiB.
// This one waits most of the time, and would keep them while it waits: the larger part of what an idle shard cost.
func apart(step func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		step()
	}()
	<-done
}

// Rewind makes the reader go back: what Next returns from now on comes after this place. Where nothing has been
// handled yet, the place is the reader's start.
func (r *Reader) Rewind(after lease.Position) {
	r.place.rewind(after)
	r.iterator, r.ended = "", false
	// A pause after a failure still holds; a poll interval does not.
	if r.failures == 0 {
		r.pause = time.Time{}
	}
}

// Status says, for people, what the reader is doing or what it waits for.
func (r *Reader) Status() string { return r.status.text(time.Now()) }

// due says how long the next call must wait, and why.
func (r *Reader) due(now time.Time) (time.Duration, string) {
	if wait := r.pause.Sub(now); wait > 0 {
		return wait, "" // who set the pause has said why
	}
	quota := r.reads
	if r.iterator == "" {
		quota = r.opens
	}
	return quota.Wait(now), "waiting for the shard's read quota"
}

// sleep waits for d, or for ever at the end of the shard.
func (r *Reader) sleep(ctx context.Context, d time.Duration, doing string) error {
	var over <-chan time.Time
	if !r.ended {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
		if doing != "" {
			r.status.set(doing, time.Time{})
		}
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-over:
	}
	return nil
}

// unlimited is the Credit of a reader without a budget.
type unlimited struct{}

func (unlimited) Take(ctx context.Context, _ int64) error { return context.Cause(ctx) }
func (unlimited) Give(int64)                              {}
func (unlimited) Room() int64                             { return maxRoom }

const maxRoom = 1 << 40
