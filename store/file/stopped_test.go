package file

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/leatstream/leat/lease"
)

// Tests of a process that is stopped between two steps of a write, for as long as others like. Store
// a calls during when it reaches a step for the first time: what happens there happens while a stands
// still.
func stopAt(step string, during func()) func(*Store) {
	return func(a *Store) {
		a.step = func(reached string) {
			if reached == step {
				a.step = func(string) {}
				during()
			}
		}
	}
}

// fill writes to another item until count more logs have begun.
func fill(t *testing.T, s *Store, count int) {
	t.Helper()
	key := lease.WorkerKey("filler")
	item, err := s.Get(t.Context(), testGroup, key)
	if errors.Is(err, lease.ErrNotFound) {
		item = lease.Item{Key: key, Worker: lease.Worker{State: lease.Alive}}
		item, err = s.Write(t.Context(), testGroup, lease.Write{Op: lease.Create, Item: item})
	}
	if err != nil {
		t.Fatal(err)
	}
	for last := s.log.number + count; s.log.number < last; {
		item = raise(t, s, item)
	}
}

// noLeftovers wants the numbers of the logs from 1 up, at most the last two of them with something in
// them, and no temporary file.
func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	numbers, temps, stranger, err := list(dir)
	if err != nil || len(temps) > 0 || stranger != "" {
		t.Errorf("left behind: %q %q (%v)", temps, stranger, err)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		info, err := os.Stat(filepath.Join(dir, "log-"+strings.Repeat("0", 8-len(strconv.Itoa(n)))+strconv.Itoa(n)+".jsonl"))
		if err != nil || n != i+1 {
			t.Fatalf("log %d stands at place %d (%v)", n, i+1, err)
		}
		if old := n < len(numbers)-1; old != (info.Size() == 0) {
			t.Errorf("log %d of %d has %d bytes", n, len(numbers), info.Size())
		}
	}
}

func TestStoppedBeforeAppend(t *testing.T) {
	t.Parallel()
	for _, logs := range []int{0, 1, 2, 5} { // begun while a is stopped
		dir := t.TempDir()
		b := opened(t, dir, small)
		item := create(t, b)

		// Somebody else writes the item: a conflict.
		a := opened(t, dir, small, stopAt("append", func() { item = raise(t, b, item); fill(t, b, logs) }))
		_, err := a.Write(t.Context(), testGroup, raised(item))
		var conflict *lease.ConflictError
		if !errors.As(err, &conflict) || !conflict.Item.Equal(item) {
			t.Fatalf("%d logs on, the item written by another: %v, want a conflict with %+v", logs, err, item)
		}

		// Nobody else does: it succeeds, in whatever log is the newest by now.
		a = opened(t, dir, small, stopAt("append", func() { fill(t, b, logs) }))
		item = raise(t, a, item)
		wantCounter(t, b, item.Counter)
		wantCounter(t, opened(t, dir), item.Counter)
		noLeftovers(t, dir)
	}
}

// The item is deleted and made again, and looks as it did: the line that was prepared for the first one
// is void for the second, and the condition is checked anew.
func TestStoppedBeforeAppendABA(t *testing.T) {
	t.Parallel()
	for _, logs := range []int{0, 3} {
		dir := t.TempDir()
		b := opened(t, dir, small)
		first := create(t, b)
		second := first
		second.Lease.OwnerSwitches = 7
		a := opened(t, dir, small, stopAt("append", func() {
			for _, w := range []lease.Write{
				{Op: lease.Delete, Item: lease.Item{Key: testKey}},
				{Op: lease.Create, Item: second},
			} {
				if _, err := b.Write(t.Context(), testGroup, w); err != nil {
					t.Fatal(err)
				}
			}
			fill(t, b, logs)
			plant(t, b, testGroup, testKey, "colour", `{"S":"green"}`)
		}))
		raise(t, a, first)
		wantCounter(t, b, 1)
		if colour := peek(t, b, testGroup, testKey)["colour"]; string(colour) != `{"S":"green"}` {
			t.Errorf("%d logs on: the line for the item that was deleted took effect: colour is %s", logs, colour)
		}
	}
}

// The line stands; nobody has to wait for its writer to notice.
func TestStoppedAfterAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := opened(t, dir, small)
	item := create(t, b)
	a := opened(t, dir, small, stopAt("appended", func() {
		wantCounter(t, b, 1)
		next := item
		next.Counter = 1
		raise(t, b, next)
		fill(t, b, 3)
	}))
	raise(t, a, item) // it has won, however much came after it
	wantCounter(t, a, 2)
	noLeftovers(t, dir)
}

