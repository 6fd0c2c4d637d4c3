package leat

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/memory"
)

func someBatch() *Batch {
	return &Batch{Handler: BatchHandlerFunc(func(context.Context, []Record) error { return nil })}
}

// valid is a configuration without a fault.
func valid() Config {
	return Config{
		Group: "billing", Stream: "orders", Store: memory.New(),
		Handler: HandlerFunc(func(context.Context, *Record) error { return nil }),
	}
}

func TestValidateAccepts(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"zero values":   func(*Config) {},
		"DynamoDB":      func(c *Config) { c.Store = nil },
		"an ARN":        func(c *Config) { c.Stream = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders" },
		"an ARN in cn":  func(c *Config) { c.Stream = "arn:aws-cn:kinesis:cn-north-1:123456789012:stream/orders" },
		"an endpoint":   func(c *Config) { c.Endpoint = "http://127.0.0.1:4567" },
		"latest":        func(c *Config) { c.Start = Latest() },
		"a time":        func(c *Config) { c.Start = AtTimestamp(time.Unix(1, 0)) },
		"least of all":  func(c *Config) { c.MaxBuffered, c.FailoverTime = 16<<20, time.Second },
		"least periods": func(c *Config) { c.PollInterval, c.CheckpointInterval = 200*time.Millisecond, 100*time.Millisecond },
		"per shard":     func(c *Config) { c.Order = PerShard() },
		"per key":       func(c *Config) { c.Order, c.MaxInFlight = PerKey(1), 1 },
		"most per key":  func(c *Config) { c.Order = PerKey(1024) },
		"a batch":       func(c *Config) { c.Handler, c.Batch = nil, someBatch() },
		"a batch a key": func(c *Config) { c.Handler, c.Batch, c.Order = nil, someBatch(), PerKey(4) },
		"shards":        func(c *Config) { c.Handler, c.Shards, c.Batch = nil, &keeper{}, &Batch{MaxRecords: 10} },
		"dead letters":  func(c *Config) { c.Retry.Attempts, c.DeadLetter = 3, &policyWorld{} },
		"poison only":   func(c *Config) { c.DeadLetter = &policyWorld{} },
		"longest group": func(c *Config) { c.Group = strings.Repeat("g", 255) },
	} {
		c := valid()
		change(&c)
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	after, err := lease.AfterSequence("1", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		field  string
		change func(*Config)
	}{
		{"Group", func(c *Config) { c.Group = "" }},
		{"Group", func(c *Config) { c.Group = "a group" }},
		{"Group", func(c *Config) { c.Group = strings.Repeat("g", 256) }},
		{"Stream", func(c *Config) { c.Stream = "" }},
		{"Stream", func(c *Config) { c.Stream = strings.Repeat("s", 129) }},
		{"Stream", func(c *Config) { c.Stream = "arn:aws:kinesis:eu-west-1:123:stream/orders" }},
		{"Stream", func(c *Config) { c.Stream = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/x" }},
		{"Endpoint", func(c *Config) { c.Endpoint = "127.0.0.1:4567" }},
		{"Endpoint", func(c *Config) { c.Endpoint = "localhost" }},
		{"Endpoint", func(c *Config) { c.Endpoint = "http://" }},
		{"Worker", func(c *Config) { c.Worker = "anna@host" }},
		{"Worker", func(c *Config) { c.Worker = strings.Repeat("w", 129) }},
		{"Worker", func(c *Config) { c.Worker = "anna\xff" }},
		{"Handler", func(c *Config) { c.Handler = nil }},
		{"Order", func(c *Config) { c.Order = PerKey(0) }},
		{"Order", func(c *Config) { c.Order = PerKey(-1) }},
		{"Order", func(c *Config) { c.Order = PerKey(1025) }},
		{"MaxInFlight", func(c *Config) { c.MaxInFlight = -1 }},
		{"Handler", func(c *Config) { c.Batch = &Batch{} }},
		{"Handler", func(c *Config) { c.Shards = &keeper{} }},
		{"Handler", func(c *Config) { c.Handler, c.Shards, c.Batch = nil, &keeper{}, someBatch() }},
		{"Batch.Handler", func(c *Config) { c.Handler, c.Batch = nil, &Batch{} }},
		{"Batch.MaxRecords", func(c *Config) { c.Handler, c.Batch = nil, someBatch(); c.Batch.MaxRecords = 10_001 }},
		{"Batch.MaxRecords", func(c *Config) { c.Handler, c.Batch = nil, someBatch(); c.Batch.MaxRecords = -1 }},
		{"Batch.MaxBytes", func(c *Config) { c.Handler, c.Batch = nil, someBatch(); c.Batch.MaxBytes = 16<<20 + 1 }},
		{"Batch.MaxBytes", func(c *Config) { c.Handler, c.Batch = nil, someBatch(); c.Batch.MaxBytes = -1 }},
		{"Batch.MaxWait", func(c *Config) { c.Handler, c.Batch = nil, someBatch(); c.Batch.MaxWait = -1 }},
		{"Order", func(c *Config) { c.Handler, c.Shards, c.Order = nil, &keeper{}, PerKey(2) }},
		{"Retry.Attempts", func(c *Config) { c.Retry.Attempts = -1 }},
		{"Retry.MaxAge", func(c *Config) { c.Retry.MaxAge = -1 }},
		{"Retry.Pause", func(c *Config) { c.Retry.Pause = -1 }},
		{"Retry.MaxPause", func(c *Config) { c.Retry.MaxPause = -1 }},
		{"Retry.Then", func(c *Config) { c.Retry.Attempts = 1 }},
		{"Retry.Then", func(c *Config) { c.Retry.MaxAge = 1 }},
		{"Retry.Then", func(c *Config) { c.Retry.Then = 3 }},
		{"DeadLetter", func(c *Config) { c.Retry.Then, c.DeadLetter = Skip, &policyWorld{} }},
		{"Start", func(c *Config) { c.Start = after }},
		{"Start", func(c *Config) { c.Start = lease.ShardEnd() }},
		{"OnTrimmed", func(c *Config) { c.OnTrimmed = Skip }},
		{"OnStray", func(c *Config) { c.OnStray = Halt }},
		{"MaxShards", func(c *Config) { c.MaxShards = -1 }},
		{"MaxBuffered", func(c *Config) { c.MaxBuffered = 16<<20 - 1 }},
		{"MaxBuffered", func(c *Config) { c.MaxBuffered = -1 }},
		{"CheckpointInterval", func(c *Config) { c.CheckpointInterval = time.Millisecond }},
		{"PollInterval", func(c *Config) { c.PollInterval = 199 * time.Millisecond }},
		{"ReadQuota", func(c *Config) { c.ReadQuota.Calls = -1 }},
		{"ReadQuota", func(c *Config) { c.ReadQuota.Bytes = -1 }},
		{"FailoverTime", func(c *Config) { c.FailoverTime = 999 * time.Millisecond }},
		{"FailoverTime", func(c *Config) { c.FailoverTime = 25 * time.Hour }},
		{"HandlerTimeout", func(c *Config) { c.HandlerTimeout = -1 }},
		{"HandlerTimeout", func(c *Config) { c.HandlerTimeout = math.MaxInt64 }},
		{"DrainTimeout", func(c *Config) { c.DrainTimeout = -1 }},
		{"DrainTimeout", func(c *Config) { c.DrainTimeout = math.MaxInt64 }},
		{"CheckpointInterval", func(c *Config) { c.CheckpointInterval = math.MaxInt64 }},
		{"PollInterval", func(c *Config) { c.PollInterval = math.MaxInt64 }},
		{"Retry.MaxPause", func(c *Config) { c.Retry.MaxPause = math.MaxInt64 }},
		{"Format", func(c *Config) { c.Format = -1 }},
	} {
		cfg := valid()
		c.change(&cfg)
		err := cfg.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), c.field+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one fault of that field", c.field, err)
		}
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: New accepts what Validate refuses", c.field)
		}
	}
}

