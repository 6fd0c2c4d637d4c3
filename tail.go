package leat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/internal/dispatch"
	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// ErrShardNotFound says that the stream has no shard of that name, or no longer has.
var ErrShardNotFound = errors.New("shard not found")

// TailConfig says what Tail reads. Only Stream must be set.
type TailConfig struct {
	// Stream is the stream's name or its ARN. An ARN may be another account's.
	Stream string

	// AWS is how to reach Kinesis; nil loads the SDK's usual chain.
	AWS *aws.Config

	// Endpoint is the URL of a Kinesis-compatible server; empty is AWS.
	Endpoint string

	// From is where to begin: TrimHorizon (the zero value), Latest or AtTimestamp. With Shard it may
	// also be a place after a sequence number (lease.AfterSequence): what comes after it is read.
	From Position

	// Shard is the id of the only shard to read; its children are not read either. Empty is all.
	Shard string

	// To ends the loop once every shard has been read up to this time: only records that arrived
	// before it are told. A shard is done when it shows a record that arrived at To or later, or when it
	// has nothing older by the service's clock. The zero value follows the stream for ever.
	To time.Time

	// PollInterval is the time between two reads of a shard that has no more to give. Default 1 s, at
	// least 200 ms, as in Config.
	PollInterval time.Duration
}

// Validate returns every fault of the configuration at once, joined, each with its field's name; or nil.
func (c TailConfig) Validate() error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if err := validStream(c.Stream); err != nil {
		fault("Stream", "%v", err)
	}
	if err := validEndpoint(c.Endpoint); err != nil {
		fault("Endpoint", "%v", err)
	}
	if _, _, isSequence := c.From.Sequence(); isSequence && c.Shard == "" {
		fault("From", "%v: a sequence number belongs to one shard: set Shard", c.From)
	}
	if c.From.IsShardEnd() {
		fault("From", "%v: nothing comes after the end of a shard", c.From)
	}
	at, isTime := c.From.Timestamp()
	if isTime && !c.To.IsZero() && !at.Before(c.To) {
		fault("To", "%v is not after From, %v", c.To, at)
	}
	if c.PollInterval != 0 && c.PollInterval < minPollInterval {
		fault("PollInterval", "%v: at least %v", c.PollInterval, minPollInterval)
	}
	return errors.Join(faults...)
}

// Tail reads a stream without a group: no lease, no checkpoint, every shard at once.
//
//	for r, err := range leat.Tail(ctx, leat.TailConfig{Stream: "orders"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Printf("%s\n", r.Data)
//	}
//
// Records of one shard come in the order of their sequence numbers, and those of a child after all
// of its parents', so that those of a partition key come in order. Between shards there is no order. A
// record and its data are valid until the next step of the loop.
//
// An error comes with a nil record. Trouble that passes by itself is tried again and not told. After
// ErrTrimmed (records passed the retention before they were read) the loop may go on; every
// other error is the last step: ErrStreamNotFound, ErrShardNotFound, ErrStreamRecreated, a missing
// permission, a sequence number that is not the shard's, a faulty configuration. When ctx is done the
// loop just ends: ask ctx.Err().
//
// Leaving the loop ends everything that was begun for it. Nothing is read before the loop starts, and
// each loop over the same iterator reads anew. At most 64 MiB of records are held in memory, answers on
// the way included, or one large answer more (40 MiB).
func Tail(ctx context.Context, cfg TailConfig) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		t, err := openTail(ctx, cfg)
		if err == nil {
			defer t.close()
			err = t.run(yield)
		}
		if err != nil && ctx.Err() == nil {
			yield(nil, fmt.Errorf("leat: tail of %s: %w", cfg.Stream, err))
		}
	}
}

// tail is one loop. A goroutine for each shard reads; the loop's own goroutine does all else, so
// that nothing here needs a lock.
type tail struct {
	cfg    TailConfig
	api    fetch.API
	stream fetch.StreamInfo
	budget *dispatch.Budget

	ctx     context.Context
	cancel  context.CancelFunc
	readers sync.WaitGroup
	out     chan portion // unbuffered: a shard is at most one batch ahead

	family  family
	reading int // shards that are not done
}

