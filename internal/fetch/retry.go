package fetch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// tries bounds Describe and List: together with the back-off about 20 seconds of trouble. Their callers
// ask again later, and must not wait for ever for a stream that a person may have to repair.
const tries = 8

// call makes a control-plane call until it succeeds, ends, or has failed too often.
func call[In, Out any](ctx context.Context, do func(In) (Out, error), in In) (Out, error) {
	for failures := 1; ; failures++ {
		out, err := do(in)
		if err == nil {
			return out, nil
		}
		var none Out
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		switch kind, _ := classify(err); {
		case kind == missing:
			return none, fmt.Errorf("%w: %w", ErrMissing, err)
		case kind != throttled && kind != transient, failures == tries:
			return none, err
		}
		if err := sleep(ctx, backoff(failures, rand.Float64())); err != nil {
			return none, err
		}
	}
}

// sleep returns ctx's cause as soon as ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
