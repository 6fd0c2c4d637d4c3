package explore

import "github.com/leatstream/leat/lease"

// apply lets the store carry out a write; its answer stands in the letter.
func (t *turn) apply(sender string, l *letter) {
	w := l.write.Write
	key := w.Item.Key
	old := t.store.get(key)
	found := old != nil
	var stands lease.Item
	if found {
		stands = old.Item
	}
	l.applied, l.outcome, l.item = true, lease.Conflict, old
	applies := w.Applies(stands, found)
	loosened := !applies && t.cfg.Bug.loosens(w, stands, found)
	if !applies && !loosened {
		t.sights[refusedSeen]++
		t.tell("%s %s -- refused, it is %s", sender, writeText(w), itemText(stands, found))
		return
	}
	t.tell("%s %s", sender, writeText(w))
	l.outcome, l.item = lease.Landed, nil
	if t.cfg.Bug == NoChildren && w.Op == lease.Create && len(w.Item.Lease.Parents) > 0 {
		l.item = newItem(w.Item) // so it says
		return
	}
	var next lease.Item
	if w.Op != lease.Delete {
		w = t.cfg.Bug.alters(w, stands)
		next = w.Apply(stands)
		if loosened && w.Op == lease.Update {
			next.Counter = max(next.Counter, stands.Counter+1)
		}
		l.item = t.tables.written(l.write, old, next)
	}
	t.sights.saw(sender, w, stands, key.Kind == lease.KindLease && t.truth[t.cfg.shardIndex(key.Shard)].erased)
	t.written(sender, w, stands, found, next)
	t.store = t.tables.with(t.store, key, l.item)
}
