package fetch

import (
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// NewHTTP returns the HTTP client for the calls of many Readers with this poll interval. Of the SDK's own client, which nil
// stands for, it takes the transport's settings and the time-out; any other client is the caller's choice, and used as it is.
func NewHTTP(given aws.HTTPClient, poll time.Duration) HTTPClient {
	if given == nil {
		given = awshttp.NewBuildableClient()
	}
	sdk, ok := given.(*awshttp.BuildableClient)
	if !ok {
		return given
	}
	transport := sdk.GetTransport()
	// As many connections as there were calls at one time, and so one for each shard at most. The SDK keeps 10 of them idle; with
	// more calls at one time, most would dial.
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 1024
	transport.IdleConnTimeout = max(spareAfter, 2*poll)
	// HTTP/1.1 only: net/http reads up to 4 MiB of each HTTP/2 answer ahead of its reader, bytes that no budget would
	// know of.
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.ForceAttemptHTTP2 = false
	transport.DisableCompression = true // a compressed answer does not tell its length
	return &http.Client{
		Transport: transport, // not within the SDK's own, by which nobody could close the idle connections
		Timeout:   sdk.GetTimeout(),
		// A redirect is an error to the SDK, not another host to send signed requests to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// spareAfter is how long a connection is idle before it is closed; it is longer if the poll interval is. net/http uses the one
// that was used last, so one that the polling needs is not idle for long, and the others are spare: when 1,000 shards have been
// opened at once there are about 400, of which ten are still needed. Each costs about 30 KiB, more with TLS. To close them
// sooner would be to dial again, and with TLS to shake hands, after every short stall of the machine or of the service.
const spareAfter = 5 * time.Second
