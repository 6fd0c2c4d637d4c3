package dynamo_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local/dynamodb"
	"github.com/leatstream/leat/store/dynamo"
)

// on returns a Store on a server, and the server's configuration.
func on(srv *dynamodb.Server, change ...func(*dynamo.Config)) *dynamo.Store {
	cfg := srv.AWSConfig()
	config := dynamo.Config{AWS: &cfg}
	for _, f := range change {
		f(&config)
	}
	return dynamo.New(config)
}

// opened returns a Store on a new table.
func opened(t *testing.T, srv *dynamodb.Server, change ...func(*dynamo.Config)) *dynamo.Store {
	t.Helper()
	s := on(srv, change...)
	if _, err := s.Open(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return s
}

// A table takes the service some seconds to make: Open waits for it, and no longer than it must.
func TestOpenCreates(t *testing.T) {
	for name, test := range map[string]struct {
		create dynamo.Create
		want   string
	}{
		"zero": {want: "PAY_PER_REQUEST 0 0 protected=false pitr=DISABLED tags="},
		"all": {
			create: dynamo.Create{
				ReadCapacity: 7, WriteCapacity: 3, Tags: map[string]string{"team": "a", "app": "b"},
				PointInTimeRecovery: true, DeletionProtection: true,
			},
			want: "PROVISIONED 7 3 protected=true pitr=ENABLED tags=app:b,team:a,",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := dynamodb.New(dynamodb.Config{Transition: 10 * time.Second})
				begin := time.Now()
				info, err := on(srv, func(c *dynamo.Config) { c.Create = test.create }).Open(t.Context(), true)
				if took := time.Since(begin); err != nil || info.ID == "" || took < 10*time.Second || took > 10*time.Second+500*time.Millisecond {
					t.Fatalf("Open after %v: %+v, %v", took, info, err)
				}
				if got := properties(t, srv, dynamo.DefaultTable); got != test.want {
					t.Errorf("the new table is %s, want %s", got, test.want)
				}
				again, err := on(srv).Open(t.Context(), true)
				if err != nil || again != info {
					t.Errorf("Open again: %+v, %v, want %+v", again, err, info)
				}
			})
		})
	}
}

// properties are a table's, in one line.
func properties(t *testing.T, srv *dynamodb.Server, table string) string {
	t.Helper()
	client := sdk.NewFromConfig(srv.AWSConfig())
	d, err := client.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	backups, err := client.DescribeContinuousBackups(t.Context(), &sdk.DescribeContinuousBackupsInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	tags, err := client.ListTagsOfResource(t.Context(), &sdk.ListTagsOfResourceInput{ResourceArn: d.Table.TableArn})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(string(d.Table.BillingModeSummary.BillingMode))
	for _, units := range []*int64{d.Table.ProvisionedThroughput.ReadCapacityUnits, d.Table.ProvisionedThroughput.WriteCapacityUnits} {
		b.WriteString(" " + string(rune('0'+*units)))
	}
	b.WriteString(" protected=")
	b.WriteString(map[bool]string{true: "true", false: "false"}[*d.Table.DeletionProtectionEnabled])
	b.WriteString(" pitr=" + string(backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus) + " tags=")
	for _, tag := range tags.Tags {
		b.WriteString(*tag.Key + ":" + *tag.Value + ",")
	}
	return b.String()
}

// A new table may look absent for a few seconds, it may not take backups at once, and the answer to its creation may be lost:
// that is no reason to fail, nor to leave out what was asked for. One that stays absent is an error.
func TestOpenCreatesUnseen(t *testing.T) {
	for name, test := range map[string]struct {
		answers refusal
		fault   dynamodb.Fault
		fails   bool
	}{
		"seen late":     {answers: refusal{op: "DescribeTable", code: "ResourceNotFoundException", lasts: 4 * time.Second}},
		"never seen":    {answers: refusal{op: "DescribeTable", code: "ResourceNotFoundException", lasts: time.Hour}, fails: true},
		"no backup yet": {answers: refusal{op: "UpdateContinuousBackups", code: "ContinuousBackupsUnavailableException", lasts: 10 * time.Second}},
		"lost answer":   {fault: dynamodb.Fault{Kind: dynamodb.DropAnswer, Op: "CreateTable", Share: 1, Count: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := dynamodb.New(dynamodb.Config{Transition: time.Second})
				srv.SetFaults(1, test.fault)
				begin := time.Now()
				s := on(srv, func(c *dynamo.Config) {
					c.Create.PointInTimeRecovery = true
					c.AWS.HTTPClient = refusing{c.AWS.HTTPClient, test.answers, begin}
				})
				if _, err := s.Open(t.Context(), true); (err != nil) != test.fails || test.fails && !errors.Is(err, lease.ErrStoreGone) {
					t.Fatalf("Open: %v", err)
				}
				if took := time.Since(begin); took > 15*time.Second {
					t.Errorf("Open took %v", took)
				}
				if got := properties(t, srv, dynamo.DefaultTable); !test.fails && !strings.Contains(got, "pitr=ENABLED") {
					t.Errorf("the new table is %s", got)
				}
			})
		})
	}
}

