package dynamodb_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leatstream/leat/internal/node"
	"github.com/leatstream/leat/local/dynamodb"
)

var (
	diffSeed  = flag.Uint64("diff.seed", 0, "replays a comparison with dynalite; 0 is a new one")
	diffCalls = flag.Int("diff.calls", 2000, "random calls of the comparison with dynalite")
)

// TestLikeDynalite makes random calls to this server and to npm's dynalite. The answers are the same, but for the
// words of errors and where dynalite is not like the service: it takes nothing for a Query that finds nothing, and takes all
// Scans for eventually consistent ones.
func TestLikeDynalite(t *testing.T) {
	t.Parallel()
	peer := node.Start(t, node.Dynalite)
	seed := cmp.Or(*diffSeed, rand.Uint64())
	t.Logf("-diff.seed=%d -diff.calls=%d replays this", seed, *diffCalls)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	here := dynamodb.New(dynamodb.Config{NoItemOnFailure: true}).HTTPClient()
	for _, table := range []string{"pairs", "singles"} {
		keys := []any{map[string]string{"AttributeName": "group", "KeyType": "HASH"}, map[string]string{"AttributeName": "item", "KeyType": "RANGE"}}
		types := []any{map[string]string{"AttributeName": "group", "AttributeType": "S"}, map[string]string{"AttributeName": "item", "AttributeType": "S"}}
		if table == "singles" {
			keys, types = keys[:1], types[:1]
		}
		for _, c := range []doer{here, http.DefaultClient} {
			if _, refused := post(t, c, peer, "CreateTable", object{"TableName": table, "KeySchema": keys, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"}); refused != "" {
				t.Fatalf("CreateTable %s: %s", table, refused)
			}
			for {
				described, refused := post(t, c, peer, "DescribeTable", object{"TableName": table})
				if refused != "" {
					t.Fatalf("DescribeTable %s: %s", table, refused)
				}
				if described.(object)["Table"].(object)["TableStatus"] == "ACTIVE" {
					break
				}
			}
		}
	}
	outcomes := map[string]int{}
	for n := range *diffCalls {
		operation, request := g.call()
		ours, ourError := post(t, here, peer, operation, request)
		theirs, theirError := post(t, http.DefaultClient, peer, operation, request)
		kind, _, _ := strings.Cut(theirError, ":")
		outcomes[strings.TrimSpace(operation+" "+kind)]++
		if ourKind, _, _ := strings.Cut(ourError, ":"); ourKind != kind || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("call %d: %s %s\n  here:  %s %s\n  there: %s %s", n, operation, show(request), ourError, show(ours), theirError, show(theirs))
			if t.Failed() && n > 20 {
				return // what follows is of other items
			}
		}
	}
	t.Logf("outcomes: %v", outcomes)
}

type object = map[string]any

type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// post makes one call, and returns its answer, with sets sorted, or its error as "Type: message".
func post(t *testing.T, c doer, endpoint, operation string, request object) (answer any, refused string) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", dynamodb.TargetPrefix+operation)
	r.Header.Set("X-Amz-Date", "20260101T000000Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/x/aws4_request, SignedHeaders=host, Signature=x")
	response, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", operation, body, err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var decoded object
	if err := json.Unmarshal(body, &decoded); err != nil {
		t.Fatalf("%s: %v: %s", operation, err, body)
	}
	if response.StatusCode != http.StatusOK {
		_, kind, _ := strings.Cut(fmt.Sprint(decoded["__type"]), "#")
		return nil, fmt.Sprintf("%s: %v", kind, cmp.Or(decoded["message"], decoded["Message"]))
	}
	if operation == "Scan" {
		sortAll(decoded["Items"]) // the service's order of hash keys is its own
		delete(decoded, "ConsumedCapacity")
	}
	if decoded["ScannedCount"] == 0.0 {
		delete(decoded, "ConsumedCapacity")
	}
	return sortSets(decoded), ""
}

func sortAll(list any) {
	if l, ok := list.([]any); ok {
		slices.SortFunc(l, func(a, b any) int { return strings.Compare(show(a), show(b)) })
	}
}

