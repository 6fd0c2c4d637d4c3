package leat

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/lease"
)

// tailShard is one shard's reader, owned by its goroutine.
type tailShard struct {
	id     string
	ctx    context.Context
	cancel context.CancelCauseFunc
	reader *fetch.Reader
	share  *dispatch.Share
	clock  *readClock // nil without TailConfig.To
}

// portion is what a shard's goroutine hands to the loop.
type portion struct {
	shard *tailShard
	batch fetch.Batch

	lost   bool          // the shard itself has passed its retention
	passed bool          // the shard has been read up to TailConfig.To
	ended  bool          // the shard has been read to its end
	listed []lease.Shard // with ended: all shards, those that follow among them
	err    error         // the last portion
}

// read is the goroutine of a shard.
func (t *tail) read(s *tailShard) {
	defer s.cancel(nil)
	for {
		p := t.next(s)
		p.shard = s
		select {
		case <-t.ctx.Done():
			return
		case t.out <- p:
		}
		if p.passed || p.ended || p.err != nil {
			return
		}
	}
}

// next reads the next portion of a shard.
func (t *tail) next(s *tailShard) portion {
	for {
		s.clock.begin()
		batch, err := s.reader.Next(s.ctx)
		switch {
		case errors.Is(err, errPassed):
			return portion{passed: true}
		case errors.Is(err, fetch.ErrMissing):
			p, retry := t.missing(s)
			if retry {
				continue
			}
			return p
		case err != nil:
			return portion{err: err}
		}
		passed := s.cut(&batch)
		p := portion{batch: batch, passed: passed}
		if batch.End && !p.passed {
			p.ended = true
			if t.cfg.Shard == "" {
				p.listed, p.err = t.follow(s, batch.Children)
			}
		}
		return p
	}
}

// cut drops the records that arrived at To or later and says whether the shard has been read up to it.
// Their bytes go back with the shard's share, which ends here.
func (s *tailShard) cut(b *fetch.Batch) (passed bool) {
	if s.clock == nil {
		return false
	}
	for i := range b.Records {
		if b.Records[i].ArrivalTime.Before(s.clock.to) {
			continue
		}
		b.Records = b.Records[:i]
		return true
	}
	return s.clock.told(b.Behind)
}

// missing finds out what it means that the service does not know the shard. retry says that it does
// after all.
func (t *tail) missing(s *tailShard) (p portion, retry bool) {
	if err := verify(s.ctx, t.api, t.stream); err != nil {
		return portion{err: err}, false
	}
	listed, err := t.list(s)
	if err != nil {
		return portion{err: err}, false
	}
	if slices.ContainsFunc(listed, func(l lease.Shard) bool { return l.ID == s.id }) {
		return portion{}, true
	}
	return portion{lost: true, ended: true, listed: listed}, false
}

// follow lists the shards until those that follow this one are among them: the list may lag behind.
func (t *tail) follow(s *tailShard, told []lease.Shard) ([]lease.Shard, error) {
	for {
		listed, err := t.list(s)
		if err != nil {
			return nil, err
		}
		if followed(s.id, told, listed) {
			return listed, nil
		}
		if err := t.pause(s); err != nil {
			return nil, err
		}
	}
}

// list lists all shards. An answer that refuses is the end; a network that is down is tried again.
func (t *tail) list(s *tailShard) ([]lease.Shard, error) {
	for {
		listed, err := fetch.List(s.ctx, t.api, t.stream.Stream, nil)
		if err == nil {
			return listed, nil
		}
		if _, refused := errors.AsType[smithy.APIError](err); refused || s.ctx.Err() != nil {
			return nil, t.named(err)
		}
		if err := t.pause(s); err != nil {
			return nil, err
		}
	}
}

func (t *tail) pause(s *tailShard) error {
	timer := time.NewTimer(or(t.cfg.PollInterval, defaultPollInterval))
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-timer.C:
		return nil
	}
}

// errPassed is the cause of a shard's context that ends since To is reached.
var errPassed = errors.New("the shard has been read up to TailConfig.To")

// readClock is a shard's view of the API that knows up to which moment of the service's clock the
// shard has been read. Next does not return for an answer that brings nothing new, so that an idle shard
// would never say that To has passed: here the next call is refused instead. It is used by one
// goroutine, the one that calls Next.
type readClock struct {
	fetch.API
	to     time.Time
	passed func() // ends the context of Next

	behind   time.Duration // as Next told last
	known    bool          // Next has told it
	answered time.Time     // the service's clock at the last answer in this Next; zero: none
	next     string        // the iterator of that answer
}

// begin is called before each Next. The clock may be nil.
func (c *readClock) begin() {
	if c != nil {
		c.next = ""
	}
}

// told is called after each Next; it says whether To has passed.
func (c *readClock) told(behind time.Duration) bool {
	c.behind, c.known = behind, true
	return c.reached()
}

func (c *readClock) reached() bool {
	return c.known && !c.answered.IsZero() && !c.answered.Add(-c.behind).Before(c.to)
}

// GetRecords implements fetch.API.
func (c *readClock) GetRecords(ctx context.Context, in *kinesis.GetRecordsInput, o ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error) {
	// Going on from the last answer means that it was taken in and brought nothing to tell. (An answer
	// that could not be read is asked for again, with the old iterator.)
	if c.next != "" && aws.ToString(in.ShardIterator) == c.next && c.reached() {
		c.passed()
		return nil, errPassed
	}
	asked := time.Now()
	out, err := c.API.GetRecords(ctx, in, o...)
	if err != nil {
		return out, err
	}
	c.next, c.answered = aws.ToString(out.NextShardIterator), asked
	// The answer's Date has whole seconds, cut: never later than the read itself.
	if date, ok := middleware.GetServerTime(out.ResultMetadata); ok {
		c.answered = date
	}
	return out, nil
}
