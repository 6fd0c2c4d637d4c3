package dynamodb

import (
	"strings"
)

// expr is a condition, or an operand of one.
type expr struct {
	op       string // and, or, not, a comparator, between, a function's name; name or value for an operand
	args     []expr
	name     string // of an attribute
	val      value
	enclosed bool // in parentheses
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
		if e.enclosed {
			p.fail(invalid("Invalid expression: The expression has redundant parentheses;"))
		}
		e.enclosed = true
		return e
	}
	switch word := p.peek(); word {
	case "attribute_exists", "attribute_not_exists", "begins_with":
		p.next()
		return p.function(word)
	}
	e := expr{args: []expr{p.operand()}}
	switch e.op = strings.ToLower(p.next()); e.op {
	case "=", "<>", "<", "<=", ">", ">=":
		e.args = append(e.args, p.operand())
	case "between":
		e.args = append(e.args, p.operand())
		p.expect("AND")
		e.args = append(e.args, p.operand())
	case "in":
		p.fail(unsupported("IN: %s", p.text))
	default:
		p.fail(invalid("Invalid expression: Syntax error; token: %q, in: %s", e.op, p.text))
	}
	return p.checked(e)
}

// checked returns a comparison whose operands go together.
func (p *parser) checked(e expr) expr {
	if p.err != nil {
		return e
	}
	for i, arg := range e.args {
		switch {
		case (i == 0) != (arg.op == "name"):
			p.fail(unsupported("comparisons but of #name with :value: %s", p.text))
		case i == 0 || e.op == "=" || e.op == "<>":
		case !arg.val.ordered() || e.op == "begins_with" && arg.val.kind == "N":
			p.fail(invalid("Invalid expression: Incorrect operand type for operator or function; operator or function: %s, operand type: %s", e.op, arg.val.kind))
		case i == 2 && (arg.val.kind != e.args[1].val.kind || arg.val.compare(e.args[1].val) < 0):
			p.fail(invalid("Invalid expression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound"))
		}
	}
	return e
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
	case want == 2:
		return p.checked(e)
	case e.args[0].op != "name":
		p.fail(invalid("Invalid expression: Operator or function requires a document path; operator or function: %s", name))
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
		return expr{op: "value", val: v}
	case token == "" || strings.Contains("=<>(),", token):
		p.fail(invalid("Invalid expression: Syntax error; token: %q, in: %s", token, p.text))
	case p.err == nil:
		p.fail(unsupported("%q in an expression (attributes stand as #name): %s", token, p.text))
	}
	return expr{}
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
	second := e.args[1].val
	switch e.op {
	case "=":
		return there && first.equal(second)
	case "<>":
		return !there || !first.equal(second)
	case "begins_with":
		return first.kind == second.kind && strings.HasPrefix(first.text, second.text)
	}
	if first.kind != second.kind {
		return false
	}
	order := first.compare(second)
	switch e.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return order >= 0 && first.compare(e.args[2].val) <= 0 // between
}

// of is an operand's value in an item.
func (e *expr) of(it item) (value, bool) {
	if e.op == "value" {
		return e.val, true
	}
	v, ok := it[e.name]
	return v, ok
}
