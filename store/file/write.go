package file

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/leatstream/leat/lease"
)

// Write implements lease.Store. An item that cannot be read is not written to: the error is its
// *lease.ItemError. After a failed append (a full disk) the item is as it was, unless the system
// wrote the line and then failed: the error does not tell, as for every Store.
func (s *Store) Write(ctx context.Context, group string, w lease.Write) (lease.Item, error) {
	if err := w.Check(); err != nil {
		return lease.Item{}, err
	}
	if err := checkText(group, w.Item.Key); err != nil {
		return lease.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	written, err := s.swap(ctx, group, w)
	var conflict *lease.ConflictError
	switch {
	case errors.As(err, &conflict):
		return lease.Item{}, conflict
	case err != nil:
		return lease.Item{}, s.explain(w.Op.String()+" "+w.Item.Key.String(), err)
	}
	return written, nil
}

// swap performs one compare-and-swap and returns the item as written. It goes round again only if somebody
// else's line came first.
func (s *Store) swap(ctx context.Context, group string, w lease.Write) (written lease.Item, err error) {
	for {
		if err := s.look(ctx); err != nil {
			return written, err
		}
		if s.log.ended {
			if err := s.beginNext(); err != nil {
				return written, err
			}
			continue
		}
		var l line
		l, written, err = s.lineFor(group, w)
		if err != nil {
			return written, err
		}
		s.step("append")
		s.log.watch, s.log.verdict = l.Now, pending
		if err := s.log.append(l, s.write); err != nil {
			return written, err
		}
		s.step("appended")
		// The line is in the file. What counts is what stands before it.
		wrote := s.log
		if err := wrote.catchUp(); err != nil {
			return written, err
		}
		switch wrote.verdict {
		case applied:
			if err := s.sync(wrote); err != nil {
				return written, err
			}
			if wrote.bytes > max(s.rollAt, 8*wrote.copied) {
				s.roll()
			}
			return written, nil
		case pending:
			return written, fmt.Errorf("%s lost a line that was appended to it: is the folder on a file system of this machine?", wrote.path)
		}
	}
}

// lineFor checks the condition of w against the item as it stands, and returns the line that writes
// it if the item still stands so when the line lands, and the item as it will be.
func (s *Store) lineFor(group string, w lease.Write) (line, lease.Item, error) {
	e := s.log.get(group, w.Item.Key)
	if e == nil {
		e = new(entry)
	}
	if e.err != nil {
		return line{}, lease.Item{}, e.err
	}
	found := e.version != ""
	if !w.Applies(e.item, found) {
		return line{}, lease.Item{}, &lease.ConflictError{Item: e.item, Found: found}
	}
	s.next++
	l := line{Group: group, Key: w.Item.Key.String(), Was: e.version, Now: s.name + "-" + strconv.FormatUint(s.next, 10)}
	if w.Op == lease.Delete {
		return l, lease.Item{}, nil
	}
	var err error
	l.Item, err = e.raw.with(w)
	return l, w.Apply(e.item), err
}

// sync makes the lines of l survive a power loss.
func (s *Store) sync(l *log) error {
	if s.NoSync {
		return nil
	}
	if !l.synced { // whoever made the log may have been stopped before that
		if err := syncDir(s.dir); err != nil {
			return err
		}
		l.synced = true
	}
	return l.file.Sync()
}
