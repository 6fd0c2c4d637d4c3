package fetch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
)

// StreamInfo is what DescribeStreamSummary tells.
type StreamInfo struct {
	Stream                   // name and ARN
	Created    time.Time     // tells a stream from an older one of the same name
	Retention  time.Duration // 24 hours to 365 days
	Status     string        // "CREATING", "ACTIVE", "UPDATING" or "DELETING"
	OpenShards int

	// Date is the service's own clock, in whole seconds, from the answer's Date header; zero if it
	// had none. LATEST is pinned to it, never to a worker's clock.
	Date time.Time
}

// Describe asks what the stream is; a nameOrARN that starts with "arn:" is an ARN.
//
// A stream that does not exist is ErrMissing; an ended ctx is ctx's cause. Throttling and failures are
// tried again with back-off, eight tries in all, then the error comes back; so does, at once, an
// error that will not pass by itself.
func Describe(ctx context.Context, api API, nameOrARN string) (StreamInfo, error) {
	s := Stream{Name: nameOrARN}
	if strings.HasPrefix(nameOrARN, "arn:") {
		s = Stream{ARN: nameOrARN}
	}
	out, err := call(ctx, func(in *kinesis.DescribeStreamSummaryInput) (*kinesis.DescribeStreamSummaryOutput, error) {
		return api.DescribeStreamSummary(ctx, in, once)
	}, &kinesis.DescribeStreamSummaryInput{StreamName: s.name(), StreamARN: s.arn()})
	if err != nil {
		return StreamInfo{}, fmt.Errorf("describing stream %s: %w", nameOrARN, err)
	}
	d := out.StreamDescriptionSummary
	if d == nil {
		return StreamInfo{}, fmt.Errorf("describing stream %s: the answer is empty", nameOrARN)
	}
	info := StreamInfo{
		Stream:     Stream{Name: aws.ToString(d.StreamName), ARN: aws.ToString(d.StreamARN)},
		Created:    aws.ToTime(d.StreamCreationTimestamp),
		Retention:  time.Duration(aws.ToInt32(d.RetentionPeriodHours)) * time.Hour,
		Status:     string(d.StreamStatus),
		OpenShards: int(aws.ToInt32(d.OpenShardCount)),
	}
	info.Date, _ = middleware.GetServerTime(out.ResultMetadata)
	return info, nil
}
