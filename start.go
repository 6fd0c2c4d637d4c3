package leat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/leatstream/leat/internal/fetch"
)

// startPatience is how long a worker tries to begin while the services do not answer, or only with errors that pass by
// themselves: a rolling deploy in the middle of an outage is no crash loop. Pauses are from firstStartPause to lastStartPause.
const (
	startPatience   = time.Minute
	firstStartPause = time.Second
	lastStartPause  = 10 * time.Second
)

// begin opens what Run needs. What a person has to put right is an error at once.
func (c *Consumer) begin(ctx context.Context) (fetch.API, fetch.StreamInfo, error) {
	standard := retry.NewStandard()
	passing := func(err error) bool {
		return standard.IsErrorRetryable(err) || errors.Is(err, context.DeadlineExceeded) // of one attempt
	}
	began := time.Now()
	for pause := firstStartPause; ; pause = min(2*pause, lastStartPause) {
		api, stream, err := c.open(ctx)
		switch {
		case err == nil || ctx.Err() != nil || !passing(err):
			return api, stream, err
		case time.Since(began)+pause > startPatience:
			return api, stream, fmt.Errorf("tried for %v: %w", time.Since(began).Round(time.Second), err)
		}
		c.cfg.Logger.Warn("leat: cannot begin yet, and tries again", "group", c.cfg.Group, "stream", c.cfg.Stream, "pause", pause, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, stream, ctx.Err()
		}
	}
}

// open finds the stream and opens the store.
func (c *Consumer) open(ctx context.Context) (fetch.API, fetch.StreamInfo, error) {
	api, err := connect(ctx, c.cfg.AWS, c.cfg.Endpoint, c.cfg.PollInterval, c.cfg.Format, func(reason string) {
		c.cfg.Logger.Info("leat: records are read as JSON", "stream", c.cfg.Stream, "reason", reason)
	})
	if err != nil {
		return nil, fetch.StreamInfo{}, err
	}
	stream, err := describe(ctx, api, c.cfg.Stream)
	if err != nil {
		return nil, stream, err
	}
	if _, err := c.cfg.Store.Open(ctx, true); err != nil {
		return nil, stream, fmt.Errorf("opening the lease store: %w", err)
	}
	return api, stream, nil
}
