package lease_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// Equal sees every field. The fields are found by reflection, so that none that is added later is
// forgotten: two items that differ and are Equal would pass for one write.
func TestEqualSeesEveryField(t *testing.T) {
	t.Parallel()
	if a, b := full(), full(); !a.Equal(b) {
		t.Fatal("an item is not Equal to its copy")
	}
	item := full()
	var fields int
	eachField(reflect.ValueOf(&item).Elem(), "Item", func(path string, field reflect.Value) {
		fields++
		before := reflect.ValueOf(field.Interface())
		change(t, path, field)
		if item.Equal(full()) || full().Equal(item) {
			t.Errorf("Equal does not see %s", path)
		}
		field.Set(before)
	})
	if fields < 20 || !item.Equal(full()) {
		t.Errorf("%d fields were changed and put back; the item is %+v", fields, item)
	}
}

func full() lease.Item {
	at := time.UnixMilli(1767365045678)
	return lease.Item{
		Key:     lease.Key{Kind: lease.KindLease, Stream: "orders", Shard: "s", Worker: "w"},
		Counter: 1,
		Lease: lease.Lease{Owner: "anna", Checkpoint: lease.AtTimestamp(at), OwnerSwitches: 1, Parents: []string{"a"}, Children: []string{"b"},
			HashRange: lease.HashRange{Start: "0", End: "1"}, Root: true,
			Hold: lease.Hold{Version: 1, ID: "t1", Reason: "anna", For: time.Second}},
		Worker: lease.Worker{State: lease.Alive, Streams: []string{"orders"}, MaxShards: 1, Failover: time.Second, Wants: []string{"orders/t"}},
		Control: lease.Control{Version: 1, Streams: []lease.StreamRecord{
			{Name: "orders", ARN: "arn", Created: at, Start: lease.AtTimestamp(at), Ready: true}}},
	}
}

// eachField visits the fields below v that are no structs of this package, and the first element of
// slices of those.
func eachField(v reflect.Value, path string, visit func(string, reflect.Value)) {
	for i := range v.NumField() {
		field, name := v.Field(i), path+"."+v.Type().Field(i).Name
		switch field.Interface().(type) {
		case lease.Position, time.Time:
			visit(name, field)
			continue
		}
		switch {
		case field.Kind() == reflect.Struct:
			eachField(field, name, visit)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			eachField(field.Index(0), name+"[0]", visit)
			visit(name, field)
		default:
			visit(name, field)
		}
	}
}

// change gives a field another value.
func change(t *testing.T, path string, field reflect.Value) {
	switch v := field.Interface().(type) {
	case lease.Position:
		field.Set(reflect.ValueOf(lease.ShardEnd()))
		return
	case time.Time:
		field.Set(reflect.ValueOf(v.Add(time.Millisecond)))
		return
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Int, reflect.Int64:
		field.SetInt(field.Int() + 1)
	case reflect.Uint8:
		field.SetUint(field.Uint() + 1)
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.Slice:
		field.SetZero()
	default:
		t.Fatalf("%s is a %s: say here how to change it", path, field.Kind())
	}
}

// Times are instants: a store gives them back in another location.
func TestEqualTimes(t *testing.T) {
	t.Parallel()
	a, b := full(), full()
	b.Control.Streams[0].Created = b.Control.Streams[0].Created.In(time.FixedZone("east", 3600))
	if !a.Equal(b) {
		t.Error("the same instant in another zone is another item")
	}
}

func TestControlStream(t *testing.T) {
	t.Parallel()
	c := full().Control
	if s, ok := c.Stream("orders"); !ok || s.ARN != "arn" {
		t.Errorf("Stream(orders) is %+v, %t", s, ok)
	}
	if s, ok := c.Stream("order"); ok {
		t.Errorf("Stream(order) is %+v", s)
	}
}

func TestWriteApplies(t *testing.T) {
	t.Parallel()
	item := lease.Item{Key: lease.LeaseKey("orders", "s"), Counter: 3, Lease: lease.Lease{Owner: "anna"}}
	cases := []struct {
		op      lease.Op
		counter int64
		owner   string
		found   bool
		want    bool
	}{
		{lease.Create, 0, "", false, true},
		{lease.Create, 3, "anna", true, false},
		{lease.Update, 3, "anna", true, true},
		{lease.Update, 2, "anna", true, false},
		{lease.Update, 3, "", true, false},
		{lease.Update, 3, "anna", false, false},
		{lease.Delete, 3, "anna", true, true},
		{lease.Delete, 4, "anna", true, false},
		{lease.Delete, 3, "berta", true, false},
		{lease.Delete, 0, "", false, false},
		{lease.SetHold, 0, "", true, true}, // whatever the counter and the owner
		{lease.SetHold, 3, "anna", true, true},
		{lease.SetHold, 0, "", false, false},
	}
	for _, c := range cases {
		stands := item
		if !c.found {
			stands = lease.Item{}
		}
		w := lease.Write{Op: c.op, Item: item, Counter: c.counter, Owner: c.owner}
		if c.op == lease.SetHold {
			w.Item.Lease.Hold.Version = 1
		}
		if got := w.Applies(stands, c.found); got != c.want {
			t.Errorf("%s at counter %d, owner %q, on an item that is there (%t): applies %t, want %t", c.op, c.counter, c.owner, c.found, got, c.want)
		}
	}
}
