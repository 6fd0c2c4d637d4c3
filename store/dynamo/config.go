package dynamo

import (
	"cmp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// DefaultTable is the name of the table unless Config.Table says otherwise.
const DefaultTable = "leat"

// Config says which table a Store uses and how. The zero value is the table "leat" by the SDK's default
// configuration.
type Config struct {
	// Table is the table's name or ARN. Default: DefaultTable. Open creates only a table of this account and region.
	Table string

	// AWS is the SDK's configuration: region, credentials, HTTP client. Its retryer is not used. nil: the
	// SDK's default configuration is loaded by Open.
	AWS *aws.Config

	// Endpoint is the base URL of another server than the region's, such as "http://127.0.0.1:8000".
	Endpoint string

	// Create is how Open creates the table, if it is absent. A table that is there is never changed.
	Create Create

	// AttemptTimeout is how long one attempt of a call may take. Reads of a stream's leases, which are long, have five
	// times as much. Default: 1 s. It should be at most a sixth of the workers' failover time, so that a heartbeat can be
	// tried several times.
	AttemptTimeout time.Duration

	// Concurrency is how many calls are made at one time, not counting writes of workers' own items, which do
	// not wait. Default: 16.
	Concurrency int

	// TrialGroup is the group in whose name Open tries what the caller may do. It matters only where a policy restricts
	// groups (dynamodb:LeadingKeys). Default: "leat".
	TrialGroup string

	// NoTrial makes Open try nothing: for tools that may only read.
	NoTrial bool
}

// Create are the properties of a new table. The zero value is billing on demand and nothing else.
type Create struct {
	// ReadCapacity and WriteCapacity are provisioned units a second; both or neither must be set. 0: on demand.
	ReadCapacity, WriteCapacity int64

	// Tags are put on the table. They need dynamodb:TagResource.
	Tags map[string]string

	// PointInTimeRecovery turns continuous backups on. It needs dynamodb:UpdateContinuousBackups.
	PointInTimeRecovery bool

	// DeletionProtection keeps the table from being deleted.
	DeletionProtection bool
}

func (c Config) withDefaults() Config {
	c.Table = cmp.Or(c.Table, DefaultTable)
	c.AttemptTimeout = cmp.Or(c.AttemptTimeout, time.Second)
	c.Concurrency = cmp.Or(c.Concurrency, 16)
	c.TrialGroup = cmp.Or(c.TrialGroup, "leat")
	return c
}
