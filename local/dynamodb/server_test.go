package dynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/local/dynamodb"
)

// once is a client without retries.
func once(srv *dynamodb.Server) *sdk.Client {
	return sdk.NewFromConfig(srv.AWSConfig(), func(o *sdk.Options) { o.Retryer = aws.NopRetryer{} })
}

// withTable returns a client, and a server with the table "table", whose keys are group and item.
func withTable(t *testing.T, config dynamodb.Config) (*dynamodb.Server, *sdk.Client) {
	t.Helper()
	srv := dynamodb.New(config)
	client := once(srv)
	_, err := client.CreateTable(t.Context(), &sdk.CreateTableInput{
		TableName: aws.String("table"), BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("group"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("item"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("group"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("item"), AttributeType: types.ScalarAttributeTypeS},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return srv, client
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func key(item string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"group": s("g"), "item": s(item)}
}

func put(t *testing.T, client *sdk.Client, item, data string) {
	t.Helper()
	it := key(item)
	it["data"] = s(data)
	if _, err := client.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("table"), Item: it}); err != nil {
		t.Fatal(err)
	}
}

// get is an item's data, "" if it is absent.
func get(t *testing.T, client *sdk.Client, item string, consistent bool) string {
	t.Helper()
	out, err := client.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key(item), ConsistentRead: &consistent})
	if err != nil {
		t.Fatal(err)
	}
	if data, ok := out.Item["data"].(*types.AttributeValueMemberS); ok {
		return data.Value
	}
	return ""
}

