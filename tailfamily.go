package leat

import (
	"slices"

	"github.com/leatstream/leat/lease"
)

// family says which shards may be read: a child once all of its parents have been. It is plain
// state.
type family struct {
	known map[string]lease.Shard // every shard that was ever listed
	begun map[string]bool        // true: read to its end
}

func newFamily() family {
	return family{known: map[string]lease.Shard{}, begun: map[string]bool{}}
}

// begin notes that a shard is being read.
func (f family) begin(id string) { f.begun[id] = false }

// end notes that a shard has been read to its end and returns the ids of the shards that may be read
// now, sorted. The caller begins them. listed is every shard of the stream.
func (f family) end(id string, listed []lease.Shard) []string {
	for _, s := range listed {
		f.known[s.ID] = s
	}
	f.begun[id] = true
	var ready []string
	for _, s := range f.known {
		if _, begun := f.begun[s.ID]; !begun && f.ready(s) {
			ready = append(ready, s.ID)
		}
	}
	slices.Sort(ready)
	return ready
}

// ready says whether a shard follows a finished one and waits for no other parent.
func (f family) ready(s lease.Shard) bool {
	return slices.ContainsFunc(s.Parents, func(p string) bool { return f.begun[p] }) &&
		!slices.ContainsFunc(s.Parents, f.pending)
}

// pending says whether a parent is still to be read. One that has not begun will be if an ancestor
// of it has: it then begins when its own parents end. One without such an ancestor was closed before
// the place where the tail began.
func (f family) pending(id string) bool {
	if ended, begun := f.begun[id]; begun {
		return !ended
	}
	// Each shard is looked at once: splits and merges in turn make many paths to one ancestor.
	seen := map[string]bool{}
	for todo := slices.Clone(f.known[id].Parents); len(todo) > 0; todo = todo[1:] {
		if _, begun := f.begun[todo[0]]; begun {
			return true
		}
		if !seen[todo[0]] {
			seen[todo[0]] = true
			todo = append(todo, f.known[todo[0]].Parents...)
		}
	}
	return false
}

// followed says whether the list shows everything that follows a shard that has ended: the children that
// were told or, if none were, children on both ends of its range of hash keys. A shard that is not
// listed any more cannot be waited for.
func followed(id string, told, listed []lease.Shard) bool {
	byID := map[string]lease.Shard{}
	for _, s := range listed {
		byID[s.ID] = s
	}
	for _, child := range told {
		if _, ok := byID[child.ID]; !ok {
			return false
		}
	}
	parent, ok := byID[id]
	if len(told) > 0 || !ok {
		return true
	}
	start, end, err := parent.HashRange.Bounds()
	if err != nil {
		return true // nothing to measure against
	}
	var first, last bool
	for _, s := range listed {
		from, to, err := s.HashRange.Bounds()
		if err != nil || !slices.Contains(s.Parents, id) {
			continue
		}
		first = first || from.Compare(start) <= 0 && start.Compare(to) <= 0
		last = last || from.Compare(end) <= 0 && end.Compare(to) <= 0
	}
	return first && last
}
