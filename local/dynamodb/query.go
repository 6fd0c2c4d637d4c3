package dynamodb

import (
	"slices"
)

type queryRequest struct {
	TableName              string
	KeyConditionExpression *string
	placeholders
	ScanIndexForward       *bool
	Limit                  *int
	ExclusiveStartKey      item
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

type scanRequest struct {
	TableName              string
	Limit                  *int
	ExclusiveStartKey      item
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

// page is the answer of a Query or a Scan.
type page struct {
	Items            []item
	Count            int
	ScannedCount     int
	LastEvaluatedKey item      `json:",omitempty"`
	ConsumedCapacity *capacity `json:",omitempty"`
}

func (s *Server) query(c *call, r *queryRequest) (any, error) {
	if r.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	p := newParser(r.ExpressionAttributeNames, r.ExpressionAttributeValues)
	condition, err := p.condition(r.KeyConditionExpression)
	if err == nil {
		err = p.unused()
	}
	if err != nil {
		return nil, err
	}
	t, err := s.active(c, r.TableName)
	if err != nil {
		return nil, err
	}
	hash, within, err := t.keyCondition(condition)
	if err != nil {
		return nil, err
	}
	first, _ := t.items.from(key{hash: hash})
	last := first
	for last < len(t.items) && t.items[last].key.hash == hash {
		last++
	}
	inside := func(k key) bool {
		return k.hash == hash && (within == nil || within.holds(item{t.sort: {kind: "S", text: k.sort}}))
	}
	var chosen rows
	for _, row := range t.items[first:last] {
		if inside(row.key) {
			chosen = append(chosen, row)
		}
	}
	backwards := r.ScanIndexForward != nil && !*r.ScanIndexForward
	if backwards {
		slices.Reverse(chosen)
	}
	if r.ExclusiveStartKey != nil {
		start, err := t.startKey(r.ExclusiveStartKey)
		if err != nil {
			return nil, err
		}
		if !inside(start) {
			return nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
		}
		chosen = after(chosen, start, backwards)
	}
	return s.page(c, t, chosen, r.Limit, r.ConsistentRead, r.ReturnConsumedCapacity)
}

func (s *Server) scan(c *call, r *scanRequest) (any, error) {
	t, err := s.active(c, r.TableName)
	if err != nil {
		return nil, err
	}
	chosen := t.items
	if r.ExclusiveStartKey != nil {
		start, err := t.startKey(r.ExclusiveStartKey)
		if err != nil {
			return nil, err
		}
		chosen = after(chosen, start, false)
	}
	return s.page(c, t, chosen, r.Limit, r.ConsistentRead, r.ReturnConsumedCapacity)
}

// startKey reads where a page begins.
func (t *table) startKey(it item) (key, error) {
	k, err := t.keyOf(it, false)
	if err != nil {
		return k, invalid("The provided starting key is invalid: %v", err)
	}
	return k, nil
}

// after are the rows behind a key, which need not be there.
func after(rs rows, start key, backwards bool) rows {
	sign := 1
	if backwards {
		sign = -1
	}
	return slices.DeleteFunc(slices.Clone(rs), func(r *row) bool { return sign*r.key.compare(start) <= 0 })
}

// page reads rows until the limit or the page's size is reached.
func (s *Server) page(c *call, t *table, rs rows, limit *int, consistent bool, capacity string) (any, error) {
	if limit != nil && *limit < 1 {
		return nil, invalid("Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", *limit)
	}
	p := page{Items: []item{}}
	when, size := c.when(consistent), 0
	for _, r := range rs {
		it := r.at(when)
		if it == nil {
			continue
		}
		p.Items = append(p.Items, it)
		size += it.size()
		if limit != nil && len(p.Items) == *limit || size >= s.config.PageBytes {
			p.LastEvaluatedKey = t.keyItem(r.key)
			break
		}
	}
	p.Count, p.ScannedCount = len(p.Items), len(p.Items)
	units := readUnits(size, consistent)
	c.used.Read += units
	p.ConsumedCapacity = tell(capacity, t.name, units)
	return p, nil
}

func (t *table) keyItem(k key) item {
	it := item{t.hash: {kind: "S", text: k.hash}}
	if t.sort != "" {
		it[t.sort] = value{kind: "S", text: k.sort}
	}
	return it
}

// keyCondition takes a key condition apart: hash key = :v, and at most one condition on the range key.
func (t *table) keyCondition(e *expr) (hash string, within *expr, err error) {
	parts := []expr{*e}
	if e.op == "and" {
		parts = e.args
	}
	found := false
	for i := range parts {
		part := &parts[i]
		switch {
		case len(part.args) < 2 || part.op == "or" || part.op == "and" || part.op == "<>":
			return "", nil, invalid("Invalid operator used in KeyConditionExpression: %s", part.op)
		case part.args[1].val.kind != "S":
			return "", nil, invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		case part.args[1].val.text == "" && part.op != "begins_with":
			return "", nil, invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value.")
		case part.args[0].name == t.hash && part.op == "=" && !found:
			hash, found = part.args[1].val.text, true
		case part.args[0].name == t.sort && within == nil:
			within = part
		case part.args[0].name == t.hash:
			return "", nil, invalid("Query key condition not supported")
		default:
			return "", nil, invalid("Query condition missed key schema element: %s", t.hash)
		}
	}
	if !found {
		return "", nil, invalid("Query condition missed key schema element: %s", t.hash)
	}
	return hash, within, nil
}
