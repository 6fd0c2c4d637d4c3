package lease

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"
	"unsafe"
)

// AppendState sees every field of a member's state. The fields are found by reflection, so that none that is added
// later is forgotten: an explorer would take two states for one.
func TestAppendStateSeesEveryField(t *testing.T) {
	t.Parallel()
	m := fullMember()
	base := m.AppendState(nil)
	fields := 0
	eachLeaf(reflect.ValueOf(m).Elem(), "Member", func(path string, field reflect.Value) {
		switch path {
		case "Member.cfg", "Member.steps", "Member.out", "Member.view.inRead":
			return // the same for all; only their order counts; empty between steps; means something only within its step
		case "Member.viewOrder", "Member.heldOrder", "Member.outstanding", "Member.sendAt", "Member.silentAt":
			return // they follow from the view, the leases held, the writes and the peers
		}
		fields++
		before := reflect.New(field.Type()).Elem()
		before.Set(field)
		alter(t, path, field)
		if bytes.Equal(m.AppendState(nil), base) {
			t.Errorf("AppendState does not see %s", path)
		}
		field.Set(before)
		if !bytes.Equal(m.AppendState(nil), base) {
			t.Fatalf("%s was put back, and the state is another", path)
		}
	})
	if fields < 100 {
		t.Errorf("only %d fields were found", fields)
	}
}

// Times count from now, steps by their order: the same state later has the same bytes.
func TestAppendStateShifts(t *testing.T) {
	t.Parallel()
	a, b := fullMember(), fullMember()
	eachLeaf(reflect.ValueOf(b).Elem(), "Member", func(path string, field reflect.Value) {
		switch field.Interface().(type) {
		case Time:
			field.SetInt(field.Int() + int64(time.Hour))
		case uint64:
			field.SetUint(3 * field.Uint())
		}
	})
	if !bytes.Equal(a.AppendState(nil), b.AppendState(nil)) {
		t.Error("an hour later the same state is another")
	}
}

// fullMember is a member all of whose fields are set, each number of a step and each time to another value.
func fullMember() *Member {
	item := func(key Key) Item {
		return Item{
			Key: key, Counter: 1,
			Lease: Lease{Owner: "o", Checkpoint: Position{kind: kindSequence, seq: "1", sub: 2, at: 3}, OwnerSwitches: 1,
				Parents: []string{"p"}, Children: []string{"c"}, HashRange: HashRange{Start: "0", End: "1"}, Root: true,
				Hold: Hold{Version: 1, ID: "t", Reason: "r", For: time.Second}},
			Worker: Worker{State: Alive, Streams: []string{"s"}, MaxShards: 1, Failover: time.Second, Wants: []string{"s/x"}},
			Control: Control{Version: 1, Streams: []StreamRecord{
				{Name: "s", ARN: "a", Created: time.UnixMilli(1), Start: Position{kind: kindSequence, seq: "1", sub: 2, at: 3}, Ready: true}}},
		}
	}
	shard := Shard{ID: "x", Parents: []string{"p"}, HashRange: HashRange{Start: "0", End: "1"}, Closed: true}
	key := LeaseKey("s", "x")
	m := &Member{
		phase: active, me: item(WorkerKey("a")), failure: errors.New("f"), control: item(ControlKey()),
		writes:     map[Key]*write{key: {purpose: forTake, w: Write{Op: Update, Item: item(key), Counter: 1, Owner: "o"}, pause: time.Second}},
		peers:      map[string]*peer{"b": {item: item(WorkerKey("b"))}},
		view:       map[string]*viewed{"x": {item: item(key), from: "b"}},
		unreadable: map[string]bool{"u": true},
		listed:     map[string]Shard{"x": shard}, roots: map[string]Shard{"x": shard},
		wantRoots: &ListShards{At: TrimHorizon()}, listAsked: &ListShards{All: true, At: TrimHorizon()},
		suspects: map[string]bool{"y": true}, wants: []string{"s/x"},
		held:   map[string]*holding{"x": {item: item(key), token: 1, acked: Position{kind: kindSequence, seq: "1", sub: 2, at: 3}, children: []Shard{shard}, heir: "b"}},
		halted: map[string]bool{"h": true},
	}
	next := int64(0)
	eachLeaf(reflect.ValueOf(m).Elem(), "Member", func(path string, field reflect.Value) {
		next++
		switch field.Interface().(type) {
		case Time:
			field.SetInt(next)
		case uint64:
			field.SetUint(uint64(next))
		case bool:
			field.SetBool(true)
		}
	})
	return m
}

// eachLeaf visits the fields below a struct, in the same order each time, through pointers, maps of pointers with one
// element, and the first elements of slices of structs.
func eachLeaf(v reflect.Value, path string, visit func(string, reflect.Value)) {
	for i := range v.NumField() {
		field, name := v.Field(i), path+"."+v.Type().Field(i).Name
		field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() // they are not exported
		switch kind := field.Kind(); {
		case field.Type() == reflect.TypeFor[time.Time]() || field.Type() == reflect.TypeFor[MemberConfig]():
			visit(name, field)
		case kind == reflect.Struct:
			eachLeaf(field, name, visit)
		case kind == reflect.Pointer:
			eachLeaf(field.Elem(), name, visit)
			visit(name, field)
		case kind == reflect.Map && field.Type().Elem().Kind() == reflect.Pointer:
			for _, k := range field.MapKeys() {
				eachLeaf(field.MapIndex(k).Elem(), name, visit)
			}
			visit(name, field)
		case kind == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct && field.Len() > 0:
			eachLeaf(field.Index(0), name+"[0]", visit)
			visit(name, field)
		default:
			visit(name, field)
		}
	}
}

// alter gives a field another value.
func alter(t *testing.T, path string, field reflect.Value) {
	switch v := field.Interface().(type) {
	case time.Time:
		field.Set(reflect.ValueOf(v.Add(time.Millisecond)))
		return
	case time.Duration:
		field.SetInt(int64(v) + 1)
		return
	case uint64: // a number of a step: none
		field.SetUint(0)
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
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		field.SetZero()
	default:
		t.Fatalf("%s is a %s: say here how to alter it", path, field.Kind())
	}
}
