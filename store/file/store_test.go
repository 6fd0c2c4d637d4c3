package file

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/lease/leasetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	suite.Run(t)
}

// The same with a log that ends every few writes: the next one goes on as if nothing had been.
func TestStoreRolling(t *testing.T) {
	t.Parallel()
	rolling := suite
	rolling.Open = func(t *testing.T) lease.Store { return open(t, t.TempDir(), small) }
	rolling.Second = func(t *testing.T, s lease.Store) lease.Store { return open(t, s.(*Store).dir, small) }
	rolling.Run(t)
}

// small makes logs of a few lines. (A log is still 8 times as long as what it began with.)
func small(s *Store) { s.NoSync, s.rollAt = true, 1 }

var suite = leasetest.Suite{
	Open:   func(t *testing.T) lease.Store { return open(t, t.TempDir(), unsynced) },
	Second: func(t *testing.T, s lease.Store) lease.Store { return open(t, s.(*Store).dir, unsynced) },
	Absent: func(t *testing.T) lease.Store { return open(t, filepath.Join(t.TempDir(), "a", "b"), unsynced) },
	Remove: func(t *testing.T, s lease.Store) {
		if err := os.RemoveAll(s.(*Store).dir); err != nil {
			t.Fatal(err)
		}
	},
	Plant: func(t *testing.T, s lease.Store, group string, key lease.Key, name, value string) {
		plant(t, s.(*Store), group, key, name, `{"S":"`+value+`"}`)
	},
	Peek: func(t *testing.T, s lease.Store, group string, key lease.Key, name string) (string, bool) {
		var v struct{ S string }
		raw := peek(t, s.(*Store), group, key)[name]
		return v.S, raw != nil && json.Unmarshal(raw, &v) == nil
	},
}

func unsynced(s *Store) { s.NoSync = true }

// open returns a Store that is closed at the end of the test. It is not yet opened.
func open(t testing.TB, dir string, options ...func(*Store)) *Store {
	t.Helper()
	s := New(dir)
	for _, option := range options {
		option(s)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// opened returns a Store on which Open has succeeded.
func opened(t testing.TB, dir string, options ...func(*Store)) *Store {
	t.Helper()
	s := open(t, dir, options...)
	if _, err := s.Open(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return s
}

// plant sets an attribute to any JSON value, by a line as a person would write it.
func plant(t testing.TB, s *Store, group string, key lease.Key, name, value string) {
	t.Helper()
	fresh := opened(t, s.dir)
	e := fresh.log.get(group, key)
	if e == nil {
		t.Fatalf("there is no %s", key)
	}
	item := attributes{name: json.RawMessage(value)}
	for name, raw := range e.raw {
		if item[name] == nil {
			item[name] = raw
		}
	}
	text, err := json.Marshal(line{Group: group, Key: key.String(), Was: e.version, Now: "planted-" + e.version, Item: item})
	if err != nil {
		t.Fatal(err)
	}
	appendText(t, fresh.log.path, "\n"+string(text))
}

// peek reads an item's attributes through a handle of its own.
func peek(t testing.TB, s *Store, group string, key lease.Key) attributes {
	t.Helper()
	if e := opened(t, s.dir).log.get(group, key); e != nil {
		return e.raw
	}
	return nil
}

func appendText(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// The helpers of the tests below: one lease, and writes to it.

const testGroup = "billing"

var testKey = lease.LeaseKey("orders", "shardId-000000000000")

func create(t testing.TB, s *Store) lease.Item {
	t.Helper()
	item, err := s.Write(t.Context(), testGroup, lease.Write{Op: lease.Create, Item: lease.Item{Key: testKey}})
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// raised is the write that raises the item's counter by one.
func raised(item lease.Item) lease.Write {
	w := lease.Write{Op: lease.Update, Item: item, Counter: item.Counter, Owner: item.Lease.Owner}
	w.Item.Counter++
	return w
}

func raise(t testing.TB, s *Store, item lease.Item) lease.Item {
	t.Helper()
	item, err := s.Write(t.Context(), testGroup, raised(item))
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func wantCounter(t testing.TB, s *Store, want int64) {
	t.Helper()
	item, err := s.Get(t.Context(), testGroup, testKey)
	if err != nil || item.Counter != want {
		t.Fatalf("the counter is %d (%v), want %d", item.Counter, err, want)
	}
}
