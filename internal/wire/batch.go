package wire

import (
	"context"

	"github.com/leatstream/leat/internal/record"
)

// Batch receives the records of one GetRecords call whose context carries it. It may be used for one
// call at a time.
type Batch struct {
	// Template has the Stream, Shard and Token of every record. The answer has its SequenceNumber, PartitionKey, Data and
	// ArrivalTime.
	Template record.Record

	// Records are those of the answer, in its order. They are the caller's. The records of a call that failed
	// are nil.
	Records []record.Record

	// Memory is what lies behind Records, to be used again once they are settled; nil like them.
	Memory *record.Memory

	// Filled says that the answer's records are in Records. If not, the client is not behind a Protocol, and
	// they are in the output's.
	Filled bool

	asked Format // of this call
}

type batchKey struct{}

// WithBatch returns a context for a GetRecords call that fills b. The output then has everything but the
// records.
func WithBatch(ctx context.Context, b *Batch) context.Context {
	return context.WithValue(ctx, batchKey{}, b)
}

func batchOf(ctx context.Context) *Batch {
	b, _ := ctx.Value(batchKey{}).(*Batch)
	return b
}
