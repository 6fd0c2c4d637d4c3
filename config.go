package leat

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/dynamo"
)

// Config says what to consume and how. Group, Stream, and one of Handler, Batch and Shards must be set; every other
// field has a useful zero value.
type Config struct {
	// Group names the workers that share the stream's shards and the checkpoints that they keep: 1 to
	// 255 characters out of letters, digits and _.-
	Group string

	// Stream is the stream's name or its ARN. An ARN may be another account's.
	Stream string

	// Worker is the name of this worker in logs, Stats and the store; the host's name if empty. It need
	// not be unique: leat adds a random part, so that two workers with one name are still two.
	Worker string

	// AWS is how to reach Kinesis: region, credentials, HTTP client. Nil loads the SDK's usual chain
	// (environment, shared files, instance role).
	AWS *aws.Config

	// Endpoint is the URL of a Kinesis-compatible server, such as "http://127.0.0.1:4567" for
	// leat local. Empty is AWS. The default Store is there, too: leat local serves both.
	Endpoint string

	// Format is how records are fetched. The zero value is FormatAuto: CBOR, which costs about half of JSON, and JSON where the
	// server does not speak it, told at Info once. A forced one is for proxies and servers that misbehave with the other.
	Format Format

	// Store keeps leases and checkpoints. Nil is the DynamoDB table "leat" of the same account and region, by AWS and
	// Endpoint; Run creates it, billed on demand, if it is absent. For another table, or other properties of
	// it, see package store/dynamo. store/file serves the workers of one machine, store/memory those of one
	// process.
	Store Store

	// Handler is called for each record, from several goroutines. HandlerFunc makes one of a function.
	Handler Handler

	// Batch handles records in batches. See BatchHandler.
	Batch *Batch

	// Shards handles shards: it is told of their beginning and end, and gets their records in batches. Order is
	// PerShard.
	Shards ShardHandler

	// Order says which records wait for each other. The zero value is PerShard(): one record of a shard
	// at a time. PerKey(n) handles up to n records of a shard at once, never two of one partition key.
	Order Order

	// MaxInFlight bounds, with PerKey, the records of a shard above its watermark: those that were handed
	// out or handled, or wait for their key's turn, while an older one is not handled. Default 10,000, at least 1. At
	// the bound the shard waits for its oldest record, and says so: Stats at once, an EventStuck after 10 to 20 s. A
	// crash hands out at most so many of a shard again, beside what came after the last checkpoint. A record in
	// flight pins about 0.5 KB even when its bytes are given back. PerShard has one record in flight.
	MaxInFlight int

	// Retry says how often a record that fails is tried again, and what becomes of it then. The zero value tries
	// it for ever.
	Retry Retry

	// DeadLetter takes the records that are given up: those that Retry gives up, and Poison. See package deadletter.
	DeadLetter DeadLetter

	// Start is where a group begins with a stream that it has never read: TrimHorizon (the zero value),
	// Latest or AtTimestamp. Later it always goes on at its checkpoints.
	Start Position

	// OnTrimmed says what to do when records passed the stream's retention before the group read
	// them: Continue (the zero value) tells an EventTrimmed and goes on with the oldest record that is
	// left; Halt ends Run with ErrTrimmed.
	OnTrimmed Policy

	// OnStray says what to do with user records out of aggregated (KPL) records whose hash key is not in the shard's range.
	// Continue (the zero value) handles them as any; Skip drops them. Both count them, in Stats. (The Java KCL drops
	// the whole aggregated record.) See docs/aggregation.md.
	OnStray Policy

	// MaxShards is how many shards this worker holds at most; 0 is no bound. If all workers are at
	// theirs, some shards are not read.
	MaxShards int

	// MaxBuffered bounds the bytes of records held in memory by this consumer, whatever the number of
	// shards, answers on the way included. Default 64 MiB; under 16 MiB is refused, since one answer
	// of the service may hold 10 MiB (Kinesis API reference, GetRecords). An answer that is larger than a
	// quarter of it is let in over the bound, one at a time. With the default that is rare; with less it happens where
	// records are large, until the reader has learned their size.
	MaxBuffered int64

	// CheckpointInterval is the time between two writes of a shard's checkpoint; a crash repeats what
	// was handled since the last one. Default 5 s, at least 100 ms. A shard without progress is not written.
	CheckpointInterval time.Duration

	// PollInterval is the time between two reads of a shard that has no more to give. Default 1 s, at
	// least 200 ms: the service allows 5 reads a second on a shard, for all consumers together. A shard
	// that is behind is read at once, within that limit.
	PollInterval time.Duration

	// ReadQuota is how fast a shard is read. The zero value is what the service allows for all consumers of a shard
	// together: lower it where others poll the same stream. Raise it only for a server without the service's limits, such as
	// leat local --unlimited.
	ReadQuota ReadQuota

	// FailoverTime is how long this worker may be silent before its shards go to others. Default 6 s, from 1 s to 24 h.
	// A worker writes its heartbeat every third of it. It may differ from worker to worker, as it does during a deploy that
	// changes it: each is judged by its own.
	FailoverTime time.Duration

	// HandlerTimeout cancels the context of a call of the handler that runs for longer, with the cause
	// ErrHandlerTimeout; what the handler then returns counts. Default 0: no bound.
	HandlerTimeout time.Duration

	// DrainTimeout is how long running handlers may take to end when the worker stops or gives a shard to another; then
	// their contexts are cancelled, with the cause ErrDraining, and 5 s later their acks no longer count. Default
	// 20 s: with these 5 s it is below the 30 s that Kubernetes grants.
	DrainTimeout time.Duration

	// Logger gets what changes: shards taken and lost, errors that are tried again. Nothing at Info in
	// steady state, and never a record's data or key. Nil is slog.Default().
	Logger *slog.Logger

	// Events is told what happens, for metrics and alarms: see EventKind. It is called from one goroutine at a time,
	// and must not block. Nil is nobody.
	Events func(Event)
}

