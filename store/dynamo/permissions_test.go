package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/deadletter"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/dynamo"
)

// policies reads the policies of docs/permissions.md: the actions that they allow, by heading.
func policies(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	action := regexp.MustCompile(`^(kinesis|dynamodb):[A-Z][A-Za-z]+$`)
	resource := regexp.MustCompile(`^arn:aws:(kinesis:REGION:ACCOUNT:stream/STREAM|dynamodb:REGION:ACCOUNT:table/leat)$`)
	all := map[string][]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		heading, rest, _ := strings.Cut(section, "\n")
		blocks := strings.Split(rest, "```json\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%q has no policy", heading)
		}
		for _, block := range blocks {
			text, _, _ := strings.Cut(block, "```")
			var policy struct {
				Version   string
				Statement []struct {
					Effect, Resource string
					Action           []string
					Condition        map[string]map[string][]string
				}
			}
			d := json.NewDecoder(strings.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(&policy); err != nil || policy.Version != "2012-10-17" || len(policy.Statement) == 0 {
				t.Fatalf("%q: %v: %s", heading, err, text)
			}
			var allowed []string
			for _, s := range policy.Statement {
				allowed = append(allowed, s.Action...)
				if s.Effect != "Allow" || !resource.MatchString(s.Resource) || slices.ContainsFunc(s.Action, func(a string) bool { return !action.MatchString(a) }) {
					t.Errorf("%q: %+v", heading, s)
				}
			}
			slices.Sort(allowed)
			if earlier := all[heading]; earlier != nil && !slices.Equal(earlier, allowed) {
				t.Errorf("the policies of %q allow %v and %v", heading, earlier, allowed)
			}
			all[heading] = allowed
		}
	}
	return all
}

// guard denies what a policy does not allow, and notes what was called.
type guard struct {
	t       *testing.T
	inner   aws.HTTPClient
	allowed []string

	mu   sync.Mutex
	used map[string]bool
}

func (g *guard) Do(r *http.Request) (*http.Response, error) {
	service, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	service = map[string]string{"Kinesis_20131202": "kinesis", "DynamoDB_20120810": "dynamodb"}[service]
	actions := []string{service + ":" + operation}
	if operation == "CreateTable" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if r.Body = io.NopCloser(bytes.NewReader(body)); bytes.Contains(body, []byte(`"Tags"`)) {
			actions = append(actions, "dynamodb:TagResource") // as the service does
		}
	}
	for _, action := range actions {
		g.mu.Lock()
		g.used[action] = true
		g.mu.Unlock()
		if !slices.Contains(g.allowed, action) {
			g.t.Errorf("%s is called, and not in the policy", action)
			body := fmt.Sprintf(`{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"User: x is not authorized to perform: %s"}`, action)
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}
	}
	return g.inner.Do(r)
}

// Each policy of docs/permissions.md is enough for what it is there for, and has nothing that is not needed.
func TestPolicies(t *testing.T) {
	t.Parallel()
	policy := policies(t)
	srv := local.New(local.Config{})
	admin := kinesis.NewFromConfig(srv.AWSConfig())
	for _, name := range []string{"orders", "letters"} {
		if _, err := admin.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &name, ShardCount: aws.Int32(2)}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(n int) {
		for i := range n {
			in := &kinesis.PutRecordInput{StreamName: aws.String("orders"), PartitionKey: aws.String(fmt.Sprint(i)), Data: []byte("x")}
			if _, err := admin.PutRecord(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
	// under runs something under the policies of some sections.
	under := func(run func(t *testing.T, cfg *aws.Config), headings ...string) {
		t.Run(headings[len(headings)-1], func(t *testing.T) {
			cfg := srv.AWSConfig()
			g := &guard{t: t, inner: srv.HTTPClient(), used: map[string]bool{}}
			for _, h := range headings {
				g.allowed = append(g.allowed, policy[h]...)
			}
			cfg.HTTPClient = g
			run(t, &cfg)
			slices.Sort(g.allowed)
			if used := slices.Sorted(maps.Keys(g.used)); !slices.Equal(used, slices.Compact(g.allowed)) {
				t.Errorf("used: %v\nallowed: %v", used, g.allowed)
			}
		})
	}
	under(func(t *testing.T, cfg *aws.Config) {
		create := dynamo.Create{Tags: map[string]string{"a": "b"}, PointInTimeRecovery: true, DeletionProtection: true}
		if _, err := dynamo.New(dynamo.Config{AWS: cfg, Create: create, NoTrial: true}).Open(t.Context(), true); err != nil {
			t.Error(err)
		}
	}, "Making the lease table")
	under(func(t *testing.T, cfg *aws.Config) {
		put(20)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		handled := 0
		err := leat.Run(ctx, leat.Config{
			Group: "billing", Stream: "orders", AWS: cfg,
			Logger: slog.New(slog.DiscardHandler),
			Handler: leat.HandlerFunc(func(context.Context, *leat.Record) error {
				mu.Lock()
				defer mu.Unlock()
				if handled++; handled == 20 {
					cancel()
				}
				return nil
			}),
		})
		if err != nil || handled != 20 {
			t.Errorf("%d records were handled: %v", handled, err)
		}
	}, "A consumer", "The lease table")
	under(func(t *testing.T, cfg *aws.Config) {
		for r, err := range leat.Tail(t.Context(), leat.TailConfig{Stream: "orders", AWS: cfg}) {
			if err != nil || r == nil {
				t.Error(err)
			}
			break
		}
	}, "A consumer")
	under(func(t *testing.T, cfg *aws.Config) {
		letters := deadletter.Stream(kinesis.NewFromConfig(*cfg), "letters")
		if err := letters.Send(t.Context(), &leat.Record{PartitionKey: "a", Data: []byte("x")}, lease.ErrNotFound); err != nil {
			t.Error(err)
		}
	}, "A stream of dead letters")
}
