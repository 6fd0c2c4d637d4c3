package dynamo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leatstream/leat/lease"
)

// Store is a lease.Store in a DynamoDB table. Make one with New; all Stores of one table share its leases.
type Store struct {
	cfg  Config
	gate *gate

	mu     sync.Mutex // guards the rest; never held while something waits
	client *dynamodb.Client
	region string
	arn    string // of the table; "" until Open has described it
	table  identity
}

// New returns a Store. It does no IO.
func New(cfg Config) *Store {
	cfg = cfg.withDefaults()
	return &Store{cfg: cfg, gate: newGate(cfg.Concurrency), table: identity{turn: make(chan struct{}, 1)}}
}

// Open implements lease.Store. It waits until the table is active, for as long as ctx lasts; creating one takes
// the service some 10 s. It fails if the table's key is not leat's, or if an action is not permitted; then the error wraps a
// *PermissionError for each one. Info.ID is the TableId.
func (s *Store) Open(ctx context.Context, create bool) (lease.Info, error) {
	if err := s.connect(ctx); err != nil {
		return lease.Info{}, fmt.Errorf("lease table %s: %w", s.cfg.Table, err)
	}
	d, err := s.ready(ctx, create)
	if err != nil {
		return lease.Info{}, err
	}
	if err := checkKey(d); err != nil {
		return lease.Info{}, fmt.Errorf("lease table %s: %w", s.cfg.Table, err)
	}
	id := tableID(d)
	s.mu.Lock()
	s.arn = aws.ToString(d.TableArn)
	err = s.table.begin(id)
	s.mu.Unlock()
	if err != nil {
		return lease.Info{}, fmt.Errorf("lease table %s: %w", s.cfg.Table, err)
	}
	if !s.cfg.NoTrial {
		if err := s.tryAll(ctx); err != nil {
			return lease.Info{}, err
		}
	}
	return lease.Info{ID: id}, nil
}

// connect makes the client.
func (s *Store) connect(ctx context.Context) error {
	if c := s.cfg.Create; (c.ReadCapacity > 0) != (c.WriteCapacity > 0) || c.ReadCapacity < 0 || c.WriteCapacity < 0 {
		return fmt.Errorf("Create: read capacity %d and write capacity %d: set both, or neither for billing on demand", c.ReadCapacity, c.WriteCapacity)
	}
	if client, _ := s.connected(); client != nil {
		return nil
	}
	var cfg aws.Config
	if s.cfg.AWS != nil {
		cfg = s.cfg.AWS.Copy()
	} else {
		loaded, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return fmt.Errorf("loading the AWS configuration: %w", err)
		}
		cfg = loaded
	}
	if cfg.Region == "" {
		return errors.New("no AWS region: set AWS_REGION, a profile's region, or Config.AWS")
	}
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.HTTPClient = newHTTP(cfg.HTTPClient)
		o.Retryer = aws.NopRetryer{}
		if s.cfg.Endpoint != "" {
			o.BaseEndpoint = aws.String(s.cfg.Endpoint)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		s.client, s.region = client, cfg.Region
	}
	return nil
}

// connected is the client, or nil before Open; and the error that the table was replaced, if that is known.
func (s *Store) connected() (client *dynamodb.Client, replaced error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client, s.table.replaced
}
