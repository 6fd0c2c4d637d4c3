package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
)

// Write implements lease.Store: one UpdateItem, or one DeleteItem. A conflict may be with an earlier attempt
// of the same call, whose answer was lost: lease.Write.Landed tells.
func (s *Store) Write(ctx context.Context, group string, w lease.Write) (lease.Item, error) {
	if err := w.Check(); err != nil {
		return lease.Item{}, err
	}
	r, err := request(group, w)
	if err != nil {
		return lease.Item{}, fmt.Errorf("lease table %s: %s %s of group %s: %w", s.cfg.Table, w.Op, w.Item.Key, group, err)
	}
	for range 3 {
		item, err := s.write(ctx, r)
		refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
		if !ok {
			return item, err
		}
		stands, found, err := s.standing(ctx, r, refused)
		if err != nil {
			return lease.Item{}, err
		}
		// If the condition holds for what was read a moment later, it has come to hold: the write is due.
		if !w.Applies(stands, found) {
			return lease.Item{}, &lease.ConflictError{Item: stands, Found: found}
		}
	}
	return lease.Item{}, s.explain(r.call, errors.New("refused, though the item is as it should be: has another program written an empty attribute?"))
}

// writeRequest is a lease.Write as DynamoDB wants it.
type writeRequest struct {
	lease.Write
	group     string
	call      call
	key       map[string]types.AttributeValue
	condition string
	update    string // "" is a deletion
	*expression
}

func request(group string, w lease.Write) (*writeRequest, error) {
	e := newExpression()
	r := &writeRequest{Write: w, group: group, key: itemKey(group, rangeKey(w.Item.Key)), expression: e}
	r.call = call{class: writes, action: "UpdateItem", doing: fmt.Sprintf("%s %s of group %s", w.Op, rangeKey(w.Item.Key), group)}
	if w.Item.Key.Kind == lease.KindWorker {
		r.call.class = urgent
	}
	if err := errors.Join(checkText(group), checkText(rangeKey(w.Item.Key)), checkText(w.Owner)); err != nil {
		return nil, err
	}
	r.condition = condition(w, e)
	if w.Op == lease.Delete {
		r.call.action = "DeleteItem"
		return r, nil
	}
	var set, remove []string
	attributes := w.Item.Attributes()
	for _, name := range lease.AttributeNames(w.Op, w.Item.Key.Kind) {
		v, there := attributes[name]
		if !there {
			remove = append(remove, e.name(name))
			continue
		}
		encoded, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		set = append(set, e.name(name)+" = "+e.value(encoded))
	}
	r.update = "SET " + strings.Join(set, ", ")
	if len(remove) > 0 {
		r.update += " REMOVE " + strings.Join(remove, ", ")
	}
	return r, nil
}

// condition says in DynamoDB's words what lease.Write.Applies says.
func condition(w lease.Write, e *expression) string {
	// Zeros and empty texts are kept as absent attributes.
	number := func(name string, n int64) string {
		return e.name(name) + " = " + e.value(&types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)})
	}
	absent := func(name string) string { return "attribute_not_exists(" + e.name(name) + ")" }
	switch w.Op {
	case lease.Create:
		return absent(attrItem)
	case lease.SetHold:
		version := lease.AttributeNames(lease.SetHold, lease.KindLease)[0]
		if before := w.Item.Lease.Hold.Version - 1; before > 0 {
			return number(version, before)
		}
		return "attribute_exists(" + e.name(attrItem) + ") AND " + absent(version)
	}
	stands := number(lease.CounterName(w.Item.Key.Kind), w.Counter)
	switch {
	case w.Item.Key.Kind != lease.KindLease:
		return stands
	case w.Owner == "":
		return stands + " AND " + absent(lease.OwnerName())
	}
	return stands + " AND " + e.name(lease.OwnerName()) + " = " + e.value(text(w.Owner))
}

// write makes the call. Its item is as written.
func (s *Store) write(ctx context.Context, r *writeRequest) (lease.Item, error) {
	var written map[string]types.AttributeValue
	err := s.do(ctx, r.call, func(ctx context.Context, client *dynamodb.Client) error {
		if r.Op == lease.Delete {
			_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &s.cfg.Table, Key: r.key, ConditionExpression: &r.condition,
				ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values,
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			return err
		}
		out, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &s.cfg.Table, Key: r.key, ConditionExpression: &r.condition, UpdateExpression: &r.update,
			ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values,
			ReturnValues:                        types.ReturnValueAllNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err == nil {
			written = out.Attributes
		}
		return err
	})
	if err != nil || r.Op == lease.Delete {
		return lease.Item{}, err
	}
	item, err := decode(written)
	return item, s.explain(r.call, err)
}

// standing is the item that refused a write. An absent one, and one that the server keeps to itself, look the same:
// a consistent read tells.
func (s *Store) standing(ctx context.Context, r *writeRequest, refused *types.ConditionalCheckFailedException) (lease.Item, bool, error) {
	if len(refused.Item) > 0 {
		item, err := decode(refused.Item)
		return item, true, s.explain(r.call, err)
	}
	item, err := s.get(ctx, r.group, r.Item.Key, r.call.class)
	if errors.Is(err, lease.ErrNotFound) {
		return lease.Item{}, false, nil
	}
	return item, true, err
}