func sortSets(v any) any {
	switch v := v.(type) {
	case object:
		for name, member := range v {
			if name == "SS" || name == "NS" || name == "BS" {
				sortAll(member)
			}
			sortSets(member)
		}
	case []any:
		for _, e := range v {
			sortSets(e)
		}
	}
	return v
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// generator makes requests: most are in order, some are not.
type generator struct {
	*rand.Rand
	names  map[string]string
	values object
}

func oneOf[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// rare is true once in a while, for what is out of order.
func (g *generator) rare() bool { return g.IntN(60) == 0 }

var (
	groups     = []string{"billing", "Billing", "b"}
	items      = []string{"lease/orders/s1", "lease/orders/s2", "lease/orders-eu/s1", "worker/anna", "worker/b", "workers", "é", "世"}
	attributes = []string{"leaseCounter", "leaseOwner", "checkpoint", "state", "x"}
)

func (g *generator) call() (operation string, request object) {
	g.names, g.values = map[string]string{}, object{}
	table := oneOf(g, "pairs", "pairs", "pairs", "singles")
	r := object{"TableName": table, "ReturnConsumedCapacity": "TOTAL"}
	if g.rare() {
		r["TableName"] = "nowhere"
	}
	operation = oneOf(g, "PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "GetItem", "DeleteItem", "Query", "Query", "Scan")
	switch operation {
	case "PutItem":
		it := g.key(table)
		for range g.IntN(4) {
			it[oneOf(g, attributes...)] = g.value(2)
		}
		r["Item"] = it
		g.condition(r)
		r["ReturnValues"] = oneOf(g, "NONE", "ALL_OLD")
	case "UpdateItem":
		r["Key"] = g.key(table)
		if g.IntN(20) > 0 {
			r["UpdateExpression"] = g.update()
		}
		g.condition(r)
		r["ReturnValues"] = oneOf(g, "NONE", "ALL_OLD", "ALL_NEW", "ALL_NEW")
	case "DeleteItem":
		r["Key"] = g.key(table)
		g.condition(r)
		r["ReturnValues"] = oneOf(g, "NONE", "ALL_OLD")
	case "GetItem":
		r["Key"] = g.key(table)
		r["ConsistentRead"] = g.IntN(2) == 0
	case "Query":
		g.query(table, r)
	case "Scan":
		r["ConsistentRead"] = g.IntN(2) == 0
	}
	if g.rare() && operation != "Scan" && operation != "GetItem" {
		if g.IntN(2) == 0 {
			g.names["#unused"] = "y"
		} else {
			g.values[":unused"] = g.value(0)
		}
	}
	if len(g.names) > 0 {
		r["ExpressionAttributeNames"] = g.names
	}
	if len(g.values) > 0 {
		r["ExpressionAttributeValues"] = g.values
	}
	return operation, r
}

func (g *generator) key(table string) object {
	key := object{"group": object{"S": oneOf(g, groups...)}, "item": object{"S": oneOf(g, items...)}}
	if table == "singles" {
		delete(key, "item")
	}
	if g.rare() {
		switch g.IntN(4) {
		case 0:
			delete(key, "group")
		case 1:
			key["group"] = object{"N": "1"}
		case 2:
			key["group"] = object{"S": ""}
		case 3:
			key["group"] = object{"S": strings.Repeat("x", 2049)}
		}
	}
	return key
}

func (g *generator) number() string {
	if g.rare() {
		return oneOf(g, "", "x", "1e", "--1", "1.2.3", "1e126", "-1e126", "1e-131", strings.Repeat("1", 39), "0x1", "NaN")
	}
	return oneOf(g, "0", "-0", "1", "2", "3", "07", "-1", "1.50", ".5", "5.", "1e3", "12E-1", "-0.001", "1e125", "1e-130", strings.Repeat("9", 38),
		"0."+strings.Repeat("0", 50)+"1", fmt.Sprint(g.Int64()), "100000000000000000000")
}

func (g *generator) text() string {
	return oneOf(g, "", "anna", "anna ", "Anna", "berta", "é", "世界", "<&>\"\\\n", "TRIM_HORIZON", strings.Repeat("long", 1+g.IntN(400)/390*g.IntN(600)))
}

func (g *generator) bytes() string { return oneOf(g, "", "AA==", "AAE=", "/////w==", "YW5uYQ==") }

func (g *generator) value(depth int) object {
	set := func(make func() string) []string {
		distinct := []string{}
		for range 1 + g.IntN(3) {
			if s := make(); !slices.Contains(distinct, s) {
				distinct = append(distinct, s)
			}
		}
		return distinct
	}
	if g.rare() {
		return oneOf(g, object{"SS": []string{}}, object{"SS": []string{"a", "a"}}, object{"NS": []string{"1", "1.0"}}, object{"NULL": false}, object{}, object{"S": "a", "N": "1"})
	}
	kinds := 8
	if depth > 0 {
		kinds = 10
	}
	switch g.IntN(kinds) {
	case 0, 1:
		return object{"S": g.text()}
	case 2:
		return object{"N": g.number()}
	case 3:
		return object{"B": g.bytes()}
	case 4:
		return object{"BOOL": g.IntN(2) == 0}
	case 5:
		return object{"NULL": true}
	case 6:
		return object{"SS": set(func() string { return oneOf(g, "a", "b", "c", "d") })}
	case 7:
		return oneOf(g, object{"NS": set(func() string { return oneOf(g, "1", "2", "3") })}, object{"BS": set(func() string { return oneOf(g, "AA==", "AAE=") })})
	case 8:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(depth-1))
		}
		return object{"L": list}
	}
	fields := object{}
	for range g.IntN(3) {
		fields[oneOf(g, attributes...)] = g.value(depth - 1)
	}
	return object{"M": fields}
}

func (g *generator) name() string {
	attribute := oneOf(g, append(attributes, "group", "item")...)
	placeholder := "#" + attribute
	g.names[placeholder] = attribute
	if g.rare() {
		return "#undefined"
	}
	return placeholder
}

// ordinary is a :value of a type that has an order. (The service refuses to compare others; dynalite does not.)
func (g *generator) ordinary() string {
	v := oneOf(g, object{"S": g.text()}, object{"N": g.number()}, object{"B": g.bytes()}, object{"N": oneOf(g, "1", "2", "3")})
	return g.literal(v)
}

func (g *generator) literal(v object) string {
	placeholder := fmt.Sprintf(":v%d", len(g.values))
	g.values[placeholder] = v
	if g.rare() {
		return ":undefined"
	}
	return placeholder
}

func (g *generator) condition(r object) {
	if g.IntN(3) > 0 {
		r["ConditionExpression"] = g.expression(2)
	}
}

func (g *generator) expression(depth int) string {
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			return g.expression(depth-1) + oneOf(g, " AND ", " and ") + g.expression(depth-1)
		case 1:
			return g.expression(depth-1) + " OR " + g.expression(depth-1)
		case 2:
			return "NOT " + g.expression(0)
		case 3:
			return "(" + g.expression(depth-1) + ")"
		}
	}
	if g.rare() {
		return oneOf(g, "", "(", "#x =", "= :v0", "#x #x", "attribute_exists(:v0)", "attribute_exists(#x, #x)", "begins_with(#x)", "AND", "1 = 1")
	}
	switch g.IntN(6) {
	case 0:
		return "attribute_exists(" + g.name() + ")"
	case 1:
		return "attribute_not_exists(" + g.name() + ")"
	case 2:
		v := oneOf(g, object{"S": oneOf(g, "", "a", "an", "anna")}, object{"B": g.bytes()})
		return "begins_with(" + g.name() + ", " + g.literal(v) + ")"
	case 3:
		return g.name() + oneOf(g, " = ", "<>", " <> ") + g.literal(g.value(0)) // dynalite takes no two maps or lists for equal
	case 4:
		return g.name() + " BETWEEN " + g.literal(object{"N": "1"}) + " AND " + g.literal(object{"N": oneOf(g, "2", "1e3", "1", "0")})
	}
	return g.name() + oneOf(g, " = ", "=", " < ", "<=", " > ", ">=", " <> ") + g.ordinary()
}

