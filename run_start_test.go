package leat

import (
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/local/dynamodb"
)

// A worker that is started in the middle of an outage, of Kinesis or of the store, begins when that is over.
func TestRunStartsInAnOutage(t *testing.T) {
	for name, outage := range map[string]func(*local.Server, float64){
		"Kinesis": func(s *local.Server, share float64) {
			s.SetFaults(1, local.Fault{Kind: local.Error, Op: "DescribeStreamSummary", Share: share})
		},
		"DynamoDB": func(s *local.Server, share float64) {
			s.DynamoDB().SetFaults(1, dynamodb.Fault{Kind: dynamodb.Error, Share: share})
		},
		"DynamoDB hangs": func(s *local.Server, share float64) {
			s.DynamoDB().SetFaults(1, dynamodb.Fault{Kind: dynamodb.Hang, Share: share})
		},
	} {
		for _, long := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRiver(t, local.Config{}, 1)
					r.put("a", 0)
					outage(r.server, 1)
					anna := r.start("anna", nil, inDynamoDB)
					elapse(20 * time.Second)
					if r.count() != 0 || anna.Health() == nil {
						t.Fatalf("%d handlers, health %v: there is no outage", r.count(), anna.Health())
					}
					if long {
						elapse(3 * time.Minute)
						select {
						case <-anna.done:
						default:
							t.Fatal("it still tries after minutes")
						}
						if anna.err == nil || !strings.Contains(anna.err.Error(), "leat: tried for ") {
							t.Errorf("error %v", anna.err)
						}
						return
					}
					outage(r.server, 0)
					elapse(40 * time.Second)
					r.must(anna.stop())
					r.judge(0)
				})
			})
		}
	}
}

// What a person has to put right is told at once.
func TestRunStartRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		began := time.Now()
		anna := r.start("anna", nil, func(c *Config) { c.Stream = "absent" })
		<-anna.done
		if took := time.Since(began); anna.err == nil || took > time.Second {
			t.Errorf("error %v after %v", anna.err, took)
		}
	})
}
