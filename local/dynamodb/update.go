package dynamodb

import (
	"slices"
	"strings"
)

// update is a parsed update expression.
type update struct {
	targets []string        // the attributes that it changes
	set     map[string]expr // operand by attribute
}

// update parses "SET #a = :b, ... REMOVE #c, ...". Each section may come once, in any order.
func (p *parser) update(text *string) (*update, error) {
	u := &update{set: map[string]expr{}}
	if text == nil {
		return u, nil
	}
	p.begin(*text)
	seen := map[string]bool{}
	for p.err == nil && p.peek() != "" {
		section := strings.ToUpper(p.next())
		if seen[section] {
			p.fail(invalid("Invalid UpdateExpression: The %q section can only be used once in an update expression;", section))
		}
		seen[section] = true
		for more := true; more && p.err == nil; more = p.take(",") {
			switch section {
			case "SET":
				name := p.target(u)
				p.expect("=")
				u.set[name] = p.operand()
			case "REMOVE":
				p.target(u)
			case "ADD", "DELETE":
				p.fail(unsupported("%s in an update expression: %s", section, p.text))
			default:
				p.fail(invalid("Invalid UpdateExpression: Syntax error; token: %q, in: %s", section, p.text))
			}
		}
	}
	return u, p.err
}

// target is the attribute that a section changes.
func (p *parser) target(u *update) string {
	e := p.operand()
	if p.err == nil && e.op != "name" {
		p.fail(invalid("Invalid UpdateExpression: Syntax error; want an attribute, in: %s", p.text))
	}
	if slices.Contains(u.targets, e.name) {
		p.fail(invalid("Invalid UpdateExpression: Two document paths overlap with each other; path: [%s]", e.name))
	}
	u.targets = append(u.targets, e.name)
	return e.name
}

// apply returns the item after the update. Operands are those of the item as it was.
func (u *update) apply(old item) (item, error) {
	out := make(item, len(old)+len(u.set))
	for name, v := range old {
		if !slices.Contains(u.targets, name) {
			out[name] = v
		}
	}
	for name, e := range u.set {
		v, ok := e.of(old)
		if !ok {
			return nil, invalid("The provided expression refers to an attribute that does not exist in the item")
		}
		out[name] = v
	}
	return out, nil
}
