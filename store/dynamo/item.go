package dynamo

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
)

// Range keys. Those of leases and workers are lease.Key's own; the control item stands beside the
// workers, so that one Query reads both. (As "control" it would have all the leases between it and them.)
const (
	controlItem  = "workers"
	memberPrefix = "worker"
)

func rangeKey(k lease.Key) string {
	if k.Kind == lease.KindControl {
		return controlItem
	}
	return k.String()
}

func parseRangeKey(s string) (lease.Key, error) {
	if s == controlItem {
		return lease.ControlKey(), nil
	}
	key, err := lease.ParseKey(s)
	if err == nil && key.Kind == lease.KindControl {
		err = fmt.Errorf("item key %q: in this table the control item is %q", s, controlItem)
	}
	return key, err
}

// encode returns an attribute's value as DynamoDB keeps it.
func encode(v any) (types.AttributeValue, error) {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}, checkText(v)
	case lease.Number:
		return &types.AttributeValueMemberN{Value: string(v)}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case []string:
		for _, s := range v {
			if err := checkText(s); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberSS{Value: v}, nil
	}
	return nil, fmt.Errorf("a %T cannot be stored", v)
}

// checkText refuses what would come back as another text.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%q is no UTF-8, and cannot be stored", s)
	}
	return nil
}

// decode reads an item as the table holds it. Its error is an *lease.ItemError; then the item has its key
// alone, if that can be read.
func decode(raw map[string]types.AttributeValue) (lease.Item, error) {
	attributes := make(lease.Attributes, len(raw))
	for name, v := range raw {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			attributes[name] = v.Value
		case *types.AttributeValueMemberN:
			attributes[name] = lease.Number(v.Value)
		case *types.AttributeValueMemberBOOL:
			attributes[name] = v.Value
		case *types.AttributeValueMemberSS:
			attributes[name] = v.Value
		default:
			attributes[name] = v // not one that leat has written
		}
	}
	stands, _ := attributes[attrItem].(string)
	key, err := parseRangeKey(stands)
	if err != nil {
		return lease.Item{}, &lease.ItemError{Key: stands, Err: err}
	}
	item, err := lease.DecodeItem(key, attributes)
	if err != nil {
		return lease.Item{Key: key}, &lease.ItemError{Key: stands, Err: err}
	}
	return item, nil
}

// expression collects the placeholders of an expression.
type expression struct {
	names  map[string]string
	values map[string]types.AttributeValue
}

func newExpression() *expression {
	return &expression{names: map[string]string{}, values: map[string]types.AttributeValue{}}
}

func (e *expression) name(attribute string) string {
	placeholder := "#" + strconv.Itoa(len(e.names))
	e.names[placeholder] = attribute
	return placeholder
}

func (e *expression) value(v types.AttributeValue) string {
	placeholder := ":" + strconv.Itoa(len(e.values))
	e.values[placeholder] = v
	return placeholder
}
