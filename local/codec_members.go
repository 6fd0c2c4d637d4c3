package local

import (
	"reflect"
	"sync"
)

// member is a member of a request or an answer: a field of its Go type.
type member struct {
	name      string
	index     []int // for reflect.Value.FieldByIndex
	omitEmpty bool  // tagged so for encoding/json
}

var membersByType sync.Map // of []member, by reflect.Type

// membersOf are the members of a struct type as encoding/json sees them, those of embedded structs among them.
func membersOf(t reflect.Type) []member {
	if known, ok := membersByType.Load(t); ok {
		return known.([]member)
	}
	var list []member
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			list = append(list, member{f.Name, f.Index, f.Tag.Get("json") == ",omitempty"})
		}
	}
	membersByType.Store(t, list)
	return list
}
