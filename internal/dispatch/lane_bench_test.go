package dispatch

import (
	"context"
	"fmt"
	"testing"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// BenchmarkLane is what the lane costs for each record, with a handler that does nothing: what is measured
// is the order, the watermark and the bytes' way back, and what it costs to make a record as a reader does.
func BenchmarkLane(b *testing.B) {
	const batchSize, keys = 1000, 5000
	for name, set := range map[string]func(*LaneConfig){
		"PerShard":   func(*LaneConfig) {},
		"PerKey(64)": func(c *LaneConfig) { c.PerKey, c.AtOnce, c.MaxInFlight = true, 64, 10_000 },
	} {
		b.Run(name, func(b *testing.B) {
			cfg := LaneConfig{
				Start: lease.TrimHorizon(), Gate: newSwitchGate(true), Give: func(int64) {}, Ended: func() {},
				Handle: func(context.Context, []record.Record) error { return nil },
			}
			set(&cfg)
			l := NewLane(b.Context(), cfg)
			answer := make([]record.Record, batchSize)
			for n := range answer {
				answer[n] = record.Record{
					SequenceNumber: fmt.Sprintf("49590338271490256608559692538361571095921575989136%06d", n),
					PartitionKey:   fmt.Sprintf("customer-%d", n*7919%keys), Data: make([]byte, 128),
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			go l.Run()
			for left := b.N; left > 0; left -= batchSize {
				if _, _, err := l.Room(b.Context()); err != nil {
					b.Fatal(err)
				}
				records, memory := remembered(answer[:min(left, batchSize)])
				l.Push(records, memory, left <= batchSize)
			}
			<-l.Done()
		})
	}
}
