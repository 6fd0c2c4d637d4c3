package file

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leatstream/leat/lease"
)

// Every damage is an error that says where it is, for every call; and the folder stays as it was.
func TestDamage(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	add := func(text string) func([]byte) []byte {
		return func(b []byte) []byte { return append(b, text...) }
	}
	cases := map[string]struct {
		damage func([]byte) []byte
		want   string
	}{
		"empty":             {func([]byte) []byte { return nil }, "the last log is empty"},
		"foreign":           {func([]byte) []byte { return []byte("Dear diary,\n") }, "not leat's"},
		"foreign JSON":      {func([]byte) []byte { return []byte(`{"leat":"diary"}`) }, "not leat's"},
		"cut in the header": {func(b []byte) []byte { return b[:100] }, "not leat's, or damaged"},
		"cut in what was copied": {func(b []byte) []byte {
			lines := bytes.SplitAfterN(b, []byte("\n"), 3)
			return append(lines[0], lines[1][:50]...)
		}, "line 2"},
		"cut between copied lines": {func(b []byte) []byte { return b[:bytes.IndexByte(b, '\n')] }, "cut off"},
		"a later format":           {rewriteHeader(`"format":1`, `"format":2`), "its format is version 2, this leat knows 1"},
		"a copy of another log":    {rewriteHeader(`"log":2`, `"log":1`), "a copy of another log"},
		"a changed digit":          {replace(`"leaseCounter":{"N":"3"}`, `"leaseCounter":{"N":"4"}`), "its checksum does not fit"},
		"a lost quote":             {replace(`"was":"`, `"was": `), "its checksum does not fit"},
		"a lost attribute":         {replace(`,"leaseOwner":{"S":"anna"}`, ""), "shorter than its sum says"},
		"a changed sum":            {add("\n" + `{"sum":"x1-00000000","end":true}`), "not a length and a checksum"},
		"a text":                   {add("\nhello"), "invalid character 'h'"},
		"zeros":                    {add("\n" + strings.Repeat("\x00", 100)), "invalid character"},
		"two in a line":            {add("\n" + `{"end":true}{"end":true}`), "follows its closing brace"},
		"something new":            {add("\n" + `{"group":"g","key":"worker/a","now":"1","item":{},"until":"1"}`), `unknown field "until"`},
		"nothing":                  {add("\n{}"), "neither writes an item nor ends the log"},
		"endless":                  {add("\n" + `{"group":"` + strings.Repeat("x", 2*maxLine)), "longer than"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := opened(t, dir, unsynced)
			item := create(t, s)
			s.roll() // so that something was copied
			for range 2 {
				item = raise(t, s, item)
			}
			item.Lease.Owner = "anna"
			w := raised(item)
			w.Owner = ""
			if _, err := s.Write(t.Context(), testGroup, w); err != nil {
				t.Fatal(err)
			}
			path := s.log.path
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := tc.damage(bytes.Clone(text))
			if bytes.Equal(damaged, text) {
				t.Fatal("the test did no damage")
			}
			if err := os.WriteFile(path, damaged, 0o666); err != nil {
				t.Fatal(err)
			}
			fresh := open(t, dir)
			for range 2 {
				if _, err := fresh.Open(t.Context(), true); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), dir) {
					t.Errorf("Open: %v, want an error with %q and the folder", err, tc.want)
				}
			}
			if _, err := fresh.Write(t.Context(), testGroup, w); err == nil {
				t.Error("a Store wrote after a failed Open")
			}
			left, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(left, damaged) {
				t.Errorf("the damaged log was changed (%v)", err)
			}
		})
	}
}

// rewriteHeader changes a log's header and gives it the sum that fits.
func rewriteHeader(old, new string) func([]byte) []byte {
	return func(b []byte) []byte {
		first, rest, _ := bytes.Cut(b, []byte("\n"))
		_, body, _ := bytes.Cut(first, []byte(`",`))
		body = bytes.Replace(body, []byte(old), []byte(new), 1)
		return []byte(`{"sum":"` + sum(body) + `",` + string(body) + "\n" + string(rest))
	}
}

// A log that gets shorter, or another file in its place, is noticed by those that have it open.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		damage func(path string) error
		want   string
	}{
		"shorter": {func(path string) error { return os.Truncate(path, 500) }, "it was cut from"},
		"a line":  {func(path string) error { return errors.Join(nil, appendLine(path, "\nhello")) }, "invalid character"},
		"replaced": {func(path string) error {
			return errors.Join(os.WriteFile(path+"~", []byte("other"), 0o666), os.Rename(path+"~", path))
		}, lease.ErrStoreGone.Error()},
		"removed": {os.Remove, lease.ErrStoreGone.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, t.TempDir(), unsynced)
			item := create(t, s)
			if err := tc.damage(s.log.path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(s.log.path)
			_, getErr := s.Get(t.Context(), testGroup, testKey)
			_, membersErr := s.Members(t.Context(), testGroup, true)
			_, writeErr := s.Write(t.Context(), testGroup, raised(item))
			var leasesErr error
			for _, err := range s.Leases(t.Context(), testGroup, "orders") {
				leasesErr = err
			}
			for call, err := range map[string]error{"Get": getErr, "Members": membersErr, "Write": writeErr, "Leases": leasesErr} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: %v, want an error with %q", call, err, tc.want)
				}
			}
			if after, _ := os.ReadFile(s.log.path); !bytes.Equal(before, after) {
				t.Error("something was written to the damaged log")
			}
		})
	}
}

