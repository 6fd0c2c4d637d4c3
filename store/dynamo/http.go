package dynamo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// connectTimeout bounds how long a connection is being made. That goes on after the attempt that asked for it
// has timed out, for the next one.
const connectTimeout = 3 * time.Second

// newHTTP returns the HTTP client of a Store. Of the SDK's own client it takes the transport's settings, and makes a
// client that shares no connection with anybody: reads of records must not take the heartbeats' connections. Any
// other client is the caller's choice, and used.
func newHTTP(given aws.HTTPClient) aws.HTTPClient {
	if given == nil {
		given = awshttp.NewBuildableClient()
	}
	sdk, ok := given.(*awshttp.BuildableClient)
	if !ok {
		return leaseHTTP{given, func() {}}
	}
	transport, dialer := sdk.GetTransport(), sdk.GetDialer()
	dialer.Timeout = connectTimeout
	transport.DialContext = dialer.DialContext
	transport.TLSHandshakeTimeout = connectTimeout
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 64
	// One connection a call: an HTTP/2 connection that is dead would take all calls with it.
	transport.ForceAttemptHTTP2 = false
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	client := &http.Client{
		Transport: transport,
		// A redirect is an error to the SDK, not another host to send signed requests to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return leaseHTTP{client, client.CloseIdleConnections}
}

type leaseHTTP struct {
	inner     aws.HTTPClient
	closeIdle func()
}

// Do implements aws.HTTPClient.
func (c leaseHTTP) Do(r *http.Request) (*http.Response, error) {
	// Only Read and Close of the body: it cannot be written with its WriteTo and closed at one time, and a
	// server that answers within a millisecond makes net/http do so.
	type plain struct{ io.ReadCloser }
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a copy
		r.Body = plain{r.Body}
	}
	answer, err := c.inner.Do(r)
	if err != nil && errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		// The network may be cut, and all other connections be as dead as this one.
		c.closeIdle()
	}
	return answer, err
}