// What the server does not know it refuses, by name.
func TestUnsupported(t *testing.T) {
	_, client := withTable(t, dynamodb.Config{})
	names := map[string]string{"#a": "a"}
	values := map[string]types.AttributeValue{":v": s("x")}
	update := func(expression string) error {
		_, err := client.UpdateItem(t.Context(), &sdk.UpdateItemInput{
			TableName: aws.String("table"), Key: key("a"), UpdateExpression: &expression, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
		return err
	}
	condition := func(expression string) error {
		_, err := client.DeleteItem(t.Context(), &sdk.DeleteItemInput{
			TableName: aws.String("table"), Key: key("a"), ConditionExpression: &expression, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
		return err
	}
	_, filter := client.Scan(t.Context(), &sdk.ScanInput{
		TableName: aws.String("table"), FilterExpression: aws.String("#a = :v"), ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	_, numeric := client.CreateTable(t.Context(), &sdk.CreateTableInput{
		TableName: aws.String("numeric"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("n"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("n"), AttributeType: types.ScalarAttributeTypeN}},
	})
	_, transaction := client.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{}})
	for part, err := range map[string]error{
		"ADD":                    update("ADD #a :v"),
		"DELETE":                 update("DELETE #a :v"),
		"'+'":                    update("SET #a = #a + :v"),
		`"if_not_exists"`:        update("SET #a = if_not_exists(#a, :v)"),
		"'.'":                    update("SET #a.b = :v"),
		`"plain" in an`:          update("SET plain = :v"),
		"IN":                     condition("#a IN (:v)"),
		`"size"`:                 condition("size(#a) = :v"),
		"comparisons but":        condition("#a = #a"),
		"of Scan":                filter,
		"keys of type N":         numeric,
		`TransactWriteItems" is`: transaction,
	} {
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "know") {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// Pages are parts of the whole, in order, whatever ends them.
func TestPages(t *testing.T) {
	_, client := withTable(t, dynamodb.Config{PageBytes: 60})
	var all []string
	for i := range 20 {
		name := fmt.Sprintf("k%02d", i)
		all = append(all, name)
		put(t, client, name, strings.Repeat("x", i))
	}
	for _, limit := range []int32{0, 1, 3, 100} {
		for _, forward := range []bool{true, false} {
			in := &sdk.QueryInput{
				TableName: aws.String("table"), KeyConditionExpression: aws.String("#g = :g"), ScanIndexForward: &forward,
				ExpressionAttributeNames:  map[string]string{"#g": "group"},
				ExpressionAttributeValues: map[string]types.AttributeValue{":g": s("g")},
			}
			if limit > 0 {
				in.Limit = &limit
			}
			var got []string
			pages := 0
			for p := sdk.NewQueryPaginator(client, in); p.HasMorePages(); pages++ {
				page, err := p.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if limit > 0 && len(page.Items) > int(limit) {
					t.Errorf("a page of %d items, limit %d", len(page.Items), limit)
				}
				for _, it := range page.Items {
					got = append(got, it["item"].(*types.AttributeValueMemberS).Value)
				}
			}
			if !forward {
				slices.Reverse(got)
			}
			if !slices.Equal(got, all) || pages < 7 {
				t.Errorf("limit %d, forward %t: %v in %d pages", limit, forward, got, pages)
			}
		}
	}
	scanned := 0
	for p := sdk.NewScanPaginator(client, &sdk.ScanInput{TableName: aws.String("table")}); p.HasMorePages(); {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		scanned += len(page.Items)
	}
	if scanned != len(all) {
		t.Errorf("a Scan in pages gave %d items of %d", scanned, len(all))
	}
}

// Units are counted in steps of 1 KB for writes and 4 KB for reads; the larger of the old and the new item counts.
func TestUsage(t *testing.T) {
	srv, client := withTable(t, dynamodb.Config{})
	const rest = 5 + 1 + 4 + 1 + 4 // group, g, item, a, data
	expect := func(what, operation string, read, write float64, call func()) {
		t.Helper()
		before := srv.Usage()[operation]
		call()
		if after := srv.Usage()[operation]; after.Calls != before.Calls+1 || after.Read-before.Read != read || after.Write-before.Write != write {
			t.Errorf("%s: %+v, then %+v, want %v read and %v write units", what, before, after, read, write)
		}
	}
	expect("1024 bytes", "PutItem", 0, 1, func() { put(t, client, "a", strings.Repeat("x", 1024-rest)) })
	expect("1025 bytes", "PutItem", 0, 2, func() { put(t, client, "a", strings.Repeat("x", 1025-rest)) })
	expect("less over more", "PutItem", 0, 2, func() { put(t, client, "a", "") })
	expect("nothing", "GetItem", 0.5, 0, func() { get(t, client, "b", false) })
	put(t, client, "a", strings.Repeat("x", 4096-rest))
	expect("4096 bytes", "GetItem", 1, 0, func() { get(t, client, "a", true) })
	put(t, client, "a", strings.Repeat("x", 4097-rest))
	expect("4097 bytes", "GetItem", 2, 0, func() { get(t, client, "a", true) })
	expect("4097 bytes, perhaps old", "GetItem", 1, 0, func() { get(t, client, "a", false) })
	expect("a failed condition", "DeleteItem", 0, 5, func() { refuse(t, client, "a") })
	if got := srv.Usage()["DeleteItem"].Conditions; got != 1 {
		t.Errorf("%d conditions failed", got)
	}
}

// refuse fails a condition, and returns the item that comes with that.
func refuse(t *testing.T, client *sdk.Client, item string) map[string]types.AttributeValue {
	t.Helper()
	_, err := client.DeleteItem(t.Context(), &sdk.DeleteItemInput{
		TableName: aws.String("table"), Key: key(item), ConditionExpression: aws.String("attribute_exists(#no)"),
		ExpressionAttributeNames:            map[string]string{"#no": "no"},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		t.Fatalf("%v, want a failed condition", err)
	}
	return refused.Item
}

func TestItemOnFailure(t *testing.T) {
	_, client := withTable(t, dynamodb.Config{})
	put(t, client, "a", "x")
	if it := refuse(t, client, "a"); len(it) != 3 {
		t.Errorf("the failed condition came with %v", it)
	}
	if it := refuse(t, client, "b"); it != nil {
		t.Errorf("an absent item is %v", it)
	}
	_, terse := withTable(t, dynamodb.Config{NoItemOnFailure: true})
	put(t, terse, "a", "x")
	if it := refuse(t, terse, "a"); it != nil {
		t.Errorf("NoItemOnFailure: %v", it)
	}
}

// A table that is being made or deleted is described, and holds nothing; then it is there, or is not.
func TestTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := withTable(t, dynamodb.Config{Transition: 10 * time.Second})
		state := func() string {
			out, err := client.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String("table")})
			if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
				return "missing"
			} else if err != nil {
				t.Fatal(err)
			}
			return string(out.Table.TableStatus)
		}
		_, err := client.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key("a")})
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing || state() != "CREATING" {
			t.Errorf("%s, and GetItem: %v", state(), err)
		}
		time.Sleep(10 * time.Second)
		put(t, client, "a", "x")
		if _, err := client.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String("table")}); err != nil || state() != "DELETING" {
			t.Errorf("%s, %v", state(), err)
		}
		time.Sleep(10 * time.Second)
		if state() != "missing" {
			t.Error(state())
		}
	})
}

