package dynamodb

import (
	"cmp"
	"slices"
	"time"
)

// rows are a table's items, sorted by key.
type rows []*row

// row is what stands, or stood, under one key.
type row struct {
	key  key
	now  item   // nil: absent
	past []past // oldest first; kept only while reads may be stale
}

// key is an item's key as values. sort is "" where the table has no range key.
type key struct{ hash, sort string }

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.hash, o.hash), cmp.Compare(k.sort, o.sort))
}

// past is what stood before the write at until.
type past struct {
	until time.Time
	item  item // nil: absent
}

// at is what stood at a time.
func (r *row) at(when time.Time) item {
	for _, p := range r.past {
		if when.Before(p.until) {
			return p.item
		}
	}
	return r.now
}

// from is the place of the first row that is not before k, and whether it is k's own.
func (rs rows) from(k key) (int, bool) {
	return slices.BinarySearchFunc(rs, k, func(r *row, k key) int { return r.key.compare(k) })
}

// get is the item as it is now; nil is absent.
func (rs rows) get(k key) item {
	if i, found := rs.from(k); found {
		return rs[i].now
	}
	return nil
}

// put writes an item; nil removes it. What stood is kept for reads that are up to so stale.
func (rs *rows) put(k key, it item, now time.Time, stale time.Duration) {
	i, found := rs.from(k)
	if !found {
		*rs = slices.Insert(*rs, i, &row{key: k})
	}
	r := (*rs)[i]
	r.past = append(r.past, past{now, r.now})
	r.past = slices.DeleteFunc(r.past, func(p past) bool { return stale == 0 || now.Sub(p.until) > stale })
	r.now = it
	if it == nil && len(r.past) == 0 {
		*rs = slices.Delete(*rs, i, i+1)
	}
}
