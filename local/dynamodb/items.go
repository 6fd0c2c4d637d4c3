package dynamodb

import (
	"cmp"
	"slices"
	"time"
)

// condition are the members of every request that may have one.
type condition struct {
	ConditionExpression                 *string
	ReturnValuesOnConditionCheckFailure string
}

// placeholders are the members of every request that may have expressions.
type placeholders struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]value
}

// written is the answer of a write.
type written struct {
	Attributes       item      `json:",omitempty"`
	ConsumedCapacity *capacity `json:",omitempty"`
}

// write is what the three writing operations have in common.
type write struct {
	table string
	condition
	placeholders
	returns  string // ReturnValues
	capacity string // ReturnConsumedCapacity

	key   item
	whole bool // the key stands in an item with other attributes

	// change parses what is to be done.
	change func(*parser) (change, error)
}

// change is what a write does.
type change struct {
	apply   func(old item) (item, error) // no item is a deletion
	targets []string                     // attributes that must not be of the key
}

const maxItem = 400 << 10

func (s *Server) write(c *call, w write) (any, error) {
	p := newParser(w.ExpressionAttributeNames, w.ExpressionAttributeValues)
	change, err := w.change(p)
	if err != nil {
		return nil, err
	}
	condition, err := p.condition(w.ConditionExpression)
	if err != nil {
		return nil, err
	}
	if err := p.unused(); err != nil {
		return nil, err
	}
	t, err := s.active(c, w.table)
	if err != nil {
		return nil, err
	}
	k, err := t.keyOf(w.key, w.whole)
	if err != nil {
		return nil, err
	}
	for _, name := range change.targets {
		if slices.Contains(t.keys(), name) {
			return nil, invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)
		}
	}
	old := t.items.get(k)
	if condition != nil && !condition.holds(old) {
		c.used.Conditions++
		c.used.Write += writeUnits(old, nil)
		refused := conditionFailed()
		if w.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && !c.noItem {
			refused.item = old
		}
		return nil, refused
	}
	after, err := change.apply(old)
	if err != nil {
		return nil, err
	}
	if after.size() > maxItem {
		return nil, invalid("Item size has exceeded the maximum allowed size")
	}
	t.items.put(k, after, c.now, s.faults.oldest())
	units := writeUnits(old, after)
	c.used.Write += units
	answer := written{ConsumedCapacity: tell(w.capacity, w.table, units)}
	switch cmp.Or(w.returns, "NONE") {
	case "ALL_OLD":
		answer.Attributes = old
	case "ALL_NEW":
		answer.Attributes = after
	}
	return answer, nil
}

// returns checks ReturnValues.
func returns(asked string, known ...string) error {
	for _, k := range append(known, "", "NONE") {
		if asked == k {
			return nil
		}
	}
	return unsupported("ReturnValues %s for this operation", asked)
}

type putItemRequest struct {
	TableName string
	Item      item
	condition
	placeholders
	ReturnValues, ReturnConsumedCapacity string
}

func (s *Server) putItem(c *call, r *putItemRequest) (any, error) {
	if err := returns(r.ReturnValues, "ALL_OLD"); err != nil {
		return nil, err
	}
	return s.write(c, write{
		table: r.TableName, condition: r.condition, placeholders: r.placeholders, returns: r.ReturnValues, capacity: r.ReturnConsumedCapacity,
		key: r.Item, whole: true,
		change: func(*parser) (change, error) {
			return change{apply: func(item) (item, error) { return r.Item, nil }}, nil
		},
	})
}

type updateItemRequest struct {
	TableName        string
	Key              item
	UpdateExpression *string
	condition
	placeholders
	ReturnValues, ReturnConsumedCapacity string
}

func (s *Server) updateItem(c *call, r *updateItemRequest) (any, error) {
	if err := returns(r.ReturnValues, "ALL_OLD", "ALL_NEW"); err != nil {
		return nil, err
	}
	return s.write(c, write{
		table: r.TableName, condition: r.condition, placeholders: r.placeholders, returns: r.ReturnValues, capacity: r.ReturnConsumedCapacity,
		key: r.Key,
		change: func(p *parser) (change, error) {
			u, err := p.update(r.UpdateExpression)
			return change{targets: u.targets, apply: func(old item) (item, error) {
				if old == nil {
					old = r.Key
				}
				return u.apply(old)
			}}, err
		},
	})
}

type deleteItemRequest struct {
	TableName string
	Key       item
	condition
	placeholders
	ReturnValues, ReturnConsumedCapacity string
}

func (s *Server) deleteItem(c *call, r *deleteItemRequest) (any, error) {
	if err := returns(r.ReturnValues, "ALL_OLD"); err != nil {
		return nil, err
	}
	return s.write(c, write{
		table: r.TableName, condition: r.condition, placeholders: r.placeholders, returns: r.ReturnValues, capacity: r.ReturnConsumedCapacity,
		key: r.Key,
		change: func(*parser) (change, error) {
			return change{apply: func(item) (item, error) { return nil, nil }}, nil
		},
	})
}

type getItemRequest struct {
	TableName              string
	Key                    item
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

type gotItem struct {
	Item             item      `json:",omitempty"`
	ConsumedCapacity *capacity `json:",omitempty"`
}

func (s *Server) getItem(c *call, r *getItemRequest) (any, error) {
	t, err := s.active(c, r.TableName)
	if err != nil {
		return nil, err
	}
	k, err := t.keyOf(r.Key, false)
	if err != nil {
		return nil, err
	}
	var found item
	if i, there := t.items.from(k); there {
		found = t.items[i].at(c.when(r.ConsistentRead))
	}
	units := readUnits(found.size(), r.ConsistentRead)
	c.used.Read += units
	return gotItem{found, tell(r.ReturnConsumedCapacity, r.TableName, units)}, nil
}

// when is the time as of which a read sees the table.
func (c *call) when(consistent bool) time.Time {
	if consistent {
		return c.now
	}
	return c.asOf
}

// The longest keys (DynamoDB developer guide, "Constraints").
const (
	maxHash = 2048
	maxSort = 1024
)

// keyOf reads the key out of an item; whole says that the item may have more attributes than those.
func (t *table) keyOf(it item, whole bool) (key, error) {
	if !whole && len(it) != len(t.keys()) {
		return key{}, invalid("The number of conditions on the keys is invalid")
	}
	var parts [2]string
	for i, name := range t.keys() {
		v, ok := it[name]
		switch {
		case !ok && whole:
			return key{}, invalid("One or more parameter values were invalid: Missing the key %s in the item", name)
		case !ok:
			return key{}, invalid("The provided key element does not match the schema")
		case v.kind != "S":
			return key{}, invalid("One or more parameter values were invalid: Type mismatch for key %s expected: S actual: %s", name, v.kind)
		case v.text == "":
			return key{}, invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", name)
		case len(v.text) > []int{maxHash, maxSort}[i]:
			return key{}, invalid("One or more parameter values were invalid: Size of %s has exceeded the size limit", name)
		}
		parts[i] = v.text
	}
	return key{parts[0], parts[1]}, nil
}
