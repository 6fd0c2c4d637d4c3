package local_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/local"
)

func TestTags(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	stream, arn := aws.String("s"), aws.String("arn:aws:kinesis:us-east-1:000000000000:stream/s")
	_, err := f.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: stream, ShardCount: aws.Int32(1), Tags: map[string]string{"team": "mill"}})
	if err != nil {
		t.Fatal(err)
	}
	add := func(tags map[string]string) error {
		_, err := f.client.AddTagsToStream(t.Context(), &kinesis.AddTagsToStreamInput{StreamName: stream, Tags: tags})
		return err
	}
	expect := func(want ...string) {
		t.Helper()
		var byStream, byARN []string
		in := &kinesis.ListTagsForStreamInput{StreamName: stream, Limit: aws.Int32(2)}
		for more := true; more; {
			out, err := f.client.ListTagsForStream(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range out.Tags {
				byStream = append(byStream, *tag.Key+"="+*tag.Value)
				in.ExclusiveStartTagKey = tag.Key
			}
			more = *out.HasMoreTags
		}
		out, err := f.client.ListTagsForResource(t.Context(), &kinesis.ListTagsForResourceInput{ResourceARN: arn})
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range out.Tags {
			byARN = append(byARN, *tag.Key+"="+*tag.Value)
		}
		if !slices.Equal(byStream, want) || !slices.Equal(byARN, want) {
			t.Errorf("tags %q, by ARN %q, want %q", byStream, byARN, want)
		}
	}
	expect("team=mill")
	if err := add(map[string]string{"env": "test", "team": "weir", "Größe": "", "a:b": "x/y"}); err != nil {
		t.Fatal(err)
	}
	expect("Größe=", "a:b=x/y", "env=test", "team=weir")
	_, err = f.client.RemoveTagsFromStream(t.Context(), &kinesis.RemoveTagsFromStreamInput{
		StreamName: stream, TagKeys: []string{"team", "nothing", "Größe"}})
	if err != nil {
		t.Fatal(err)
	}
	expect("a:b=x/y", "env=test")
	if _, err = f.client.TagResource(t.Context(), &kinesis.TagResourceInput{ResourceARN: arn, Tags: map[string]string{"env": "prod"}}); err != nil {
		t.Fatal(err)
	}
	if _, err = f.client.UntagResource(t.Context(), &kinesis.UntagResourceInput{ResourceARN: arn, TagKeys: []string{"a:b"}}); err != nil {
		t.Fatal(err)
	}
	expect("env=prod")
}

func TestTagRefusals(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{})
	f.create("s", 1)
	long := func(n int) string { return string(slices.Repeat([]byte("x"), n)) }
	many := make(map[string]string)
	for i := range 51 {
		many[long(i+1)] = "v"
	}
	for name, c := range map[string]struct {
		tags map[string]string
		want string
	}{
		"none":                 {map[string]string{}, "ValidationException"},
		"a key too long":       {map[string]string{long(129): ""}, "ValidationException"},
		"a value too long":     {map[string]string{"k": long(257)}, "ValidationException"},
		"an empty key":         {map[string]string{"": "v"}, "ValidationException"},
		"a character":          {map[string]string{"good": "v", "k": "a;b"}, "InvalidArgumentException"},
		"the service's prefix": {map[string]string{"aws:k": "v"}, "InvalidArgumentException"},
		"51 of them":           {many, "InvalidArgumentException"},
	} {
		_, err := f.client.AddTagsToStream(t.Context(), &kinesis.AddTagsToStreamInput{StreamName: aws.String("s"), Tags: c.tags})
		if got := code(err); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	out, err := f.client.ListTagsForStream(t.Context(), &kinesis.ListTagsForStreamInput{StreamName: aws.String("s")})
	if err != nil || len(out.Tags) != 0 {
		t.Errorf("after refusals: %v, %v", out, err)
	}
	_, err = f.client.TagResource(t.Context(), &kinesis.TagResourceInput{
		ResourceARN: aws.String("arn:aws:kinesis:us-east-1:000000000000:stream/none"), Tags: map[string]string{"a": "b"}})
	if got := code(err); got != "ResourceNotFoundException" {
		t.Errorf("tagging no stream: %s", got)
	}
}

// TestTagsOfAStreamThatChanges: tags can be given to a stream that is created, and are told at once; they
// change only while it is active.
func TestTagsOfAStreamThatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{Transition: time.Minute})
		_, err := f.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
			StreamName: aws.String("s"), ShardCount: aws.Int32(1), Tags: map[string]string{"team": "mill"}})
		if err != nil {
			t.Fatal(err)
		}
		change := func() [2]string {
			_, add := f.client.AddTagsToStream(t.Context(), &kinesis.AddTagsToStreamInput{
				StreamName: aws.String("s"), Tags: map[string]string{"env": "test"}})
			_, remove := f.client.RemoveTagsFromStream(t.Context(), &kinesis.RemoveTagsFromStreamInput{
				StreamName: aws.String("s"), TagKeys: []string{"team"}})
			return [2]string{code(add), code(remove)}
		}
		tags := func() string {
			out, err := f.client.ListTagsForStream(t.Context(), &kinesis.ListTagsForStreamInput{StreamName: aws.String("s")})
			if err != nil || len(out.Tags) != 1 {
				t.Fatalf("%v, %v", out, err)
			}
			return *out.Tags[0].Key
		}
		if got := change(); got != [2]string{"ResourceInUseException", "ResourceInUseException"} || tags() != "team" {
			t.Errorf("while it is created: %q, the tag is %s", got, tags())
		}
		time.Sleep(time.Minute)
		if got := change(); got != [2]string{"<nil>", "<nil>"} || tags() != "env" {
			t.Errorf("once it is active: %q, the tag is %s", got, tags())
		}
	})
}
