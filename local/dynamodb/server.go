package dynamodb

import (
	"cmp"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// TargetPrefix begins the X-Amz-Target header of every call that is meant for a Server: who serves several
// APIs on one port tells them apart by it.
const TargetPrefix = "DynamoDB_20120810."

// Config says how a Server behaves. The zero value is a DynamoDB in us-east-1.
type Config struct {
	// Region is part of table ARNs and of AWSConfig. Default: us-east-1.
	Region string

	// Account is the twelve-digit account id in ARNs. Default: 000000000000.
	Account string

	// Now is the clock of creation times and stale reads. It must be safe for concurrent use. Default: time.Now,
	// which is virtual inside a testing/synctest bubble.
	Now func() time.Time

	// Transition is how long a table stays CREATING or DELETING. Default 0: a change is complete when its
	// call returns.
	Transition time.Duration

	// PageBytes is the size of items after which a Query or Scan ends its page. Default: 1 MiB, as with the
	// service.
	PageBytes int

	// NoItemOnFailure makes the server ignore ReturnValuesOnConditionCheckFailure always, as older emulators do.
	NoItemOnFailure bool
}

// Server is one account's DynamoDB in one region, in memory. Make it with New. It is an http.Handler and safe
// for concurrent use.
type Server struct {
	config   Config
	requests atomic.Uint64 // numbers the request ids

	// mu guards all state below. Operations run with it held, so they must not block: a goroutine that waits
	// for a mutex stops a synctest bubble's clock.
	mu     sync.Mutex
	tables map[string]*table
	ids    int // numbers the TableIds
	faults faults
	usage  map[string]Usage
	kept   map[string]Backup // by table: see control

	controls http.Handler
}

// New returns a server without tables.
func New(config Config) *Server {
	config.Region = cmp.Or(config.Region, "us-east-1")
	config.Account = cmp.Or(config.Account, "000000000000")
	config.PageBytes = cmp.Or(config.PageBytes, 1<<20)
	if config.Now == nil {
		config.Now = time.Now
	}
	s := &Server{config: config, tables: map[string]*table{}, usage: map[string]Usage{}, kept: map[string]Backup{}}
	s.controls = s.control()
	return s
}

// Usage is what calls of one operation have cost, as the service bills it.
type Usage struct {
	Calls      int     // that were carried out, with or without success
	Conditions int     // of them: writes whose condition did not hold
	Read       float64 // read request units; half a unit is an eventually consistent read of up to 4 KB
	Write      float64 // write request units of 1 KB; a failed condition costs them, too
}

// Usage returns what was used since the server was made, by operation. Calls that a fault refused or lost
// before they had an effect are not in it.
func (s *Server) Usage() map[string]Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]Usage, len(s.usage))
	for operation, u := range s.usage {
		all[operation] = u
	}
	return all
}

// call is one request on its way through the server.
type call struct {
	now  time.Time
	asOf time.Time // when a read that is not consistent sees the table
	used Usage

	noItem bool // comes with a failed condition
}

// An operation is a plain function from a typed request to a typed answer. It runs with Server.mu held.
type operation struct {
	newRequest func() any
	run        func(*Server, *call, any) (any, error)
}

func op[Request any](run func(*Server, *call, *Request) (any, error)) operation {
	return operation{
		newRequest: func() any { return new(Request) },
		run:        func(s *Server, c *call, request any) (any, error) { return run(s, c, request.(*Request)) },
	}
}

var operations = map[string]operation{
	"CreateTable":               op((*Server).createTable),
	"DeleteItem":                op((*Server).deleteItem),
	"DeleteTable":               op((*Server).deleteTable),
	"DescribeContinuousBackups": op((*Server).describeBackups),
	"DescribeTable":             op((*Server).describeTable),
	"GetItem":                   op((*Server).getItem),
	"ListTables":                op((*Server).listTables),
	"ListTagsOfResource":        op((*Server).listTags),
	"PutItem":                   op((*Server).putItem),
	"Query":                     op((*Server).query),
	"Scan":                      op((*Server).scan),
	"UpdateContinuousBackups":   op((*Server).updateBackups),
	"UpdateItem":                op((*Server).updateItem),
}

// run carries out a decoded request.
func (s *Server) run(name string, request any, fate fate) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	c := &call{now: now, asOf: now.Add(-fate.stale), used: Usage{Calls: 1}, noItem: fate.noItem || s.config.NoItemOnFailure}
	answer, err := operations[name].run(s, c, request)
	total := s.usage[name]
	total.Calls += c.used.Calls
	total.Conditions += c.used.Conditions
	total.Read += c.used.Read
	total.Write += c.used.Write
	s.usage[name] = total
	return answer, err
}
