package leat

import "fmt"

// Order says which records of a shard wait for each other. The zero value is PerShard().
type Order struct {
	perKey bool
	n      int
}

// maxPerKey keeps the goroutines of a worker that holds many shards in bounds.
const maxPerKey = 1024

// PerShard handles one record of a shard at a time, in the order of sequence numbers.
func PerShard() Order { return Order{} }

// PerKey handles up to n records of a shard at once, from 1 to 1024, but never two of one partition key:
// each key's records are handled one at a time, in the order of sequence numbers, also across splits, merges
// and failovers. A record that fails holds up its own key, and no other until Config.MaxInFlight. n is for
// each shard, so that the handler may be called n times the number of shards at once. While handlers take less than 20 us
// on average one goroutine calls them all, which keeps up with any shard; a record that takes longer then holds up other keys for 2 ms at most.
//
// The key is Record.PartitionKey. An explicit hash key plays no part: the service does not tell it with
// plain records.
//
// A checkpoint is the position below the oldest record that is not handled. So what was handled above that record
// is handled again, in order, after a crash, and also after a clean stop or a move of the shard if that record
// is being retried then. One that waits for its key's turn is still handled before the stop, within DrainTimeout.
func PerKey(n int) Order { return Order{perKey: true, n: n} }

func (o Order) valid() error {
	if o.perKey && (o.n < 1 || o.n > maxPerKey) {
		return fmt.Errorf("PerKey(%d): from 1 to %d", o.n, maxPerKey)
	}
	return nil
}

// String returns the call that makes the order, such as "PerKey(64)".
func (o Order) String() string {
	if o.perKey {
		return fmt.Sprintf("PerKey(%d)", o.n)
	}
	return "PerShard()"
}
