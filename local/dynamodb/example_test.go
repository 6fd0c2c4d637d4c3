package dynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local/dynamodb"
	"github.com/leatstream/leat/store/dynamo"
)

// A test of a program whose leases are in DynamoDB, without a network: the table is lost in the middle.
func Example() {
	ctx := context.Background()
	server := dynamodb.New(dynamodb.Config{})
	cfg := server.AWSConfig()
	store := dynamo.New(dynamo.Config{AWS: &cfg})
	if _, err := store.Open(ctx, true); err != nil {
		log.Fatal(err)
	}
	members, err := store.Members(ctx, "billing", false)
	fmt.Println(len(members), err)

	// The next call is refused by the service, the one after that is not.
	server.SetFaults(1, dynamodb.Fault{Kind: dynamodb.Throttle, Op: "Query", Share: 1, Count: 1})
	members, err = store.Members(ctx, "billing", false)
	fmt.Println(len(members), err)

	backup, err := server.Backup(dynamo.DefaultTable)
	if err != nil {
		log.Fatal(err)
	}
	server.Restore(backup)
	_, err = store.Open(ctx, true)
	fmt.Println(errors.Is(err, dynamo.ErrReplaced), errors.Is(err, lease.ErrStoreGone))
	// Output:
	// 0 <nil>
	// 0 <nil>
	// true true
}