func (g *generator) update() string {
	if g.rare() {
		return oneOf(g, "", "SET", "SET #x", "REMOVE", "REMOVE :v0", "SET #x = :v0,", "FOO #x", "SET #x :v0")
	}
	target := func(taken map[string]bool) string {
		for {
			name := oneOf(g, attributes...)
			if g.IntN(300) == 0 {
				name = oneOf(g, "group", "item")
			}
			if !taken[name] || g.rare() {
				taken[name] = true
				g.names["#"+name] = name
				return "#" + name
			}
		}
	}
	taken := map[string]bool{}
	var set, remove []string
	for range g.IntN(3) {
		operand := g.literal(g.value(1))
		if g.IntN(10) == 0 {
			operand = g.name()
		}
		set = append(set, target(taken)+" = "+operand)
	}
	for range g.IntN(3) {
		remove = append(remove, target(taken))
	}
	var sections []string
	if len(set) > 0 {
		sections = append(sections, oneOf(g, "SET ", "set ")+strings.Join(set, ", "))
	}
	if len(remove) > 0 {
		sections = append(sections, "REMOVE "+strings.Join(remove, ","))
	}
	if g.IntN(2) == 0 {
		slices.Reverse(sections)
	}
	if len(sections) == 0 {
		return "REMOVE " + target(taken)
	}
	return strings.Join(sections, " ")
}

func (g *generator) query(table string, r object) {
	g.names["#g"] = "group"
	group := oneOf(g, groups...)
	condition := "#g = " + g.literal(object{"S": group})
	if table == "pairs" && g.IntN(4) > 0 {
		g.names["#i"] = "item"
		text := func() string {
			return g.literal(object{"S": oneOf(g, append(items, "lease/", "worker", "a", "zz")...)})
		}
		switch g.IntN(4) {
		case 0, 1:
			condition += " AND begins_with(#i, " + text() + ")"
		case 2:
			condition += " AND #i BETWEEN " + text() + " AND " + text()
		case 3:
			condition = "#i " + oneOf(g, "=", "<", "<=", ">", ">=") + " " + text() + " AND " + condition
		}
	}
	if g.rare() && r["TableName"] != "nowhere" { // which of the two errors comes first does not matter
		condition = oneOf(g, "", "#g", "#g <> :v0", "NOT #g = :v0", "#g = :v0 OR #g = :v0", "attribute_exists(#g)", "#g > :v0")
	}
	r["KeyConditionExpression"] = condition
	r["ConsistentRead"] = g.IntN(2) == 0
	r["ScanIndexForward"] = g.IntN(3) > 0
	if g.IntN(3) == 0 {
		r["Limit"] = g.IntN(4)
		if r["Limit"] == 0 && (r["TableName"] == "nowhere" || !g.rare()) {
			r["Limit"] = 9
		}
	}
	if table == "pairs" && g.IntN(6) == 0 {
		r["ExclusiveStartKey"] = object{"group": object{"S": group}, "item": object{"S": oneOf(g, items...)}}
	}
}
