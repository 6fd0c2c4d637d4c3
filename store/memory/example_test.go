package memory_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/memory"
)

// Two workers want the same free lease; the compare-and-swap lets one of them have it.
func Example() {
	ctx := context.Background()
	store := memory.New()

	free := lease.Item{Key: lease.LeaseKey("orders", "shardId-000000000000")}
	if _, err := store.Write(ctx, "billing", lease.Write{Op: lease.Create, Item: free}); err != nil {
		fmt.Println(err)
		return
	}
	for _, worker := range []string{"anna", "berta"} {
		taken := free
		taken.Counter = 1
		taken.Lease.Owner = worker
		_, err := store.Write(ctx, "billing", lease.Write{Op: lease.Update, Item: taken, Counter: 0, Owner: ""})
		var conflict *lease.ConflictError
		switch {
		case errors.As(err, &conflict):
			fmt.Printf("%s: %s has it\n", worker, conflict.Item.Lease.Owner)
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Printf("%s: taken\n", worker)
		}
	}
	// Output:
	// anna: taken
	// berta: anna has it
}
