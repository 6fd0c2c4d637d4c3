package dynamodb

import (
	"strings"
)

// expr is a condition, or an operand of one.
type expr struct {
	op   string // and, or, not, a comparator, between, a function's name; name or value for an operand
	args []expr
	name string // of an attribute
	val  value
}

// parser reads the expressions of one request, and notes which placeholders they use.
type parser struct {
	names  map[string]string
	values map[string]value
	used   map[string]bool

	text   string
	tokens []string
	err    error // the first one
}

func newParser(names map[string]string, values map[string]value) *parser {
	return &parser{names: names, values: values, used: map[string]bool{}}
}

// unused returns an error if the request has placeholders that no expression used.
func (p *parser) unused() error {
	for name := range p.names {
		if !p.used[name] {
			return invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", name)
		}
	}
	for name := range p.values {
		if !p.used[name] {
			return invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", name)
		}
	}
	return nil
}

func (p *parser) begin(text string) {
	p.text = text
	p.tokens, p.err = lex(text)
	if p.err == nil && len(p.tokens) == 0 {
		p.fail(invalid("Invalid expression: The expression can not be empty;"))
	}
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.tokens = nil
}

// peek is the next token, "" at the end. Keywords are compared in upper case.
func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	token := p.peek()
	if token != "" {
		p.tokens = p.tokens[1:]
	}
	return token
}

