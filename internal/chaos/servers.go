//go:build unix

package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/internal/node"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/dynamo"
)

// servers are a Kinesis and a DynamoDB.
type servers struct {
	kinesis, store *front
	client         *kinesis.Client // past all proxies
}

// localServers are local's, in this process; npmServers are kinesis-local and dynalite.
func localServers(t testing.TB) *servers {
	server := local.New(local.Config{})
	return newServers(t, server, server)
}

func npmServers(t testing.TB) *servers {
	mock := node.KinesisLocal
	mock.Env = append([]string{"SHARD_LIMIT=1000"}, mock.Env...)
	return newServers(t, forward(node.Start(t, mock)), forward(node.Start(t, node.Dynalite)))
}

func newServers(t testing.TB, streams, tables http.Handler) *servers {
	s := &servers{}
	for _, f := range []struct {
		front   **front
		handler http.Handler
	}{{&s.kinesis, streams}, {&s.store, tables}} {
		front, err := newFront(f.handler)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(front.close)
		*f.front = front
	}
	s.client = kinesis.NewFromConfig(*awsConfig(), func(o *kinesis.Options) {
		o.BaseEndpoint = aws.String(s.kinesis.url())
		o.HTTPClient = plainHTTP{&http.Client{}}
		o.RetryMaxAttempts = 1 // a second try might put a record twice
	})
	return s
}

// plainHTTP hides the body's WriteTo: with it, the SDK takes a server that answers within a millisecond for a broken one.
type plainHTTP struct{ *http.Client }

// Do implements aws.HTTPClient.
func (c plainHTTP) Do(r *http.Request) (*http.Response, error) {
	type plain struct{ io.ReadCloser }
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a copy
		r.Body = plain{r.Body}
	}
	return c.Client.Do(r)
}

// createStream makes the stream, and waits until it can be used.
func (s *servers) createStream(ctx context.Context, shards int) error {
	_, err := s.client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: aws.String(streamName), ShardCount: aws.Int32(int32(shards))})
	if err != nil {
		return fmt.Errorf("creating the stream: %w", err)
	}
	for {
		out, err := s.client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: aws.String(streamName)})
		if err == nil && out.StreamDescriptionSummary.StreamStatus == types.StreamStatusActive {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the stream: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// leases reads the group's leases, past all proxies.
func (s *servers) leases(ctx context.Context) ([]lease.Item, error) {
	store := dynamo.New(dynamo.Config{AWS: awsConfig(), Endpoint: s.store.url(), NoTrial: true})
	if _, err := store.Open(ctx, false); err != nil {
		return nil, err
	}
	var items []lease.Item
	for item, err := range store.Leases(ctx, groupName, streamName) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
