package local

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leatstream/leat/local/dynamodb"
)

// Config says how a Server behaves. The zero value is a Kinesis in us-east-1
// with the service's default limits.
type Config struct {
	// Region is part of stream ARNs and of AWSConfig. Default: us-east-1.
	Region string

	// Account is the twelve-digit account id in ARNs and error messages.
	// Default: 000000000000.
	Account string

	// Now is the clock of retention, expiry, quotas and timestamps, seen in whole
	// milliseconds. Where it steps back, the server's time stands still until it
	// has caught up. It must be safe for concurrent use. Default: time.Now, which
	// is virtual inside a testing/synctest bubble; use a server either inside or
	// outside of one.
	Now func() time.Time

	// Transition is how long a stream stays CREATING, UPDATING or DELETING.
	// Default 0: a change is complete when its call returns.
	Transition time.Duration

	// Retention is how long records of a new stream can be read, until a call
	// changes it. Default: 24 hours, as with the service.
	Retention time.Duration

	// ShardLimit is the number of open shards that all streams may have
	// together before CreateStream and SplitShard answer
	// LimitExceededException. Default: 20,000, the quota of the largest regions
	// (AWS, "Quotas and limits" of Kinesis Data Streams).
	ShardLimit int

	// MaxRecordSize bounds a record's data and partition key together, in
	// bytes, for streams created without MaxRecordSizeInKiB. Default: 1 MiB;
	// the service allows up to 10 MiB (AWS, "Large records").
	MaxRecordSize int

	// Unlimited turns the quotas of reads, writes, and of GetShardIterator and
	// UpdateShardCount calls off. Limits on the size of one call or record stay.
	Unlimited bool

	// EndWithRecords makes GetRecords tell the end of a closed shard (no
	// NextShardIterator, and the ChildShards) in the answer that carries its
	// last records. By default it comes in a further answer without records.
	// The service does either; a consumer must bear both.
	EndWithRecords bool

	// RefuseEnd makes GetShardIterator refuse AFTER_SEQUENCE_NUMBER of the last
	// record of a closed shard with InvalidArgumentException "... SequenceNumber
	// has reached max possible value for the shard", as the service has been
	// reported to. By default it returns an iterator at the end.
	RefuseEnd bool
}

// Server is one account's Kinesis in one region, in memory, with its DynamoDB.
// Make it with New. It is an http.Handler and safe for concurrent use.
type Server struct {
	config Config
	tables *dynamodb.Server

	// mu guards all state below. Operations run with it held, so they must not
	// block: a goroutine waiting for a mutex stops a synctest bubble's clock.
	mu           sync.Mutex
	streams      map[string]*stream
	predecessors map[string]predecessor // by name
	faults       faults

	clock    atomic.Int64  // the latest time seen, in Unix milliseconds
	requests atomic.Uint64 // numbers the request ids
}

// New returns a server without streams.
func New(config Config) *Server {
	config.Region = cmp.Or(config.Region, "us-east-1")
	config.Account = cmp.Or(config.Account, "000000000000")
	config.Retention = cmp.Or(config.Retention, 24*time.Hour)
	config.ShardLimit = cmp.Or(config.ShardLimit, 20_000)
	config.MaxRecordSize = cmp.Or(config.MaxRecordSize, 1<<20)
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Server{
		config:       config,
		tables:       dynamodb.New(dynamodb.Config{Region: config.Region, Account: config.Account, Now: config.Now}),
		streams:      make(map[string]*stream),
		predecessors: make(map[string]predecessor),
	}
}

// DynamoDB is the server of the account's tables: what is at the same endpoint,
// and in AWSConfig, for calls of the DynamoDB API. It has its own faults, and
// counts its calls.
func (s *Server) DynamoDB() *dynamodb.Server { return s.tables }

// now is the server's clock. Milliseconds are all that the protocol carries:
// with finer times a client could not name the instant that a filter compares.
// It never goes back, so records are in the order of their arrival, too.
func (s *Server) now() time.Time {
	return time.UnixMilli(s.passed(s.config.Now().UnixMilli()))
}

// passed lets the clock be at ms at least, and returns where it is.
func (s *Server) passed(ms int64) int64 {
	for {
		latest := s.clock.Load()
		if ms <= latest {
			return latest
		}
		if s.clock.CompareAndSwap(latest, ms) {
			return ms
		}
	}
}

// arn is the ARN that a stream of this name has here.
func (s *Server) arn(stream string) string {
	return fmt.Sprintf("arn:aws:kinesis:%s:%s:stream/%s", s.config.Region, s.config.Account, stream)
}

// An operation is a plain function from a typed request to a typed answer; how
// either looks on the wire is the codec's business. It runs with Server.mu held.
type operation struct {
	newRequest func() any
	run        func(*Server, any) (any, error)
}

func op[Request, Answer any](run func(*Server, *Request) (*Answer, error)) operation {
	return operation{
		newRequest: func() any { return new(Request) },
		run:        func(s *Server, request any) (any, error) { return run(s, request.(*Request)) },
	}
}

var operations = map[string]operation{
	"AddTagsToStream":               op((*Server).addTagsToStream),
	"CreateStream":                  op((*Server).createStream),
	"DecreaseStreamRetentionPeriod": op((*Server).decreaseRetention),
	"DeleteStream":                  op((*Server).deleteStream),
	"DescribeLimits":                op((*Server).describeLimits),
	"DescribeStream":                op((*Server).describeStream),
	"DescribeStreamSummary":         op((*Server).describeStreamSummary),
	"GetRecords":                    op((*Server).getRecords),
	"GetShardIterator":              op((*Server).getShardIterator),
	"IncreaseStreamRetentionPeriod": op((*Server).increaseRetention),
	"ListShards":                    op((*Server).listShards),
	"ListStreams":                   op((*Server).listStreams),
	"ListTagsForResource":           op((*Server).listTagsForResource),
	"ListTagsForStream":             op((*Server).listTagsForStream),
	"MergeShards":                   op((*Server).mergeShards),
	"PutRecord":                     op((*Server).putRecord),
	"PutRecords":                    op((*Server).putRecords),
	"RemoveTagsFromStream":          op((*Server).removeTagsFromStream),
	"SplitShard":                    op((*Server).splitShard),
	"TagResource":                   op((*Server).tagResource),
	"UntagResource":                 op((*Server).untagResource),
	"UpdateShardCount":              op((*Server).updateShardCount),
}

// none is the answer of operations that only say that they were accepted.
type none struct{}

// epoch is a time on the wire, which each codec writes in its own way.
type epoch struct{ time.Time }

// run carries out a decoded request.
func (s *Server) run(o operation, request any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.run(s, request)
}
