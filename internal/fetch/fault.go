package fetch

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/smithy-go"
)

// ErrMissing says that the service knows no such stream, or no such shard of it. It is never the end
// of a shard: the stream may have been deleted, or deleted and made again under its name, or the
// shard may have passed out of retention.
var ErrMissing = errors.New("no such stream or shard")

// PositionError says that the service does not accept the place to read from, and that the place has not
// merely passed out of retention: the stream may have been made again under its name, or the
// checkpoint is another stream's or another shard's.
type PositionError struct {
	Shard    string
	Position string // as people read it: the sequence number
	Err      error  // the service's answer
}

// Error implements error.
func (e *PositionError) Error() string {
	return fmt.Sprintf("shard %s cannot be read from %s (has the stream been recreated, or is the checkpoint another stream's?): %v",
		e.Shard, e.Position, e.Err)
}

// Unwrap returns the service's answer.
func (e *PositionError) Unwrap() error { return e.Err }

// fault is what kind of trouble an error is.
type fault uint8

const (
	// transient may pass by itself: server errors, time-outs, the network, anything unknown.
	// Credentials that have expired and clocks that differ are of this kind: the SDK renews the ones
	// and learns the other from the answer.
	transient fault = iota
	throttled       // too much was asked
	expired         // the iterator or page token is too old
	invalid         // an argument, such as the sequence number, is not accepted
	ended           // the sequence number is the last that the shard can have
	missing         // no such stream or shard
	denied          // passes only when a person acts: permissions, keys, a request that is refused
)

// faults sorts the service's error codes (Kinesis API reference, errors of GetRecords and common
// errors).
var faults = map[string]fault{
	"ProvisionedThroughputExceededException": throttled,
	"LimitExceededException":                 throttled,
	"KMSThrottlingException":                 throttled,
	"ThrottlingException":                    throttled,
	"Throttling":                             throttled,
	"RequestLimitExceeded":                   throttled,
	"TooManyRequestsException":               throttled,

	"ExpiredIteratorException":  expired,
	"ExpiredNextTokenException": expired,
	"InvalidArgumentException":  invalid,
	"ResourceNotFoundException": missing,

	"AccessDeniedException":         denied,
	"AccessDenied":                  denied,
	"NotAuthorized":                 denied,
	"OptInRequired":                 denied,
	"SubscriptionRequiredException": denied,
	"UnrecognizedClientException":   denied,
	"InvalidClientTokenId":          denied,
	"MissingAuthenticationToken":    denied,
	"ValidationException":           denied,
	"UnknownOperationException":     denied,
	"KMSAccessDeniedException":      denied,
	"KMSDisabledException":          denied,
	"KMSInvalidStateException":      denied,
	"KMSNotFoundException":          denied,
	"KMSOptInRequired":              denied,
}

// reachedMax is how the service words that nothing can come after the last record of a closed shard
// (hazard H13).
const reachedMax = "reached max possible value for the shard"

// classify sorts an error and gives its code, empty if it is not the service's.
func classify(err error) (fault, string) {
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return transient, ""
	}
	code := answer.ErrorCode()
	f := faults[code]
	if f == invalid && strings.Contains(answer.ErrorMessage(), reachedMax) {
		f = ended
	}
	return f, code
}

const (
	backoffBase = 200 * time.Millisecond
	backoffCap  = 10 * time.Second

	// deniedRetry is how often a call is tried again that only a person can make succeed.
	deniedRetry = time.Minute

	// stalledAfter is how long nothing must have succeeded before people hear of what may pass by itself.
	stalledAfter = time.Minute
)

// backoff is the pause after so many failures in a row: exponential, with full jitter, so that shards
// that failed together do not come back together. random is in [0, 1).
func backoff(failures int, random float64) time.Duration {
	most := backoffCap
	if failures < 7 { // beyond, the shift is over the cap
		most = min(most, backoffBase<<max(0, failures-1))
	}
	return time.Duration(random * float64(most))
}
