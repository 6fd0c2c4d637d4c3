package fetch

import (
	"context"
	"time"

	"github.com/leatstream/leat/lease"
)

// StreamInfo is what DescribeStreamSummary tells.
type StreamInfo struct {
	Stream                   // name and ARN
	Created    time.Time     // tells a stream from an older one of the same name
	Retention  time.Duration // 24 hours to 365 days
	Status     string        // "CREATING", "ACTIVE", "UPDATING" or "DELETING"
	OpenShards int
	Date       time.Time // the service's own clock, from the answer's Date header (whole seconds); zero if it had none
}

// Describe asks what the stream is; nameOrARN that starts with "arn:" is an ARN. It tries again with
// back-off while the service throttles or fails, up to describeTries times. A stream that does not
// exist is ErrMissing; an ended ctx is ctx's error.
func Describe(ctx context.Context, api API, nameOrARN string) (StreamInfo, error) {
	panic("skeleton")
}

// List returns the shards of the stream, all pages of them, or an error: never a part.
//
// A nil at lists every shard that the stream still keeps. Otherwise it lists the shards that were
// open at that place: TRIM_HORIZON, LATEST (the open shards) or a timestamp; other positions are an error. A
// timestamp before the stream's first shard means TRIM_HORIZON. The slice is the caller's.
//
// A stream that does not exist is ErrMissing. Throttling and failures are tried again with back-off, a
// bounded number of times; then the error comes back.
func List(ctx context.Context, api API, s Stream, at *lease.Position) ([]lease.Shard, error) {
	panic("skeleton")
}
