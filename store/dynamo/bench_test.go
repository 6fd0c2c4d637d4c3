package dynamo

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
)

// BenchmarkDecode is the work of one read of 10,000 leases, without the SDK's.
func BenchmarkDecode(b *testing.B) {
	position, err := lease.AfterSequence("49640000000000000000000000000000000000000000000000000002", 17)
	if err != nil {
		b.Fatal(err)
	}
	items := make([]map[string]types.AttributeValue, 10_000)
	for i := range items {
		item := lease.Item{Key: lease.LeaseKey("orders", fmt.Sprintf("shardId-%012d", i)), Lease: lease.Lease{
			Owner: "anna@host/1:k3", Checkpoint: position, OwnerSwitches: 3, Root: true, Parents: []string{"shardId-000000000001"},
			HashRange: lease.HashRange{Start: "170141183460469231731687303715884105728", End: "340282366920938463463374607431768211455"},
		}}
		items[i] = itemKey("billing", item.Key.String())
		for name, v := range item.Attributes() {
			if items[i][name], err = encode(v); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, raw := range items {
			if _, err := decode(raw); err != nil {
				b.Fatal(err)
			}
		}
	}
}
