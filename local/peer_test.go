package local_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/leatstream/leat/internal/node"
	"github.com/leatstream/leat/local"
)

// call is one call of the API, the same for every server.
type call struct {
	save  string // the name of the answer, for later calls; may be empty
	op    string
	input string // JSON; see side.fill
}

func (c call) String() string {
	line := c.op + " " + c.input
	if c.save != "" {
		line = c.save + " = " + line
	}
	return line
}

// side is one of two servers that get the same calls.
type side struct {
	client *kinesis.Client
	saved  map[string]any // answers, by the names of the calls
}

// sides are a server of this package, and npm's kinesis-local.
func sides(t *testing.T) (ours, peers *side) {
	t.Helper()
	endpoint := node.Start(t, node.KinesisLocal)
	// As kinesis-local has it: 50 shards, no quotas, and the end of a shard comes with its last records.
	config := local.New(local.Config{ShardLimit: 50, Unlimited: true, EndWithRecords: true}).AWSConfig()
	config.BaseEndpoint = &endpoint // also where it is not used: else the SDK itself refuses ARNs that are none
	ours = &side{client: kinesis.NewFromConfig(config, noRetries, unchecked)}
	config.HTTPClient = plainBodies{new(http.Client)}
	peers = &side{client: kinesis.NewFromConfig(config, noRetries, unchecked)}
	return ours, peers
}

// unchecked sends requests that the SDK would refuse itself.
func unchecked(o *kinesis.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		stack.Initialize.Remove("OperationInputValidation") // an operation without required members has none
		return nil
	})
}

// plainBodies hides all of a request's body but Read and Close: the SDK's body cannot be written and closed
// at one time, which net/http does when a server answers within a millisecond.
type plainBodies struct{ client *http.Client }

func (c plainBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a copy
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.client.Do(r)
}

// forget begins anew: nothing saved, no stream.
func (s *side) forget(ctx context.Context) error {
	s.saved = map[string]any{}
	for {
		out, err := s.client.ListStreams(ctx, &kinesis.ListStreamsInput{})
		if err != nil || len(out.StreamNames) == 0 {
			return err
		}
		for _, name := range out.StreamNames {
			if _, err := s.client.DeleteStream(ctx, &kinesis.DeleteStreamInput{StreamName: &name}); err != nil {
				return err
			}
			if err := s.settled(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &name}); err != nil {
				return err
			}
		}
	}
}

// answer makes a call and returns what came, as JSON with comparable values.
func (s *side) answer(ctx context.Context, c call) (any, error) {
	method := reflect.ValueOf(s.client).MethodByName(c.op)
	if !method.IsValid() {
		return nil, fmt.Errorf("the SDK has no operation %s", c.op)
	}
	text, err := s.fill(c.input)
	if err != nil {
		return nil, err
	}
	input := reflect.New(method.Type().In(1).Elem())
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(input.Interface()); err != nil {
		return nil, err
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(ctx), input})
	if err, _ := results[1].Interface().(error); err != nil {
		refusal := smithy.APIError(nil)
		if !errors.As(err, &refusal) {
			return nil, err
		}
		return map[string]any{"error": refusal.ErrorCode()}, nil
	}
	b, err := json.Marshal(results[0].Interface())
	if err != nil {
		return nil, err
	}
	var answer, saved map[string]any
	if err := errors.Join(json.Unmarshal(b, &answer), json.Unmarshal(b, &saved)); err != nil {
		return nil, err
	}
	s.saved[c.save] = saved
	delete(answer, "ResultMetadata")
	switch c.op {
	case "CreateStream", "DeleteStream", "SplitShard", "MergeShards", "UpdateShardCount",
		"IncreaseStreamRetentionPeriod", "DecreaseStreamRetentionPeriod":
		var named kinesis.DescribeStreamSummaryInput
		if err := json.Unmarshal(text, &named); err != nil {
			return nil, err
		}
		if err := s.settled(ctx, &named); err != nil {
			return nil, err
		}
	}
	return comparable("", answer), nil
}

var reference = regexp.MustCompile(`"\$[^"]*"`)

// fill replaces the strings of an input that begin with $: $now, $now-1h and the like are times, anything else is
// the path of a string in a saved answer, such as $first.Shards.0.ShardId.
func (s *side) fill(input string) (filled []byte, err error) {
	filled = reference.ReplaceAllFunc([]byte(input), func(match []byte) []byte {
		value, failed := s.value(string(match[2 : len(match)-1]))
		err = errors.Join(err, failed)
		return strconv.AppendQuote(nil, value)
	})
	return filled, err
}

func (s *side) value(path string) (string, error) {
	if offset, ok := strings.CutPrefix(path, "now"); ok {
		d, err := time.ParseDuration(cmp.Or(offset, "0s"))
		return time.Now().Add(d).Format(time.RFC3339Nano), err
	}
	var value any = s.saved
	for _, step := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(v) {
				value = v[i]
			}
		}
	}
	text, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("$%s is no string but %v", path, value)
	}
	return text, nil
}

// comparable replaces what two servers cannot agree on: of sequence numbers, tokens and times only remains that they
// are there. Absent and empty are the same.
func comparable(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if v[key] = comparable(key, v[key]); v[key] == nil {
				delete(v, key)
			}
		}
		return v
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = comparable(name, v[i])
		}
		return v
	case string:
		switch name {
		case "SequenceNumber", "StartingSequenceNumber", "EndingSequenceNumber":
			return "a number"
		case "ShardIterator", "NextShardIterator", "NextToken":
			return "a token"
		case "StreamCreationTimestamp", "ApproximateArrivalTimestamp":
			return "a time"
		}
	case float64:
		if name == "MillisBehindLatest" && v > 0 {
			return "above 0"
		}
	}
	return value
}

// settled waits until a stream is active or gone.
func (s *side) settled(ctx context.Context, stream *kinesis.DescribeStreamSummaryInput) error {
	for ctx.Err() == nil {
		out, err := s.client.DescribeStreamSummary(ctx, stream)
		if code(err) == "ResourceNotFoundException" {
			return nil
		}
		if err != nil {
			return err
		}
		if out.StreamDescriptionSummary.StreamStatus == types.StreamStatusActive {
			return nil
		}
	}
	return ctx.Err()
}
