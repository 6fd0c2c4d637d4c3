package file_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/store/file"
)

// Two Stores, as in two processes, share a folder. Both want the same free lease.
func Example() {
	dir, err := os.MkdirTemp("", "leat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	free := lease.Item{Key: lease.LeaseKey("orders", "shardId-000000000000")}
	for _, worker := range []string{"anna", "berta"} {
		store := file.New(dir)
		if _, err := store.Open(ctx, true); err != nil {
			fmt.Println(err)
			return
		}
		defer store.Close()

		_, err := store.Write(ctx, "billing", lease.Write{Op: lease.Create, Item: free})
		var conflict *lease.ConflictError
		if err != nil && !errors.As(err, &conflict) { // a conflict: the lease is there already
			fmt.Println(err)
			return
		}
		taken := free
		taken.Counter = 1
		taken.Lease.Owner = worker
		_, err = store.Write(ctx, "billing", lease.Write{Op: lease.Update, Item: taken, Counter: 0, Owner: ""})
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
