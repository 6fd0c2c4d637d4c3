package dynamo_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/lease/leasetest"
	"github.com/leatstream/leat/local/dynamodb"
	"github.com/leatstream/leat/store/dynamo"
)

// TestStore runs the conformance suite on the embedded server: as the service is; and as emulators are that do not tell
// what refused a write, with pages of one or two items, while calls fail in every way that passes.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]struct {
		config dynamodb.Config
		faults []dynamodb.Fault
	}{
		"plain": {},
		"troubled": {dynamodb.Config{NoItemOnFailure: true, PageBytes: 300}, []dynamodb.Fault{
			{Kind: dynamodb.Throttle, Share: 0.004},
			{Kind: dynamodb.Error, Share: 0.004},
			{Kind: dynamodb.DropRequest, Share: 0.004},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(func(t *testing.T) (aws.Config, string) {
				srv := dynamodb.New(server.config)
				srv.SetFaults(1, server.faults...)
				return srv.AWSConfig(), ""
			}).Run(t)
		})
	}
}

// tableOf is where a Store's table is.
type tableOf struct {
	aws      aws.Config
	endpoint string
	table    string
}

// tabled is a Store that tests know the table of.
type tabled struct {
	*dynamo.Store
	tableOf
}

func (at tableOf) open() lease.Store {
	return tabled{dynamo.New(dynamo.Config{AWS: &at.aws, Endpoint: at.endpoint, Table: at.table}), at}
}

func (at tableOf) client() *sdk.Client {
	return sdk.NewFromConfig(at.aws, func(o *sdk.Options) {
		if at.endpoint != "" {
			o.BaseEndpoint = &at.endpoint
		}
	})
}

// suite is the conformance suite on servers that connect tells: a table for each case.
func suite(connect func(*testing.T) (cfg aws.Config, endpoint string)) leasetest.Suite {
	at := func(t *testing.T) tableOf {
		cfg, endpoint := connect(t)
		return tableOf{cfg, endpoint, "test-" + rand.Text()}
	}
	return leasetest.Suite{
		Open:   func(t *testing.T) lease.Store { return at(t).open() },
		Second: func(t *testing.T, s lease.Store) lease.Store { return s.(tabled).tableOf.open() },
		Absent: func(t *testing.T) lease.Store { return at(t).open() },
		Remove: func(t *testing.T, s lease.Store) {
			if _, err := s.(tabled).client().DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String(s.(tabled).table)}); err != nil {
				t.Fatal(err)
			}
		},
		Plant: func(t *testing.T, s lease.Store, group string, key lease.Key, name, value string) {
			s.(tabled).plant(t, group, key.String(), name, &types.AttributeValueMemberS{Value: value})
		},
		Peek: func(t *testing.T, s lease.Store, group string, key lease.Key, name string) (string, bool) {
			v, ok := s.(tabled).peek(t, group, key.String())[name].(*types.AttributeValueMemberS)
			if !ok {
				return "", false
			}
			return v.Value, true
		},
	}
}

func keyOf(group, item string) map[string]types.AttributeValue {
	if item == "control" {
		item = "workers"
	}
	return map[string]types.AttributeValue{"group": &types.AttributeValueMemberS{Value: group}, "item": &types.AttributeValueMemberS{Value: item}}
}

// plant sets an attribute as another program would.
func (at tableOf) plant(t *testing.T, group, item, name string, value types.AttributeValue) {
	t.Helper()
	_, err := at.client().UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: &at.table, Key: keyOf(group, item), UpdateExpression: aws.String("SET #a = :v"),
		ExpressionAttributeNames:  map[string]string{"#a": name},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": value},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (at tableOf) peek(t *testing.T, group, item string) map[string]types.AttributeValue {
	t.Helper()
	out, err := at.client().GetItem(context.WithoutCancel(t.Context()), &sdk.GetItemInput{TableName: &at.table, Key: keyOf(group, item), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}
