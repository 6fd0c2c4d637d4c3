package deadletter

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat"
)

// Putter puts records: *kinesis.Client is one.
type Putter interface {
	PutRecord(context.Context, *kinesis.PutRecordInput, ...func(*kinesis.Options)) (*kinesis.PutRecordOutput, error)
}

type stream struct {
	client Putter
	name   string // or ARN
}

// Stream returns a DeadLetter that puts each record into another stream, given by its name or ARN: the same data under
// the same partition key (and explicit hash key, if that is known), so that the same handler can read it. Why it was given up
// does not fit into a record: Config.Logger and Config.Events have it. The stream must take records of the
// same size. It needs the permission kinesis:PutRecord.
func Stream(client Putter, nameOrARN string) leat.DeadLetter { return &stream{client, nameOrARN} }

// Send implements leat.DeadLetter.
func (s *stream) Send(ctx context.Context, r *leat.Record, _ error) error {
	in := &kinesis.PutRecordInput{PartitionKey: aws.String(r.PartitionKey), Data: r.Data}
	if in.Data == nil {
		in.Data = []byte{} // the service wants data, if empty
	}
	if r.ExplicitHashKey != "" {
		in.ExplicitHashKey = aws.String(r.ExplicitHashKey)
	}
	if strings.HasPrefix(s.name, "arn:") {
		in.StreamARN = aws.String(s.name)
	} else {
		in.StreamName = aws.String(s.name)
	}
	if _, err := s.client.PutRecord(ctx, in); err != nil {
		return fmt.Errorf("stream %s: %w", s.name, err)
	}
	return nil
}