func TestValidateTellsEveryFaultAtOnce(t *testing.T) {
	err := Config{
		Worker: "/", Endpoint: "localhost:4567", Order: PerKey(0), Format: 3, MaxInFlight: -1, Start: lease.ShardEnd(), OnTrimmed: -1, MaxShards: -1, MaxBuffered: 1, CheckpointInterval: 1,
		PollInterval: 1, FailoverTime: 1, HandlerTimeout: -1, DrainTimeout: -1,
	}.Validate()
	var fields []string
	for line := range strings.Lines(err.Error()) {
		field, _, _ := strings.Cut(line, ":")
		fields = append(fields, field)
	}
	const want = "Group Stream Worker Endpoint Handler Format Order MaxInFlight Start OnTrimmed MaxShards MaxBuffered CheckpointInterval PollInterval FailoverTime HandlerTimeout DrainTimeout"
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("faults of\n%s, want\n%s", got, want)
	}
}

func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	if c.MaxInFlight != 10_000 || c.MaxBuffered != 64<<20 || c.CheckpointInterval != 5*time.Second || c.PollInterval != time.Second ||
		c.FailoverTime != 6*time.Second || c.DrainTimeout != 20*time.Second || c.HandlerTimeout != 0 || c.Logger == nil {
		t.Errorf("%+v", c)
	}
	if c.OnTrimmed != Continue || c.Start != TrimHorizon() || c.Order != PerShard() {
		t.Errorf("%+v", c)
	}
}