// Store keeps the leases and checkpoints of groups. It is the interface of package lease, where its
// rules are.
type Store = lease.Store

// Position is a place in a stream or shard; the zero value is TrimHorizon.
type Position = lease.Position

// TrimHorizon is the place before the oldest record that the stream still keeps.
func TrimHorizon() Position { return lease.TrimHorizon() }

// Latest is the place after the newest record. For a group it is the moment, by the service's clock, in which its
// first worker started.
func Latest() Position { return lease.Latest() }

// AtTimestamp is the place before the first record that arrived at t or later, cut to milliseconds. A
// time before 1970 counts as 1970.
func AtTimestamp(t time.Time) Position { return lease.AtTimestamp(t) }

// ReadQuota bounds the reading of each shard, whichever worker holds it.
type ReadQuota struct {
	Calls int64 // of GetRecords, a second; 0 is the service's limit of 5
	Bytes int64 // of data and partition keys, a second; 0 is the service's limit of 2 MiB
}

// Policy says what to do when records cannot be had, or handled, any more.
type Policy int

// The policies.
const (
	Continue Policy = iota // tell an Event and go on
	Halt                   // end Run with an error
	Skip                   // drop the record and count it: for Retry.Then, which tells an Event of each, and OnStray
)

// The defaults and bounds of Config.
const (
	defaultMaxInFlight        = 10_000
	defaultMaxBuffered        = 64 << 20
	minMaxBuffered            = 16 << 20
	defaultCheckpointInterval = 5 * time.Second
	minCheckpointInterval     = 100 * time.Millisecond
	defaultPollInterval       = time.Second
	minPollInterval           = 200 * time.Millisecond
	defaultFailoverTime       = 6 * time.Second
	minFailoverTime           = time.Second
	defaultDrainTimeout       = 20 * time.Second
	maxPeriod                 = 365 * 24 * time.Hour // no stream keeps its records for longer; sums of a few do not overflow
)

var (
	groupName  = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,255}$`)
	streamName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`) // Kinesis API reference, StreamName
	streamARN  = regexp.MustCompile(`^arn:[a-z0-9-]+:kinesis:[a-z0-9-]+:\d{12}:stream/[A-Za-z0-9_.-]{1,128}$`)
)

