package leat

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leatstream/leat/local"
)

// asked keeps the content types of requests for records, in order, without repeats.
type asked struct {
	inner interface {
		Do(*http.Request) (*http.Response, error)
	}
	mu    sync.Mutex
	types []string
}

func (a *asked) Do(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	kind := req.Header.Get("Content-Type")
	if strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".GetRecords") && !slices.Contains(a.types, kind) {
		a.types = append(a.types, kind)
	}
	a.mu.Unlock()
	return a.inner.Do(req)
}

// Config.Format is how records are asked for, and nothing else is.
func TestRunFormat(t *testing.T) {
	for format, want := range map[Format]string{FormatJSON: "application/x-amz-json-1.1", FormatCBOR: "application/x-amz-cbor-1.1", FormatAuto: "application/x-amz-cbor-1.1"} {
		t.Run(format.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRiver(t, local.Config{}, 1)
				config := r.server.AWSConfig()
				line := &asked{inner: config.HTTPClient}
				config.HTTPClient = line
				anna := r.start("anna", nil, func(c *Config) { c.AWS, c.Format = &config, format })
				r.fill(3, 3, time.Second)
				elapse(2 * time.Second)
				r.must(anna.stop())
				r.judge(0)
				if !slices.Equal(line.types, []string{want}) {
					t.Errorf("asked for %q, want %q only", line.types, want)
				}
			})
		})
	}
}