// a is about to end a log, has just ended it, or is about to link the next one.
func TestStoppedInRoll(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"end", "ended", "link"} {
		for _, logs := range []int{1, 2, 5} {
			dir := t.TempDir()
			b := opened(t, dir, small)
			item := create(t, b)
			stopped := false
			a := opened(t, dir, small, stopAt(step, func() { stopped = true; fill(t, b, logs) }))
			for range 50 {
				item = raise(t, a, item)
				wantCounter(t, b, item.Counter)
			}
			wantCounter(t, opened(t, dir), item.Counter)
			if noLeftovers(t, dir); !stopped {
				t.Errorf("no log was ended: %s was not reached", step)
			}
		}
	}
}

// A writer that is killed just after it has ended a log leaves no next one. Readers do not miss it,
// the next writer makes it.
func TestKilledAfterEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := opened(t, dir, small)
	item := create(t, b)
	appendText(t, b.log.path, "\n"+`{"end":true}`+"\n"+`{"end":true}`+"\nnot even a line")
	for _, s := range []*Store{b, opened(t, dir, small)} {
		wantCounter(t, s, item.Counter)
		item = raise(t, s, item)
		if s.log.number != 2 {
			t.Errorf("the log is number %d, want 2", s.log.number)
		}
	}
}

// Two processes create the store at once: there is one store, with one ID.
func TestStoppedInCreate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	var b *Store
	a := open(t, dir, small, stopAt("link", func() { b = opened(t, dir, small); create(t, b) }))
	info, err := a.Open(t.Context(), true)
	if err != nil || info.ID != b.log.header.ID {
		t.Fatalf("the second to create it got ID %q (%v), the first one %q", info.ID, err, b.log.header.ID)
	}
	wantCounter(t, a, 0)
	noLeftovers(t, dir)
}

// What a process that was stopped between listing the folder and opening a log can find there.
func TestOldLogIsNotTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := opened(t, dir, small)
	create(t, b)
	fill(t, b, 4)
	if _, err := openLog(dir, 1); !errors.Is(err, errStub) {
		t.Errorf("log 1 after four more: %v, want that it is empty", err)
	}
	l, err := openLog(dir, 4)
	if err != nil || !l.ended {
		t.Errorf("log 4 has not ended (%v)", err)
	}
	l.file.Close()
	if l, err = openNewest(t.Context(), dir); err != nil || l.number != 5 {
		t.Fatalf("the newest log is not number 5 (%v)", err)
	}
	l.file.Close()
}

// A process killed inside write(2) leaves a part of a line, of any length. What it leaves counts if it
// is the whole line; and the next line is read whatever was left.
func TestKilledInAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	template := opened(t, dir, unsynced)
	item := create(t, template)
	before, err := os.ReadFile(template.log.path)
	if err != nil {
		t.Fatal(err)
	}
	raise(t, template, item)
	after, err := os.ReadFile(template.log.path)
	if err != nil {
		t.Fatal(err)
	}
	dead := string(after[len(before):])
	for cut := range len(dead) + 1 {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.Base(template.log.path))
		if err := os.WriteFile(path, before, 0o666); err != nil {
			t.Fatal(err)
		}
		reader := opened(t, dir, unsynced)
		appendText(t, path, dead[:cut])
		stands := item
		if cut == len(dead) {
			stands.Counter = 1
		}
		wantCounter(t, reader, stands.Counter)
		wantCounter(t, opened(t, dir), stands.Counter)
		raise(t, reader, stands)
		wantCounter(t, opened(t, dir), stands.Counter+1)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened(t, dir)
	old, young := filepath.Join(dir, "tmp-old"), filepath.Join(dir, "tmp-young")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, []byte("half a lo"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(young)
	if err != nil {
		t.Fatal(err)
	}
	longAgo := info.ModTime().Add(-2 * tempAge)
	if err := os.Chtimes(old, longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	opened(t, dir)
	_, oldErr := os.Stat(old)
	_, youngErr := os.Stat(young)
	if !errors.Is(oldErr, os.ErrNotExist) || youngErr != nil {
		t.Errorf("an old temporary file: %v, want it gone; a young one: %v, want it left alone", oldErr, youngErr)
	}
}