// Validate returns every fault of the configuration at once, joined, each with its field's name; or nil.
func (c Config) Validate() error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if !groupName.MatchString(c.Group) {
		fault("Group", "%q is not 1 to 255 characters out of letters, digits and _.-", c.Group)
	}
	if err := validStream(c.Stream); err != nil {
		fault("Stream", "%v", err)
	}
	if strings.ContainsAny(c.Worker, "/@ \n") || len(c.Worker) > 128 || !utf8.ValidString(c.Worker) {
		fault("Worker", "%q: at most 128 bytes of UTF-8, no space, slash or @", c.Worker)
	}
	if err := validEndpoint(c.Endpoint); err != nil {
		fault("Endpoint", "%v", err)
	}
	c.validHandler(fault)
	if c.Shards != nil && c.Order.perKey {
		fault("Order", "%v: a ShardHandler gets its shard in order: use PerShard", c.Order)
	}
	c.Retry.valid(c, fault)
	if err := c.Format.valid(); err != nil {
		fault("Format", "%v", err)
	}
	if err := c.Order.valid(); err != nil {
		fault("Order", "%v", err)
	}
	if c.MaxInFlight < 0 {
		fault("MaxInFlight", "%d: at least 1, or 0 for the default of %d", c.MaxInFlight, defaultMaxInFlight)
	}
	if _, _, isSequence := c.Start.Sequence(); isSequence || c.Start.IsShardEnd() {
		fault("Start", "%v: a group starts at TrimHorizon, Latest or AtTimestamp; sequence numbers belong to one shard", c.Start)
	}
	if c.OnTrimmed != Continue && c.OnTrimmed != Halt {
		fault("OnTrimmed", "%d is neither Continue nor Halt", c.OnTrimmed)
	}
	if c.OnStray != Continue && c.OnStray != Skip {
		fault("OnStray", "%d is neither Continue nor Skip", c.OnStray)
	}
	if c.MaxShards < 0 {
		fault("MaxShards", "%d is negative", c.MaxShards)
	}
	if c.MaxBuffered != 0 && c.MaxBuffered < minMaxBuffered {
		fault("MaxBuffered", "%d bytes: at least %d, since one answer of Kinesis may hold 10 MiB", c.MaxBuffered, minMaxBuffered)
	}
	within := func(field string, d, least, most time.Duration) {
		if d != 0 && d < least {
			fault(field, "%v: at least %v", d, least)
		}
		if d > most {
			fault(field, "%v: at most %v", d, most)
		}
	}
	within("CheckpointInterval", c.CheckpointInterval, minCheckpointInterval, maxPeriod)
	within("PollInterval", c.PollInterval, minPollInterval, maxPeriod)
	if c.ReadQuota.Calls < 0 || c.ReadQuota.Bytes < 0 {
		fault("ReadQuota", "%d calls and %d bytes a second: neither may be negative", c.ReadQuota.Calls, c.ReadQuota.Bytes)
	}
	within("FailoverTime", c.FailoverTime, minFailoverTime, lease.MaxFailover)
	within("HandlerTimeout", c.HandlerTimeout, 0, maxPeriod)
	within("DrainTimeout", c.DrainTimeout, 0, maxPeriod)
	return errors.Join(faults...)
}

// validHandler adds the faults of Handler, Batch and Shards: exactly one of them handles.
func (c Config) validHandler(fault func(field, format string, args ...any)) {
	batches := c.Batch != nil && c.Batch.Handler != nil
	switch {
	case c.Handler != nil && (c.Batch != nil || c.Shards != nil), batches && c.Shards != nil:
		fault("Handler", "set only one of Handler, Batch.Handler and Shards")
	case c.Handler == nil && c.Batch != nil && !batches && c.Shards == nil:
		fault("Batch.Handler", "must be set")
	case c.Handler == nil && !batches && c.Shards == nil:
		fault("Handler", "must be set, or Batch or Shards")
	}
	if c.Batch != nil {
		c.Batch.valid(c, fault)
	}
}

func validStream(s string) error {
	if strings.HasPrefix(s, "arn:") {
		if !streamARN.MatchString(s) {
			return fmt.Errorf("%q is not the ARN of a stream (arn:aws:kinesis:REGION:ACCOUNT:stream/NAME)", s)
		}
		return nil
	}
	if !streamName.MatchString(s) {
		return fmt.Errorf("%q is not a stream's name (1 to 128 letters, digits, _.-) or ARN", s)
	}
	return nil
}

// validEndpoint refuses what the SDK would find out about only when a call is made, and then try again for a minute.
func validEndpoint(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%q is not a URL such as http://127.0.0.1:4567", s)
	}
	return nil
}

// withDefaults fills the zero values in.
func (c Config) withDefaults() Config {
	c.MaxInFlight = or(c.MaxInFlight, defaultMaxInFlight)
	c.MaxBuffered = or(c.MaxBuffered, defaultMaxBuffered)
	c.CheckpointInterval = or(c.CheckpointInterval, defaultCheckpointInterval)
	c.PollInterval = or(c.PollInterval, defaultPollInterval)
	c.FailoverTime = or(c.FailoverTime, defaultFailoverTime)
	c.DrainTimeout = or(c.DrainTimeout, defaultDrainTimeout)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Store == nil {
		c.Store = dynamo.New(dynamo.Config{
			AWS: c.AWS, Endpoint: c.Endpoint, TrialGroup: c.Group,
			AttemptTimeout: min(time.Second, c.FailoverTime/6), // so that a heartbeat can be tried several times
		})
	}
	return c
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
