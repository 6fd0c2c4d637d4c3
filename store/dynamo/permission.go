package dynamo

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// PermissionError says that a policy does not allow what a call needs.
type PermissionError struct {
	Action   string // such as "dynamodb:UpdateItem"
	Resource string // the ARN it is needed on; "*" stands for what is not known
	Err      error  // the service's answer
}

// Error implements error.
func (e *PermissionError) Error() string {
	return fmt.Sprintf("not permitted: allow %s on %s (policies: docs/permissions.md): %v", e.Action, e.Resource, e.Err)
}

// Unwrap returns the service's answer.
func (e *PermissionError) Unwrap() error { return e.Err }

// deniedText finds the action, which may be one of KMS, and the resource in the service's words.
var deniedText = regexp.MustCompile(`not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)(?: on resource: (arn:\S+))?`)

func (s *Store) denied(action string, err smithy.APIError) error {
	s.mu.Lock()
	resource := s.arn
	if resource == "" {
		resource = s.cfg.Table
		if !strings.HasPrefix(resource, "arn:") {
			resource = "arn:aws:dynamodb:" + s.region + ":*:table/" + s.cfg.Table
		}
	}
	s.mu.Unlock()
	e := &PermissionError{Action: "dynamodb:" + action, Resource: resource, Err: err}
	if said := deniedText.FindStringSubmatch(err.ErrorMessage()); said != nil {
		e.Action = said[1]
		if said[2] != "" {
			e.Resource = said[2]
		}
	}
	return e
}

// trialItem is the range key of Open's trials. There never is such an item.
const trialItem = "trial"

// tryAll makes each call that workers make, in a way that has no effect, and returns all that is not
// permitted. It costs one read unit and two write units.
func (s *Store) tryAll(ctx context.Context) error {
	e := newExpression()
	key, exists := itemKey(s.cfg.TrialGroup, trialItem), "attribute_exists("+e.name(attrGroup)+")"
	q := newExpression()
	isKey := q.name(attrGroup) + " = " + q.value(text(s.cfg.TrialGroup)) + " AND " + q.name(attrItem) + " = " + q.value(text(trialItem))
	trials := []struct {
		action string
		call   func(context.Context, *dynamodb.Client) error
	}{
		{"GetItem", func(ctx context.Context, client *dynamodb.Client) error {
			_, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: key})
			return err
		}},
		{"Query", func(ctx context.Context, client *dynamodb.Client) error {
			_, err := client.Query(ctx, &dynamodb.QueryInput{
				TableName: &s.cfg.Table, KeyConditionExpression: &isKey,
				ExpressionAttributeNames: q.names, ExpressionAttributeValues: q.values,
			})
			return err
		}},
		{"UpdateItem", func(ctx context.Context, client *dynamodb.Client) error {
			_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &s.cfg.Table, Key: key, ConditionExpression: &exists, ExpressionAttributeNames: e.names,
			})
			return err
		}},
		{"DeleteItem", func(ctx context.Context, client *dynamodb.Client) error {
			_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &s.cfg.Table, Key: key, ConditionExpression: &exists, ExpressionAttributeNames: e.names,
			})
			return err
		}},
	}
	var all []error
	for _, t := range trials {
		err := s.do(ctx, call{class: reads, action: t.action, doing: "trying " + t.action, factor: slow}, t.call)
		if _, refused := errors.AsType[*types.ConditionalCheckFailedException](err); !refused {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func itemKey(group, item string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{attrGroup: text(group), attrItem: text(item)}
}
