package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
)

// The table's key.
const (
	attrGroup = "group"
	attrItem  = "item"
)

// look is how often a table that is being made is looked at: a new group is to begin within a second of its table.
const look = 500 * time.Millisecond

// unseen is how long a table that is being made may look absent: DescribeTable is eventually consistent (DynamoDB API
// reference: "wait for a few seconds").
const unseen = 10 * time.Second

// ready returns the table once it is active, and creates it if it is absent and create is true.
func (s *Store) ready(ctx context.Context, create bool) (*types.TableDescription, error) {
	var asked time.Time // when the table was absent, and being made
	for {
		d, err := s.describe(ctx)
		switch {
		case errors.Is(err, lease.ErrStoreGone) && create:
			if err := s.create(ctx); err != nil {
				return nil, err
			}
			create, asked = false, time.Now() // if somebody deletes it now, that is no reason to make it again
			continue
		case errors.Is(err, lease.ErrStoreGone) && !asked.IsZero() && time.Since(asked) < unseen:
		case errors.Is(err, lease.ErrStoreGone):
			return nil, fmt.Errorf("%w (is the region or the account the right one?)", err)
		case err != nil:
			return nil, err
		default:
			switch d.TableStatus {
			case types.TableStatusActive, types.TableStatusUpdating:
				if !asked.IsZero() && s.cfg.Create.PointInTimeRecovery {
					err = s.backUp(ctx)
				}
				return d, err
			case types.TableStatusCreating:
			case types.TableStatusDeleting:
				return nil, fmt.Errorf("lease table %s is being deleted: %w", s.cfg.Table, lease.ErrStoreGone)
			default:
				return nil, fmt.Errorf("lease table %s is in state %s", s.cfg.Table, d.TableStatus)
			}
		}
		if err := wait(ctx, look); err != nil {
			return nil, fmt.Errorf("lease table %s: waiting for its creation: %w", s.cfg.Table, err)
		}
	}
}

// wait lets time pass, unless ctx is done first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) describe(ctx context.Context) (*types.TableDescription, error) {
	var out *dynamodb.DescribeTableOutput
	err := s.do(ctx, call{action: "DescribeTable", doing: "describing it", factor: slow, unwatched: true},
		func(ctx context.Context, client *dynamodb.Client) (err error) {
			out, err = client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.cfg.Table})
			return err
		})
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// create begins to make the table, unless somebody else does so at the same time.
func (s *Store) create(ctx context.Context) error {
	in := &dynamodb.CreateTableInput{
		TableName: &s.cfg.Table,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(attrGroup), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(attrItem), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attrGroup), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attrItem), AttributeType: types.ScalarAttributeTypeS},
		},
		BillingMode: types.BillingModePayPerRequest,
	}
	options := s.cfg.Create
	if options.WriteCapacity > 0 {
		in.BillingMode = types.BillingModeProvisioned
		in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: &options.ReadCapacity, WriteCapacityUnits: &options.WriteCapacity}
	}
	if options.DeletionProtection {
		in.DeletionProtectionEnabled = aws.Bool(true)
	}
	for _, name := range slices.Sorted(maps.Keys(options.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(name), Value: aws.String(options.Tags[name])})
	}
	err := s.do(ctx, call{action: "CreateTable", doing: "creating it", factor: slow, unwatched: true},
		func(ctx context.Context, client *dynamodb.Client) error {
			_, err := client.CreateTable(ctx, in)
			return err
		})
	if _, made := errors.AsType[*types.ResourceInUseException](err); made {
		return nil // by somebody else, or by an attempt whose answer was lost
	}
	return err
}

// backUp turns continuous backups on. Everybody does it who has found the table absent: who made it may not know, for the
// answer may have been lost. A new table is not ready for it at once.
func (s *Store) backUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.do(ctx, call{action: "UpdateContinuousBackups", doing: "turning point-in-time recovery on", factor: slow, unwatched: true},
			func(ctx context.Context, client *dynamodb.Client) error {
				_, err := client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
					TableName:                        &s.cfg.Table,
					PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
				})
				return err
			})
		if _, early := errors.AsType[*types.ContinuousBackupsUnavailableException](err); !early || wait(ctx, look) != nil {
			return err
		}
	}
}

// checkKey returns why a table cannot hold leases, or nil.
func checkKey(d *types.TableDescription) error {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range d.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	said := ""
	for _, k := range d.KeySchema {
		name := aws.ToString(k.AttributeName)
		said += fmt.Sprintf(" %s %s (%s)", k.KeyType, name, kinds[name])
	}
	if want := fmt.Sprintf(" HASH %s (S) RANGE %s (S)", attrGroup, attrItem); said != want {
		return fmt.Errorf("its key is%s, want%s: it belongs to another program (a Java KCL's has the hash key leaseKey); use another table", said, want)
	}
	return nil
}

// tableID tells a table from another one that is made under its name later.
func tableID(d *types.TableDescription) string {
	if id := aws.ToString(d.TableId); id != "" {
		return id
	}
	return fmt.Sprintf("%s@%d", aws.ToString(d.TableArn), aws.ToTime(d.CreationDateTime).UnixMilli())
}
