package fetch

import "net/http"

// HTTPClient sends requests, as *http.Client does; it is the SDK's interface.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// MeteredHTTP wraps the HTTP client of the Kinesis SDK client so that the answers that a Reader asks
// for are paid for from its Credit before their body is read. Nil means a client of its own.
func MeteredHTTP(inner HTTPClient) HTTPClient { panic("skeleton") }