// refusal is an error that a server answers for a while.
type refusal struct {
	op, code string
	lasts    time.Duration
}

type refusing struct {
	aws.HTTPClient
	refusal
	since time.Time
}

func (c refusing) Do(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810."+c.op || time.Since(c.since) >= c.lasts {
		return c.HTTPClient.Do(r)
	}
	body := `{"__type":"com.amazonaws.dynamodb.v20120810#` + c.code + `","message":"not yet"}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// A fleet starts at once: all find no table, one makes it, all wait for it.
func TestFleetOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := dynamodb.New(dynamodb.Config{Transition: 10 * time.Second})
		srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.Delay, Op: "CreateTable", Share: 1, Delay: time.Second})
		ids := make(chan string)
		for range 5 {
			go func() {
				info, err := on(srv).Open(t.Context(), true)
				if err != nil {
					t.Error(err)
				}
				ids <- info.ID
			}()
		}
		first := <-ids
		for range 4 {
			if id := <-ids; id != first || id == "" {
				t.Errorf("one was told the ID %q, another one %q", first, id)
			}
		}
		if calls := srv.Usage()["CreateTable"].Calls; calls != 5 {
			t.Errorf("CreateTable was called %d times; the test wants all 5 to try", calls)
		}
	})
}

// Only the answer that there is no table is a reason to make one.
func TestOpenCreatesNothing(t *testing.T) {
	for name, fault := range map[string]dynamodb.FaultKind{
		"denied": dynamodb.Deny, "throttled": dynamodb.Throttle, "broken": dynamodb.Error, "cut off": dynamodb.DropRequest, "silent": dynamodb.Hang,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := dynamodb.New(dynamodb.Config{})
				srv.SetFaults(1, dynamodb.Fault{Kind: fault, Op: "DescribeTable", Share: 1})
				if _, err := on(srv).Open(t.Context(), true); err == nil || errors.Is(err, lease.ErrStoreGone) {
					t.Errorf("Open: %v", err)
				}
				if calls := srv.Usage()["CreateTable"].Calls; calls != 0 {
					t.Errorf("CreateTable was called %d times", calls)
				}
			})
		})
	}
}

// What is no table of leat's is refused, and told apart.
func TestOpenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := dynamodb.New(dynamodb.Config{Transition: time.Minute})
		client := sdk.NewFromConfig(srv.AWSConfig())
		_, err := client.CreateTable(t.Context(), &sdk.CreateTableInput{
			TableName: aws.String("orders-app"), BillingMode: types.BillingModePayPerRequest,
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("leaseKey"), KeyType: types.KeyTypeHash}},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("leaseKey"), AttributeType: types.ScalarAttributeTypeS}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = on(srv, func(c *dynamo.Config) { c.Table = "orders-app" }).Open(t.Context(), true)
		wantError(t, err, "lease table orders-app", "HASH leaseKey (S)", "Java KCL")

		opened(t, srv)
		if _, err := client.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String(dynamo.DefaultTable)}); err != nil {
			t.Fatal(err)
		}
		_, err = on(srv).Open(t.Context(), true)
		wantError(t, err, "lease table leat", "is being deleted")

		_, err = on(srv, func(c *dynamo.Config) { c.Create.ReadCapacity = 5 }).Open(t.Context(), true)
		wantError(t, err, "set both, or neither")

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // less than the table takes
		defer cancel()
		_, err = on(srv, func(c *dynamo.Config) { c.Table = "another" }).Open(ctx, true)
		wantError(t, err, "lease table another", "deadline exceeded")
	})
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

// Open names all that the caller may not do; at run time the call does.
func TestPermissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := dynamodb.New(dynamodb.Config{})
		deny := func(ops ...string) {
			var faults []dynamodb.Fault
			for _, op := range ops {
				faults = append(faults, dynamodb.Fault{Kind: dynamodb.Deny, Op: op, Share: 1})
			}
			srv.SetFaults(1, faults...)
		}
		deny("CreateTable")
		_, err := on(srv).Open(t.Context(), true)
		wantError(t, err, "creating it", "allow dynamodb:CreateTable on arn:aws:dynamodb:us-east-1:*:table/leat")

		deny()
		s := opened(t, srv)
		for _, op := range []string{"GetItem", "Query", "UpdateItem", "DeleteItem"} {
			deny(op)
			_, err := on(srv).Open(t.Context(), true)
			wantError(t, err, "allow dynamodb:"+op+" on arn:aws:dynamodb:us-east-1:000000000000:table/leat")
			if denied, ok := errors.AsType[*dynamo.PermissionError](err); !ok || denied.Action != "dynamodb:"+op {
				t.Errorf("%v is not the *PermissionError of %s", err, op)
			}
		}
		deny("UpdateItem", "DeleteItem")
		_, err = on(srv).Open(t.Context(), true)
		wantError(t, err, "dynamodb:UpdateItem", "dynamodb:DeleteItem")
		if _, err := on(srv, func(c *dynamo.Config) { c.NoTrial = true }).Open(t.Context(), false); err != nil {
			t.Errorf("Open without trials: %v", err)
		}
		_, err = s.Write(t.Context(), "billing", lease.Write{Op: lease.Create, Item: lease.Item{Key: lease.LeaseKey("orders", "s1")}})
		wantError(t, err, "lease table leat: create lease/orders/s1 of group billing", "allow dynamodb:UpdateItem on arn:")
		deny("Query")
		_, err = s.Members(t.Context(), "billing", false)
		wantError(t, err, "reading the members of group billing", "allow dynamodb:Query on arn:")
		deny()
		backup, err := sdk.NewFromConfig(srv.AWSConfig()).Scan(t.Context(), &sdk.ScanInput{TableName: aws.String(dynamo.DefaultTable)})
		if err != nil || len(backup.Items) != 0 {
			t.Errorf("trials left %v in the table (%v)", backup.Items, err)
		}
	})
}

// A table that is gone, and then another one: no call believes it, and each says why. Nobody makes it.
func TestReplaced(t *testing.T) {
	item := lease.Item{Key: lease.LeaseKey("orders", "s1"), Lease: lease.Lease{Owner: "anna"}}
	for name, replace := range map[string]func(t *testing.T, srv *dynamodb.Server, s *dynamo.Store, b dynamodb.Backup){
		"at once, after silence": func(t *testing.T, srv *dynamodb.Server, s *dynamo.Store, b dynamodb.Backup) {
			srv.Restore(b)
			time.Sleep(4 * time.Second)
		},
		"seen gone": func(t *testing.T, srv *dynamodb.Server, s *dynamo.Store, b dynamodb.Backup) {
			if _, err := sdk.NewFromConfig(srv.AWSConfig()).DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: aws.String(dynamo.DefaultTable)}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := s.Members(t.Context(), "billing", false); !errors.Is(err, lease.ErrStoreGone) || errors.Is(err, dynamo.ErrReplaced) {
					t.Errorf("Members of a table that is gone: %v", err)
				}
				time.Sleep(time.Second)
			}
			srv.Restore(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := dynamodb.New(dynamodb.Config{})
				s := opened(t, srv)
				if _, err := s.Write(t.Context(), "billing", lease.Write{Op: lease.Create, Item: item}); err != nil {
					t.Fatal(err)
				}
				b, err := srv.Backup(dynamo.DefaultTable)
				if err != nil {
					t.Fatal(err)
				}
				replace(t, srv, s, b)
				next := item
				next.Counter = 1
				calls := map[string]func() error{
					"Write": func() error {
						_, err := s.Write(t.Context(), "billing", lease.Write{Op: lease.Update, Item: next, Owner: "anna"})
						return err
					},
					"Get":     func() error { _, err := s.Get(t.Context(), "billing", item.Key); return err },
					"Members": func() error { _, err := s.Members(t.Context(), "billing", true); return err },
					"Open":    func() error { _, err := s.Open(t.Context(), true); return err },
				}
				for _, call := range []string{"Get", "Write", "Members", "Open", "Get"} {
					if err := calls[call](); !errors.Is(err, dynamo.ErrReplaced) || !errors.Is(err, lease.ErrStoreGone) {
						t.Errorf("%s: %v, want ErrReplaced", call, err)
					}
				}
				if got, err := opened(t, srv).Get(t.Context(), "billing", item.Key); err != nil || !got.Equal(item) {
					t.Errorf("a Store that is opened anew reads %+v, %v", got, err)
				}
			})
		})
	}
}

// The TableId costs nothing while calls are answered, and one call after a silence. Where it cannot be had the table
// is believed.
func TestWatchIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := dynamodb.New(dynamodb.Config{})
		s := opened(t, srv)
		before := srv.Usage()["DescribeTable"].Calls
		read := func(n int, every time.Duration) {
			for range n {
				if _, err := s.Members(t.Context(), "billing", false); err != nil {
					t.Error(err)
				}
				time.Sleep(every)
			}
		}
		read(600, time.Second)
		if asked := srv.Usage()["DescribeTable"].Calls - before; asked != 0 {
			t.Errorf("the table was described %d times in ten minutes of answers", asked)
		}
		time.Sleep(time.Hour)
		read(10, time.Second)
		if asked := srv.Usage()["DescribeTable"].Calls - before; asked != 1 {
			t.Errorf("the table was described %d times after an hour of silence, want 1", asked)
		}
		time.Sleep(time.Hour)
		srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.Error, Op: "DescribeTable", Share: 1})
		read(10, time.Second)
	})
}

// A caller whose clock is wrong is refused, with the service's time: the next attempt has it right.
func TestClockSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := dynamodb.New(dynamodb.Config{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
		cfg := srv.AWSConfig()
		cfg.HTTPClient = strict{srv.HTTPClient()}
		s := dynamo.New(dynamo.Config{AWS: &cfg})
		if _, err := s.Open(t.Context(), true); err != nil {
			t.Error(err)
		}
		if !slices.Contains([]int{1, 2}, srv.Usage()["CreateTable"].Calls) {
			t.Errorf("usage: %v", srv.Usage())
		}
	})
}
