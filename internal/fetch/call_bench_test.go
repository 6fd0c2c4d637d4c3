package fetch

import (
	"testing"

	"github.com/leatstream/leat/internal/wire"
)

// BenchmarkCall is a call that has nothing to tell: what polling a quiet shard costs.
func BenchmarkCall(b *testing.B) {
	client := newStatic(b, wire.CBOR, 0, 0).client(wire.CBOR)
	r := NewReader(client, Config{Stream: Stream{Name: streamName}, Shard: firstShard, Quota: Quota{Calls: 1_000_000, Bytes: 1 << 50}})
	b.ReportAllocs()
	for b.Loop() {
		var err error
		apart(func() { _, _, err = r.step(b.Context()) })
		if err != nil {
			b.Fatal(err)
		}
	}
}
