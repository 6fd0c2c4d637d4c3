package dispatch

import (
	"context"
	"fmt"
	"testing"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// BenchmarkLane is what the lane costs for each record, with a handler that does nothing: what is measured
// is the order, the watermark and the bytes' way back.
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
			batches := make([][]record.Record, b.N/batchSize+1)
			for i, n := 0, 0; i < len(batches); i++ {
				batches[i] = make([]record.Record, batchSize)
				for j := range batches[i] {
					batches[i][j] = record.Record{
						SequenceNumber: fmt.Sprintf("49590338271490256608559692538361571095921575989136%06d", n),
						PartitionKey:   fmt.Sprintf("customer-%d", n*7919%keys), Data: make([]byte, 128),
					}
					n++
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			go l.Run()
			for i, records := range batches {
				if _, _, err := l.Room(b.Context()); err != nil {
					b.Fatal(err)
				}
				l.Push(records, nil, i == len(batches)-1)
			}
			<-l.Done()
		})
	}
}
