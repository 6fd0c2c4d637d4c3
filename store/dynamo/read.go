package dynamo

import (
	"context"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
)

// Get implements lease.Store: a consistent GetItem.
func (s *Store) Get(ctx context.Context, group string, key lease.Key) (lease.Item, error) {
	return s.get(ctx, group, key, reads)
}

func (s *Store) get(ctx context.Context, group string, key lease.Key, class class) (lease.Item, error) {
	consistent := true
	c := call{class: class, action: "GetItem", doing: fmt.Sprintf("reading %s of group %s", rangeKey(key), group)}
	var found map[string]types.AttributeValue
	err := s.do(ctx, c, func(ctx context.Context, client *dynamodb.Client) error {
		out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: itemKey(group, rangeKey(key)), ConsistentRead: &consistent})
		if err == nil {
			found = out.Item
		}
		return err
	})
	if err != nil {
		return lease.Item{}, err
	}
	if len(found) == 0 {
		return lease.Item{}, lease.ErrNotFound
	}
	item, err := decode(found)
	return item, s.explain(c, err)
}

// Members implements lease.Store: a Query, of one page unless there are thousands of workers. Items of kinds
// that only a later leat knows are left out.
func (s *Store) Members(ctx context.Context, group string, consistent bool) ([]lease.Item, error) {
	var items []lease.Item
	c := call{class: reads, action: "Query", doing: "reading the members of group " + group}
	for raw, err := range s.query(ctx, c, group, memberPrefix, consistent) {
		if err != nil {
			return nil, err
		}
		item, err := decode(raw)
		if item.Key.Kind == 0 {
			continue
		}
		if err != nil {
			return nil, s.explain(c, err)
		}
		items = append(items, item)
	}
	return items, nil
}

// Leases implements lease.Store: eventually consistent Queries, page by page as they are asked for.
func (s *Store) Leases(ctx context.Context, group, stream string) iter.Seq2[lease.Item, error] {
	return func(yield func(lease.Item, error) bool) {
		c := call{class: reads, action: "Query", doing: fmt.Sprintf("reading the leases of group %s, stream %s", group, stream), factor: slow}
		for raw, err := range s.query(ctx, c, group, lease.LeaseKey(stream, "").String(), false) {
			if err != nil {
				yield(lease.Item{}, err)
				return
			}
			if item, err := decode(raw); !yield(item, s.explain(c, err)) {
				return
			}
		}
	}
}

// query yields the items whose range key has a prefix. An error ends it.
func (s *Store) query(ctx context.Context, c call, group, prefix string, consistent bool) iter.Seq2[map[string]types.AttributeValue, error] {
	return func(yield func(map[string]types.AttributeValue, error) bool) {
		e := newExpression()
		keys := e.name(attrGroup) + " = " + e.value(text(group)) + " AND begins_with(" + e.name(attrItem) + ", " + e.value(text(prefix)) + ")"
		in := &dynamodb.QueryInput{
			TableName: &s.cfg.Table, KeyConditionExpression: &keys, ConsistentRead: &consistent,
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		}
		for {
			var page *dynamodb.QueryOutput
			err := s.do(ctx, c, func(ctx context.Context, client *dynamodb.Client) (err error) {
				page, err = client.Query(ctx, in)
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if len(page.LastEvaluatedKey) == 0 {
				return
			}
			in.ExclusiveStartKey = page.LastEvaluatedKey
		}
	}
}
