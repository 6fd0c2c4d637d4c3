package fetch

import (
	"slices"

	"github.com/leatstream/leat/lease"
)

func sameShard(a, b lease.Shard) bool {
	return a.ID == b.ID && slices.Equal(a.Parents, b.Parents) && a.HashRange == b.HashRange && a.Closed == b.Closed
}