// A restored table has the items of its backup and another id.
func TestRestore(t *testing.T) {
	srv, client := withTable(t, dynamodb.Config{})
	id := func() string {
		out, err := client.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String("table")})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Table.TableId
	}
	put(t, client, "a", "old")
	before := id()
	b, err := srv.Backup("table")
	if err != nil {
		t.Fatal(err)
	}
	put(t, client, "a", "new")
	put(t, client, "b", "new")
	for range 2 { // a backup is not used up
		srv.Restore(b)
		if a, b := get(t, client, "a", true), get(t, client, "b", true); a != "old" || b != "" || id() == before {
			t.Errorf("a is %q, b is %q, the id %s, was %s", a, b, id(), before)
		}
		put(t, client, "a", "newer")
	}
	if _, err := srv.Backup("nowhere"); err == nil {
		t.Error("a backup of a table that is not there")
	}
}

// What each fault does, to the call and to the table.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		fault dynamodb.Fault
		says  string // of the error
		takes time.Duration
		now   string // what stands after the call
		later string // and a minute later
	}{
		"throttle":     {fault: dynamodb.Fault{Kind: dynamodb.Throttle}, says: "ProvisionedThroughputExceededException"},
		"error":        {fault: dynamodb.Fault{Kind: dynamodb.Error}, says: "InternalServerError"},
		"deny":         {fault: dynamodb.Fault{Kind: dynamodb.Deny}, says: "not authorized to perform: dynamodb:PutItem"},
		"delay":        {fault: dynamodb.Fault{Kind: dynamodb.Delay, Delay: time.Second}, takes: time.Second, now: "x", later: "x"},
		"drop request": {fault: dynamodb.Fault{Kind: dynamodb.DropRequest}, says: "EOF"},
		"drop answer":  {fault: dynamodb.Fault{Kind: dynamodb.DropAnswer}, says: "EOF", now: "x", later: "x"},
		"late":         {fault: dynamodb.Fault{Kind: dynamodb.Late, Delay: time.Second}, says: "EOF", later: "x"},
		"hang":         {fault: dynamodb.Fault{Kind: dynamodb.Hang}, says: "deadline exceeded", takes: 10 * time.Second},
		"elsewhere":    {fault: dynamodb.Fault{Kind: dynamodb.Error, Op: "UpdateItem"}, now: "x", later: "x"},
		"nothing":      {now: "x", later: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := withTable(t, dynamodb.Config{})
				test.fault.Share, test.fault.Count = 1, 1
				srv.SetFaults(1, test.fault)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begin := time.Now()
				it := key("a")
				it["data"] = s("x")
				_, err := client.PutItem(ctx, &sdk.PutItemInput{TableName: aws.String("table"), Item: it})
				if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) || time.Since(begin) != test.takes {
					t.Errorf("after %v: %v", time.Since(begin), err)
				}
				if now := get(t, client, "a", true); now != test.now {
					t.Errorf("then %q stands", now)
				}
				time.Sleep(time.Minute)
				if later := get(t, client, "a", true); later != test.later {
					t.Errorf("later %q stands", later)
				}
			})
		})
	}
}

