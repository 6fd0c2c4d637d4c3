package record

import (
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

func TestPosition(t *testing.T) {
	r := Record{Shard: "shardId-000000000000", SequenceNumber: "4957", SubSequenceNumber: 3}
	want, err := lease.AfterSequence("4957", 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Position(); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	r.SequenceNumber = "x"
	if _, err := r.Position(); err == nil {
		t.Error("a bad sequence number is no position")
	}
}

// TestSize: a record's size counts all that keeps memory for it, the unused end of its payload's array
// included, and nothing that other records share.
func TestSize(t *testing.T) {
	var r Record
	empty := r.Size()
	if empty < 16*8 || empty > 512 {
		t.Errorf("an empty record has %d bytes", empty)
	}
	r.Data = make([]byte, 10, 1000)
	r.SequenceNumber, r.PartitionKey, r.ExplicitHashKey = "123", "ab", "c"
	r.Stream, r.Shard, r.ArrivalTime = "orders", "shardId-000000000000", time.Now()
	if got := r.Size(); got != empty+1000+6 {
		t.Errorf("%d bytes, want %d", got, empty+1006)
	}
}
