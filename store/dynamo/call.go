package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/leatstream/leat/lease"
)

// call is what is to be done, for its error and its place in the queue.
type call struct {
	class  class
	action string // of IAM, without "dynamodb:"
	doing  string
	factor time.Duration // of the attempts' time-out; 0 is 1
	// unwatched calls say nothing about whether it is still the same table.
	unwatched bool
}

// slow is the factor of calls that read much, or that are made where there is no hurry.
const slow = 5

const (
	maxAttempts   = 6
	firstPause    = 25 * time.Millisecond // after what passes by itself; it doubles
	throttlePause = 100 * time.Millisecond
	maxPause      = time.Second
)

// do makes attempts until one is answered for good, or until another one would not fit into ctx.
func (s *Store) do(ctx context.Context, c call, attempt func(context.Context, *dynamodb.Client) error) error {
	for n := 1; ; n++ {
		err := s.try(ctx, c, attempt)
		pause, again := pauseAfter(err, n)
		if !again || n == maxAttempts || !fits(ctx, pause) || wait(ctx, pause) != nil {
			return s.explain(c, err)
		}
	}
}

// fits says whether ctx lasts longer than a pause. An error now is worth more than the same one later.
func fits(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() == nil && (!ok || time.Until(deadline) > pause)
}

// try makes one attempt, in its turn.
func (s *Store) try(ctx context.Context, c call, attempt func(context.Context, *dynamodb.Client) error) error {
	client, replaced := s.connected()
	switch {
	case client == nil:
		return errNotOpen
	case replaced != nil && !c.unwatched:
		return replaced
	case ctx.Err() != nil:
		return ctx.Err()
	}
	leave, err := s.gate.enter(ctx, c.class)
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, s.cfg.AttemptTimeout*max(1, c.factor))
	err = attempt(timed, client)
	cancel()
	leave()
	if _, refused := errors.AsType[*types.ConditionalCheckFailedException](err); (err == nil || refused) && !c.unwatched {
		if other := s.answered(ctx); other != nil {
			return other
		}
	}
	return err
}

// throttles knows the codes of throttling.
var throttles = retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}

// pauseAfter says whether an error passes by itself, and how long to wait after the n-th attempt.
func pauseAfter(err error, n int) (pause time.Duration, again bool) {
	pause = firstPause
	api, answered := errors.AsType[smithy.APIError](err)
	switch {
	case err == nil || errors.Is(err, lease.ErrStoreGone) || errors.Is(err, errNotOpen):
		return 0, false
	case throttles.IsErrorThrottle(err) == aws.TrueTernary:
		pause = throttlePause
	case !answered: // no connection, no answer in time, no credentials
	case api.ErrorFault() == smithy.FaultServer || serverError(err):
	case clockSkew[api.ErrorCode()]: // the SDK corrects its clock by the answer
	default:
		return 0, false
	}
	pause = min(pause<<(n-1), maxPause)
	return pause/2 + rand.N(pause/2), true
}

var errNotOpen = errors.New("the store is not open")

// clockSkew are the codes by which the service may refuse a call because of its time.
var clockSkew = map[string]bool{"InvalidSignatureException": true, "RequestExpired": true, "RequestTimeTooSkewed": true, "RequestInTheFuture": true}

func serverError(err error) bool {
	status, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err)
	return ok && status.HTTPStatusCode() >= 500
}

// explain says what was being done, and what people can do.
func (s *Store) explain(c call, err error) error {
	if err == nil {
		return nil
	}
	api, _ := errors.AsType[smithy.APIError](err)
	_, missing := errors.AsType[*types.ResourceNotFoundException](err)
	switch {
	case missing:
		s.missed()
		err = fmt.Errorf("%w: %w", lease.ErrStoreGone, err)
	case api != nil && api.ErrorCode() == "AccessDeniedException":
		err = s.denied(c.action, api)
	case throttles.IsErrorThrottle(err) == aws.TrueTernary:
		err = fmt.Errorf("%w (the table's capacity, or its partition's, is used up: raise it, or use billing on demand)", err)
	}
	return fmt.Errorf("lease table %s: %s: %w", s.cfg.Table, c.doing, err)
}
