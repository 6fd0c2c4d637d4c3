package scale

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/lease/leasetest"
	"github.com/leatstream/leat/local/dynamodb"
	"github.com/leatstream/leat/store/dynamo"
)

// The table's units are those that local/dynamodb counts for the calls of the real store: of writes that land and that are
// refused, of items with all attributes, of reads of one page and of several.
func TestUnitsAreTheRealStores(t *testing.T) {
	t.Parallel()
	server := dynamodb.New(dynamodb.Config{})
	config := server.AWSConfig()
	store := dynamo.New(dynamo.Config{AWS: &config, NoTrial: true})
	if _, err := store.Open(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	model, r := newTable(0), rand.New(rand.NewPCG(7, 0))
	write := func(w lease.Write) {
		t.Helper()
		_, answer, _ := model.write(0, w)
		_, err := store.Write(t.Context(), groupName, w)
		_, refused := errors.AsType[*lease.ConflictError](err)
		if refused != (answer.Outcome == lease.Conflict) || err != nil && !refused {
			t.Fatalf("%v %v: %v, the model says %v", w.Op, w.Item.Key, err, answer.Outcome)
		}
	}
	compare := func(what string) {
		t.Helper()
		var reads, writes float64
		for _, u := range server.Usage() {
			reads, writes = reads+u.Read, writes+u.Write
		}
		if model.bill.writes() != writes || model.bill.reads() != reads {
			t.Errorf("%s: %.1f write units and %.1f read units, the server counted %.1f and %.1f",
				what, model.bill.writes(), model.bill.reads(), writes, reads)
		}
	}
	keys := []lease.Key{lease.ControlKey()}
	for i := range 12 {
		keys = append(keys, lease.WorkerKey(fmt.Sprintf("anna@host-%d/1:k3", i)))
	}
	for i := range 2000 {
		keys = append(keys, lease.LeaseKey("orders", fmt.Sprintf("shardId-%012d", i)))
	}
	random := func(key lease.Key) lease.Item {
		item := leasetest.RandomItem(r, key)
		if key.Kind == lease.KindLease {
			item.Lease.Owner = strings.Repeat("o", r.IntN(1200)) // so that there are several pages
		}
		return item
	}
	for i, key := range keys {
		item := random(key)
		write(lease.Write{Op: lease.Create, Item: item})
		item.Lease.Hold = lease.Hold{} // only SetHold writes it
		next := random(key)
		next.Counter, next.Lease.Hold = 1, lease.Hold{}
		update := lease.Write{Op: lease.Update, Item: next, Owner: item.Lease.Owner}
		switch i % 10 {
		case 1:
			write(update)
			write(update) // refused
		case 2:
			write(lease.Write{Op: lease.Create, Item: item}) // refused
		case 3:
			write(update)
			write(lease.Write{Op: lease.Delete, Item: lease.Item{Key: key}, Counter: 1, Owner: next.Lease.Owner})
			write(lease.Write{Op: lease.Delete, Item: lease.Item{Key: key}, Counter: 1, Owner: next.Lease.Owner}) // refused
		}
	}
	compare("after the writes")
	for _, consistent := range []bool{false, true} {
		want, _ := model.readMembers(0, consistent)
		got, err := store.Members(t.Context(), groupName, consistent)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d members, want %d (%v)", len(got), len(want), err)
		}
		compare(fmt.Sprintf("after a read of the members, consistent %t", consistent))
	}
	pages, last, items := 0, lease.Key{}, []lease.Item{}
	for pages == 0 || last != (lease.Key{}) {
		items, last, _ = model.readLeases(0, last, items)
		pages++
	}
	n := 0
	for _, err := range store.Leases(t.Context(), groupName, "orders") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(items) || pages < 2 {
		t.Fatalf("%d leases in %d pages, want %d in more than one", len(items), pages, n)
	}
	compare("after a read of the leases")
}
