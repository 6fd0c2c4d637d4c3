package fetch

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"
)

func TestClassify(t *testing.T) {
	code := func(c string) error { return &smithy.GenericAPIError{Code: c, Message: "m"} }
	for _, c := range []struct {
		err  error
		want fault
	}{
		{errors.New("connection reset by peer"), transient},
		{&types.InternalFailureException{}, transient},
		{code("ServiceUnavailable"), transient},
		{code("ExpiredTokenException"), transient}, // the SDK renews credentials
		{code("RequestTimeTooSkewed"), transient},  // the SDK learns the service's clock
		{code("SomethingNew"), transient},
		{&types.ProvisionedThroughputExceededException{}, throttled},
		{&types.LimitExceededException{}, throttled},
		{&types.KMSThrottlingException{}, throttled},
		{&types.ExpiredIteratorException{}, expired},
		{&types.ExpiredNextTokenException{}, expired},
		{&types.InvalidArgumentException{Message: aws.String("Limit")}, invalid},
		{&types.InvalidArgumentException{}, invalid},
		{&types.InvalidArgumentException{Message: aws.String("... SequenceNumber has reached max possible value for the shard.")}, ended},
		{&types.ResourceNotFoundException{}, missing},
		{&types.AccessDeniedException{}, denied},
		{&types.KMSDisabledException{}, denied},
		{&types.KMSInvalidStateException{}, denied},
		{&types.KMSAccessDeniedException{}, denied},
		{&types.KMSNotFoundException{}, denied},
		{&types.KMSOptInRequired{}, denied},
		{&types.ValidationException{}, denied},
	} {
		if got, _ := classify(fmt.Errorf("operation error: %w", c.err)); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	for i, most := range []time.Duration{200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000} {
		if d := backoff(i+1, 0.999999999); d.Round(time.Millisecond) != most*time.Millisecond {
			t.Errorf("after %d failures up to %v", i+1, d)
		}
		if d := backoff(i+1, 0); d != 0 {
			t.Errorf("after %d failures from %v", i+1, d)
		}
	}
	if d := backoff(1<<40, 0.5); d != 5*time.Second {
		t.Errorf("after very many failures %v", d)
	}
}
