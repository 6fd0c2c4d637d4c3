package local_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/local"
)

// TestLoopback repeats the life of a stream on a port: over HTTP/1.1 and over
// HTTP/2 without TLS, with the SDK's default retries (it must not need them).
func TestLoopback(t *testing.T) {
	t.Parallel()
	for name, enable := range map[string]func(*http.Protocols){
		"HTTP1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP2": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			server := local.New(local.Config{Unlimited: true})
			endpoint := serve(t, server)
			transport := &http.Transport{Protocols: new(http.Protocols)}
			enable(transport.Protocols)
			seen := &protocolOf{inner: transport}
			defer transport.CloseIdleConnections()

			config := server.AWSConfig()
			config.BaseEndpoint = aws.String(endpoint)
			config.HTTPClient = &http.Client{Transport: seen}
			lifeOfAStream(&fixture{t, server, kinesis.NewFromConfig(config)})
			if want := "HTTP/" + map[string]string{"HTTP1": "1.1", "HTTP2": "2.0"}[name]; seen.proto != want {
				t.Errorf("spoke %s, want %s", seen.proto, want)
			}
		})
	}
}

// protocolOf remembers the protocol of the last answer.
type protocolOf struct {
	inner http.RoundTripper
	proto string
}

func (p *protocolOf) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.inner.RoundTrip(r)
	if err == nil {
		p.proto = answer.Proto
	}
	return answer, err
}