// openTail finds the shards to begin with and begins them.
func openTail(ctx context.Context, cfg TailConfig) (*tail, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	api, err := connect(ctx, cfg.AWS, cfg.Endpoint, cfg.PollInterval, FormatAuto, nil)
	if err != nil {
		return nil, err
	}
	stream, err := describe(ctx, api, cfg.Stream)
	if err != nil {
		return nil, err
	}
	t := &tail{
		cfg: cfg, api: api, stream: stream,
		budget: dispatch.NewBudget(defaultMaxBuffered),
		out:    make(chan portion),
		family: newFamily(),
	}
	roots, err := t.roots(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.checkSequence(ctx); err != nil {
		return nil, err
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
	for _, shard := range roots {
		t.start(shard.ID, cfg.From)
	}
	return t, nil
}

// roots are the shards that were open at TailConfig.From, or the one that was asked for.
func (t *tail) roots(ctx context.Context) ([]lease.Shard, error) {
	at := &t.cfg.From
	if t.cfg.Shard != "" {
		at = nil
	}
	listed, err := fetch.List(ctx, t.api, t.stream.Stream, at)
	if err != nil {
		return nil, t.named(err)
	}
	if t.cfg.Shard == "" {
		if len(listed) == 0 {
			return nil, fmt.Errorf("no shard was open at %v", t.cfg.From)
		}
		return eldest(listed), nil
	}
	i := slices.IndexFunc(listed, func(s lease.Shard) bool { return s.ID == t.cfg.Shard })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s is not one of the %d shards of %s", ErrShardNotFound, t.cfg.Shard, len(listed), t.stream.Name)
	}
	return listed[i : i+1], nil
}

// eldest are the shards without a parent in the list: a reshard in the very millisecond of the start lists parents and
// children, and these wait for their parents as any others do.
func eldest(listed []lease.Shard) []lease.Shard {
	has := map[string]bool{}
	for _, s := range listed {
		has[s.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(listed), func(s lease.Shard) bool {
		return slices.ContainsFunc(s.Parents, func(p string) bool { return has[p] })
	})
}

// checkSequence asks whether the service knows the sequence number to begin at. A reader would make
// the best of one that it does not; a person who mistyped wants to hear of it.
func (t *tail) checkSequence(ctx context.Context) error {
	sequence, _, ok := t.cfg.From.Sequence()
	if !ok {
		return nil
	}
	in := &kinesis.GetShardIteratorInput{
		ShardId: &t.cfg.Shard, StartingSequenceNumber: &sequence, StreamName: &t.stream.Name,
		ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber,
	}
	if t.stream.ARN != "" {
		in.StreamName, in.StreamARN = nil, &t.stream.ARN
	}
	_, err := t.api.GetShardIterator(ctx, in)
	if _, refused := errors.AsType[*types.InvalidArgumentException](err); refused {
		return fmt.Errorf("the service does not know %s as a sequence number of %s: %w", sequence, t.cfg.Shard, err)
	}
	return nil // other trouble is the reader's to deal with
}

// named gives an error that says that the stream is missing its public name.
func (t *tail) named(err error) error {
	if errors.Is(err, fetch.ErrMissing) {
		return fmt.Errorf("%w: %w", ErrStreamNotFound, err)
	}
	return err
}

// start begins to read a shard.
func (t *tail) start(id string, from Position) {
	s := &tailShard{id: id}
	s.ctx, s.cancel = context.WithCancelCause(t.ctx)
	// Nothing has to be dropped for another shard's sake: all that is held is on its way to the loop.
	s.share = t.budget.Shard(func(int64) int64 { return 0 })
	api := t.api
	if !t.cfg.To.IsZero() {
		s.clock = &readClock{API: api, to: t.cfg.To, passed: func() { s.cancel(errPassed) }}
		api = s.clock
	}
	s.reader = fetch.NewReader(api, fetch.Config{
		Stream: t.stream.Stream, Shard: id, Start: from, PollInterval: t.cfg.PollInterval, Credit: s.share,
		// What only a person can put right is an error here: nobody waits a minute before a screen.
		Notice: func(n fetch.Notice) {
			if n.Err != nil && !n.Passing {
				s.cancel(n.Err)
			}
		},
	})
	t.family.begin(id)
	t.reading++
	t.readers.Go(func() { t.read(s) })
}

// close ends all goroutines and waits for them.
func (t *tail) close() {
	t.cancel()
	t.readers.Wait()
}

// run hands records to the loop until it ends. The error is for the loop's last step.
func (t *tail) run(yield func(*Record, error) bool) error {
	for t.reading > 0 {
		select {
		case <-t.ctx.Done():
			return nil
		case p := <-t.out:
			if p.err != nil {
				return p.err
			}
			if !t.tell(p, yield) {
				return nil
			}
			t.account(p)
		}
	}
	return nil
}

// tell yields what a portion holds, and gives each record's bytes back after its step.
func (t *tail) tell(p portion, yield func(*Record, error) bool) bool {
	trimmed := func(what string) bool {
		return yield(nil, fmt.Errorf("leat: tail of %s: %w: %s", t.cfg.Stream, ErrTrimmed, what))
	}
	if p.lost && !trimmed("shard "+p.shard.id+" is gone") {
		return false
	}
	if lost := p.batch.Trimmed; lost != nil && !trimmed(fmt.Sprintf("shard %s, after %v, may lack some", p.shard.id, lost.After)) {
		return false
	}
	for i := range p.batch.Records {
		r := &p.batch.Records[i]
		size := r.Size() // before the loop's body can change it
		if !t.each(r, yield) {
			return false
		}
		clear(p.batch.Records[i : i+1]) // the batch must not pin it any longer
		p.shard.share.Give(size)
	}
	return true
}

// each yields a record, or the user records in it that come after From.
func (t *tail) each(r *record.Record, yield func(*Record, error) bool) bool {
	if !r.Aggregated {
		return t.ctx.Err() == nil && yield((*Record)(r), nil)
	}
	from := kpl.Reopen(r.Data)
	if at, err := r.Position(); err == nil {
		own, _, _ := at.Sequence()
		if sequence, sub, ok := t.cfg.From.Sequence(); ok && sequence == own {
			from.SkipThrough(sub)
		}
	}
	for user := *r; from.Next(&user); user = *r {
		if t.ctx.Err() != nil || !yield((*Record)(&user), nil) {
			return false
		}
	}
	return true
}

// account begins the shards that follow one that is done.
func (t *tail) account(p portion) {
	if !p.passed && !p.ended {
		return
	}
	t.reading--
	p.shard.share.Close()
	// The children of a shard that has passed To began later: they are never ready.
	if p.passed || t.cfg.Shard != "" {
		return
	}
	for _, id := range t.family.end(p.shard.id, p.listed) {
		t.start(id, TrimHorizon())
	}
}