// The folder was replaced by another store's, whose next log happens to have the number that comes
// after the log that we hold.
func TestNextLogOfAnotherStore(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir(), unsynced)
	create(t, s)
	appendText(t, s.log.path, "\n"+`{"end":true}`)
	text, err := logText(header{ID: "another", Log: 2}, nil)
	if err == nil {
		err = s.createLog(2, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), testGroup, testKey); !errors.Is(err, lease.ErrStoreGone) {
		t.Errorf("Get: %v, want ErrStoreGone", err)
	}
}

func appendLine(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// A folder that holds something else is left alone.
func TestForeignFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"notes.txt", "leases", "log-1.jsonl", "log-00000001.json", "log-00000000.jsonl"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, create := range []bool{false, true} {
			if _, err := open(t, dir).Open(t.Context(), create); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("Open of a folder with %s: %v, want an error that names it", name, err)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("the folder with %s now has %d entries (%v)", name, len(entries), err)
		}
	}
	// What a file system or a file manager leaves in an empty folder does not matter.
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "lost+found"), 0o777), os.WriteFile(filepath.Join(dir, ".DS_Store"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	create(t, opened(t, dir))

	if _, err := open(t, filepath.Join(dir, ".DS_Store")).Open(t.Context(), true); err == nil {
		t.Error("a file passes for a folder")
	}
}

// Before Open and after Close calls fail; they do not panic.
func TestNotOpen(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	for range 2 {
		if _, err := s.Get(t.Context(), testGroup, testKey); err == nil || !strings.Contains(err.Error(), "not open") {
			t.Errorf("Get: %v, want that the store is not open", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A full disk takes none of a line, or a part of it. The item stays as it was, for everybody, and the
// next write, when there is room again, succeeds.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, fits := range []int{0, 1, 60, 200} {
		dir := t.TempDir()
		s := opened(t, dir, unsynced)
		item := create(t, s)
		s.write = func(f *os.File, b []byte) (int, error) {
			n, err := f.Write(b[:fits])
			return n, errors.Join(err, syscall.ENOSPC)
		}
		for range 3 {
			if _, err := s.Write(t.Context(), testGroup, raised(item)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), testKey.String()) {
				t.Fatalf("Write with room for %d bytes: %v, want ENOSPC and the item's key", fits, err)
			}
			wantCounter(t, s, 0)
			wantCounter(t, opened(t, dir), 0)
		}
		s.write = func(f *os.File, b []byte) (int, error) { return f.Write(b[:fits]) } // short, without an error
		if _, err := s.Write(t.Context(), testGroup, raised(item)); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("a short write: %v", err)
		}
		s.write = writeOnce
		raise(t, s, item)
		wantCounter(t, opened(t, dir), 1)
	}
}

// A Store that may only read does so, and says why it cannot write.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	item := create(t, opened(t, dir))
	s := opened(t, dir)
	s.log.readOnly = &os.PathError{Op: "open", Path: s.log.path, Err: syscall.EACCES} // the tests may run as root
	wantCounter(t, s, 0)
	if _, err := s.Write(t.Context(), testGroup, raised(item)); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Write: %v, want that it is not permitted", err)
	}
}

// What JSON cannot hold is refused, not changed.
func TestInvalidText(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir())
	create := func(group string, item lease.Item) error {
		_, err := s.Write(t.Context(), group, lease.Write{Op: lease.Create, Item: item})
		return err
	}
	bad := "a\xffb"
	for _, err := range []error{
		create(bad, lease.Item{Key: testKey}),
		create(testGroup, lease.Item{Key: lease.WorkerKey(bad), Worker: lease.Worker{State: lease.Alive}}),
		create(testGroup, lease.Item{Key: testKey, Lease: lease.Lease{Owner: bad}}),
		create(testGroup, lease.Item{Key: testKey, Lease: lease.Lease{Parents: []string{bad}}}),
	} {
		if !errors.Is(err, errText) {
			t.Errorf("%v, want that the text is not UTF-8", err)
		}
	}
}

// Attributes of types and names that leat does not know survive, exactly.
func TestForeignTypesSurvive(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir(), small)
	item := create(t, s)
	planted := map[string]string{
		"bytes": `{"B":"AAEC"}`, "list": `{"L":[{"N":"1"},{"M":{"a":{"NULL":true}}}]}`, "numbers": `{"NS":["1","2.50"]}`,
		"big": `{"N":"12345678901234567890123456789012345678"}`, "later": `{"Z":[1,2.0,{"x":null}]}`, "bare": `17`,
	}
	for name, value := range planted {
		plant(t, s, testGroup, testKey, name, value)
	}
	for range 20 {
		item = raise(t, s, item)
	}
	fill(t, s, 2)
	for name, value := range planted {
		if got := peek(t, s, testGroup, testKey)[name]; string(got) != value {
			t.Errorf("attribute %s is %s, want %s", name, got, value)
		}
	}
}