// take takes the next token if it is this keyword or sign.
func (p *parser) take(want string) bool {
	if !strings.EqualFold(p.peek(), want) || want == "" {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(want string) {
	if got := p.peek(); !p.take(want) {
		p.fail(invalid("Invalid expression: Syntax error; token: %q, want %q, in: %s", got, want, p.text))
	}
}

// condition parses a whole condition; the empty text is none.
func (p *parser) condition(text *string) (*expr, error) {
	if text == nil {
		return nil, nil
	}
	p.begin(*text)
	e := p.or()
	if token := p.peek(); token != "" {
		p.fail(invalid("Invalid expression: Syntax error; token: %q, in: %s", token, p.text))
	}
	return &e, p.err
}

func (p *parser) or() expr {
	e := p.and()
	for p.take("OR") {
		e = expr{op: "or", args: []expr{e, p.and()}}
	}
	return e
}

func (p *parser) and() expr {
	e := p.not()
	for p.take("AND") {
		e = expr{op: "and", args: []expr{e, p.not()}}
	}
	return e
}

func (p *parser) not() expr {
	if p.take("NOT") {
		return expr{op: "not", args: []expr{p.not()}}
	}
	return p.primary()
}

func (p *parser) primary() expr {
	if p.take("(") {
		e := p.or()
		p.expect(")")
		return e
	}
	switch word := p.peek(); word {
	case "attribute_exists", "attribute_not_exists", "begins_with":
		p.next()
		return p.function(word)
	}
	left := p.operand()
	switch op := p.next(); {
	case op == "=" || op == "<>":
		return p.distinct(expr{op: op, args: []expr{left, p.operand()}})
	case op == "<" || op == "<=" || op == ">" || op == ">=":
		e := p.distinct(expr{op: op, args: []expr{left, p.operand()}})
		p.wantOrdered(op, e.args...)
		return e
	case strings.EqualFold(op, "BETWEEN"):
		low := p.operand()
		p.expect("AND")
		e := p.distinct(expr{op: "between", args: []expr{left, low, p.operand()}})
		p.wantOrdered(op, e.args...)
		if low, high := e.args[1], e.args[2]; p.err == nil && low.op == "value" && high.op == "value" {
			if low.val.kind != high.val.kind || low.val.compare(high.val) > 0 {
				p.fail(invalid("Invalid expression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound"))
			}
		}
		return e
	case strings.EqualFold(op, "IN"):
		p.fail(unsupported("IN: %s", p.text))
	default:
		p.fail(invalid("Invalid expression: Syntax error; token: %q, in: %s", op, p.text))
	}
	return expr{}
}

func (p *parser) function(name string) expr {
	e := expr{op: name}
	p.expect("(")
	for more := true; more && p.err == nil; more = p.take(",") {
		e.args = append(e.args, p.operand())
	}
	p.expect(")")
	want := 1
	if name == "begins_with" {
		want = 2
	}
	switch {
	case p.err != nil:
	case len(e.args) != want:
		p.fail(invalid("Invalid expression: Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(e.args)))
	case want == 1 && e.args[0].op != "name":
		p.fail(invalid("Invalid expression: Operator or function requires a document path; operator or function: %s", name))
	case want == 2:
		for _, arg := range e.args {
			if arg.op == "value" && arg.val.kind != "S" && arg.val.kind != "B" {
				p.fail(invalid("Invalid expression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: %s", arg.val.kind))
			}
		}
		return p.distinct(e)
	}
	return e
}

// operand parses #name or :value.
func (p *parser) operand() expr {
	token := p.next()
	switch {
	case strings.HasPrefix(token, "#"):
		name, ok := p.names[token]
		if !ok {
			p.fail(invalid("Invalid expression: An expression attribute name used in the document path is not defined; attribute name: %s", token))
		}
		p.used[token] = true
		return expr{op: "name", name: name}
	case strings.HasPrefix(token, ":"):
		v, ok := p.values[token]
		if !ok {
			p.fail(invalid("Invalid expression: An expression attribute value used in expression is not defined; attribute value: %s", token))
		}
		p.used[token] = true
		return expr{op: "value", val: v, name: token}
	case token == "" || strings.Contains("=<>(),", token):
		p.fail(invalid("Invalid expression: Syntax error; token: %q, in: %s", token, p.text))
	case p.err == nil:
		p.fail(unsupported("%q in an expression (attributes stand as #name): %s", token, p.text))
	}
	return expr{}
}

// distinct refuses operands that are all the same: the service takes them for a mistake.
func (p *parser) distinct(e expr) expr {
	if first := e.args[0]; p.err == nil {
		for _, other := range e.args[1:] {
			if first.op == other.op && first.name == other.name {
				p.fail(invalid("Invalid expression: The first operand must be distinct from the remaining operands for this operator or function; operator: %s", e.op))
			}
		}
	}
	return e
}

func (p *parser) wantOrdered(op string, args ...expr) {
	for _, arg := range args {
		if p.err == nil && arg.op == "value" && !arg.val.ordered() {
			p.fail(invalid("Invalid expression: Incorrect operand type for operator or function; operator: %s, operand type: %s", op, arg.val.kind))
		}
	}
}

// holds says whether a condition holds for an item; nil is an absent one.
func (e *expr) holds(it item) bool {
	switch e.op {
	case "and":
		return e.args[0].holds(it) && e.args[1].holds(it)
	case "or":
		return e.args[0].holds(it) || e.args[1].holds(it)
	case "not":
		return !e.args[0].holds(it)
	}
	first, there := e.args[0].of(it)
	switch e.op {
	case "attribute_exists":
		return there
	case "attribute_not_exists":
		return !there
	}
	second, also := e.args[1].of(it)
	same := there && also && first.kind == second.kind
	switch e.op {
	case "=":
		return same && first.equal(second)
	case "<>":
		return there != also || there && !first.equal(second)
	}
	if !same || !first.ordered() {
		return false
	}
	order := first.compare(second)
	switch e.op {
	case "begins_with":
		return first.kind != "N" && strings.HasPrefix(first.text, second.text)
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	third, ok := e.args[2].of(it) // between
	return ok && third.kind == first.kind && order >= 0 && first.compare(third) <= 0
}

// of is an operand's value in an item.
func (e *expr) of(it item) (value, bool) {
	if e.op == "value" {
		return e.val, true
	}
	v, ok := it[e.name]
	return v, ok
}
