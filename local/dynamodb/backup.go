package dynamodb

import (
	"fmt"
	"slices"
)

// Backup is a copy of a table.
type Backup struct{ table table }

// Backup returns a copy of a table as it is now.
func (s *Server) Backup(name string) (Backup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.active(&call{now: s.config.Now()}, name)
	if err != nil {
		return Backup{}, fmt.Errorf("local: backing up table %s: %w", name, err)
	}
	return Backup{t.copy()}, nil
}

// Restore puts a table back as it was when the backup was made, under a new TableId, in the place of what
// stands there now: as if the table had been deleted and the backup restored under its name.
func (s *Server) Restore(b Backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := b.table.copy()
	t.created = s.config.Now()
	t.ready = t.created
	s.add(&t)
}

// copy returns a table with rows of its own, without their past. Items are shared: they never change.
func (t *table) copy() table {
	out := *t
	out.items = slices.Clone(t.items)
	out.items = slices.DeleteFunc(out.items, func(r *row) bool { return r.now == nil })
	for i, r := range out.items {
		out.items[i] = &row{key: r.key, now: r.now}
	}
	return out
}
