package lease

import "maps"

// Clone returns a member in the same state. Stepping one of the two does not change the other.
func (m *Member) Clone() *Member {
	c := *m
	c.out, c.viewOrder, c.heldOrder = nil, nil, nil
	c.writes = cloneValues(m.writes)
	c.peers = cloneValues(m.peers)
	c.view = cloneValues(m.view)
	c.held = cloneValues(m.held)
	c.halted = maps.Clone(m.halted)
	c.suspects = maps.Clone(m.suspects)
	// The rest is replaced, never changed in place: items, listings, wants, what is unreadable.
	return &c
}

// cloneValues copies a map and what its values point to.
func cloneValues[K comparable, V any](m map[K]*V) map[K]*V {
	c := make(map[K]*V, len(m))
	for k, v := range m {
		value := *v
		c[k] = &value
	}
	return c
}