// Reads that may be stale are, by as much as the fault says; others never.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := withTable(t, dynamodb.Config{})
		put(t, client, "a", "before")
		srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.Stale, Share: 1, Delay: 3 * time.Second})
		for i := range 10 {
			time.Sleep(time.Second)
			put(t, client, "a", fmt.Sprint(i))
			put(t, client, fmt.Sprint("new-", i), "x")
			want := "before"
			if i >= 3 {
				want = fmt.Sprint(i - 3)
			}
			if now, old := get(t, client, "a", true), get(t, client, "a", false); now != fmt.Sprint(i) || old != want {
				t.Errorf("second %d: %q now, %q perhaps old, want %q", i, now, old, want)
			}
			out, err := client.Scan(t.Context(), &sdk.ScanInput{TableName: aws.String("table")})
			if err != nil || len(out.Items) != max(1, i-1) {
				t.Errorf("second %d: a Scan shows %d items (%v)", i, len(out.Items), err)
			}
		}
		if _, err := client.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String("table"), Key: key("a")}); err != nil {
			t.Fatal(err)
		}
		if now, old := get(t, client, "a", true), get(t, client, "a", false); now != "" || old == "" {
			t.Errorf("deleted: %q now, %q perhaps old", now, old)
		}
		time.Sleep(3 * time.Second)
		if old := get(t, client, "a", false); old != "" {
			t.Errorf("deleted long ago: %q", old)
		}
	})
}

// Which calls a fault hits follows from the seed.
func TestFaultsRepeat(t *testing.T) {
	hits := func(seed uint64) (pattern string) {
		srv, client := withTable(t, dynamodb.Config{})
		srv.SetFaults(seed, dynamodb.Fault{Kind: dynamodb.Error, Share: 0.3})
		for range 200 {
			_, err := client.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("table"), Key: key("a")})
			pattern += map[bool]string{true: ".", false: "x"}[err == nil]
		}
		return pattern
	}
	first := hits(1)
	if n := strings.Count(first, "x"); n < 40 || n > 80 || first != hits(1) || first == hits(2) {
		t.Errorf("%d of 200 with a share of 0.3; again %t; another seed %t", n, first == hits(1), first == hits(2))
	}
}

// Over a port it is the same server.
func TestServeHTTP(t *testing.T) {
	srv, client := withTable(t, dynamodb.Config{})
	put(t, client, "a", "x")
	port := httptest.NewServer(srv)
	defer port.Close()
	cfg := srv.AWSConfig()
	cfg.HTTPClient = nil
	over := sdk.NewFromConfig(cfg, func(o *sdk.Options) { o.BaseEndpoint, o.Retryer = &port.URL, aws.NopRetryer{} })
	if got := get(t, over, "a", true); got != "x" {
		t.Errorf("a is %q", got)
	}
	srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.DropAnswer, Op: "PutItem", Share: 1})
	it := key("b")
	it["data"] = s("y")
	if _, err := over.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("table"), Item: it}); err == nil {
		t.Error("the answer was not dropped")
	}
	if got := get(t, over, "b", true); got != "y" {
		t.Errorf("b is %q", got)
	}
	for _, test := range []struct {
		target, body string
		status       int
	}{
		{"DynamoDB_20120810.Nothing", "{}", 400},
		{"Kinesis_20131202.ListStreams", "{}", 400},
		{"DynamoDB_20120810.GetItem", "{", 400},
		{"DynamoDB_20120810.GetItem", strings.Repeat(" ", 5<<20), 413},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, port.URL, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Amz-Target", test.target)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != test.status {
			t.Errorf("%s %.10s: %d, want %d", test.target, test.body, answer.StatusCode, test.status)
		}
	}
}
