package file

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leatstream/leat/lease"
)

// replay is what the lines of one log add up to. It is a plain function of the bytes fed to it, in
// whatever pieces they come: so every process that has read a log to the same place sees the same
// items, and agrees on which of two lines came first.
type replay struct {
	header header
	groups map[string]group
	lines  int   // line breaks fed so far
	bytes  int64 // fed so far
	copied int64 // bytes of the header and of what was copied from the log before
	ended  bool  // a line has ended the log: nothing after it counts

	watch   string // version of the line whose fate the Store waits for
	verdict verdict
}

type verdict uint8

const (
	pending verdict = iota
	applied
	refused // the item did not stand at the version that the line names
	late    // the log had ended before
)

// group holds a group's items by folder and key.
type group map[string]map[string]*entry

// entry is one item. Its attributes are decoded when somebody asks: most versions in a log are only
// steps to the next one.
type entry struct {
	text    string // its key
	version string
	raw     attributes

	decoded bool
	item    lease.Item
	err     error // *lease.ItemError: item is no more than its Key
}

// decode sets item and err.
func (e *entry) decode() {
	if e.decoded {
		return
	}
	key, err := lease.ParseKey(e.text)
	if err == nil {
		e.item, err = lease.DecodeItem(key, e.raw.known())
	}
	if err != nil {
		e.item, e.err = lease.Item{Key: key}, &lease.ItemError{Key: e.text, Err: err}
	}
	e.decoded = true
}

// folder tells a stream's leases ("lease/<stream>") from a group's other items (""), so that reading
// the members touches no lease.
func folder(key lease.Key) string {
	if key.Kind == lease.KindLease {
		return "lease/" + key.Stream
	}
	return ""
}

// feed takes the next bytes of the log and returns how many of them it used up. The rest is a line
// that is not complete; it has to be fed again with what follows. whole says that data ends where the
// file ends now: then a last line without a line break may be complete, too.
func (r *replay) feed(data []byte, whole bool) (used int, err error) {
	for used < len(data) {
		text, _, terminated := bytes.Cut(data[used:], []byte("\n"))
		if !terminated && !whole {
			return used, nil
		}
		err := r.line(text)
		if errors.Is(err, errUnfinished) {
			if !terminated {
				return used, nil
			}
			err = nil // its writer was killed: it has never happened
		}
		if err != nil {
			return used, fmt.Errorf("line %d, at byte %d: %w", r.lines+1, r.bytes, err)
		}
		size := len(text)
		if terminated {
			size++
			r.lines++
		}
		used += size
		r.bytes += int64(size)
		if r.lines <= r.header.Items {
			r.copied = r.bytes
		}
	}
	return used, nil
}

func (r *replay) line(text []byte) error {
	if r.header.Leat == "" {
		return r.begin(text)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	var l line
	err := decode(text, &l)
	unfinished := errors.Is(err, errUnfinished)
	switch {
	case r.ended && err == nil && l.Now != "" && l.Now == r.watch:
		r.verdict = late
		return nil
	case r.ended && !unfinished: // written by someone who had not seen the end
		return nil
	case err != nil:
		if r.lines <= r.header.Items && unfinished {
			// What was copied from the log before was complete when the log came into being.
			return errors.New("it is cut off")
		}
		return err
	case l.End:
		r.ended = true
		return nil
	case l.Key == "" || l.Now == "":
		return errors.New("it neither writes an item nor ends the log")
	}
	fate := refused
	if r.apply(l) {
		fate = applied
	}
	if l.Now == r.watch {
		r.verdict = fate
	}
	return nil
}

func (r *replay) begin(text []byte) error {
	var h header
	if err := decode(text, &h); err != nil || h.Leat != headerMark {
		return errors.New("it does not begin as a log of a lease store: the file is not leat's, or damaged")
	}
	if h.Format != Format {
		return fmt.Errorf("its format is version %d, this leat knows %d: run one version of leat on one folder", h.Format, Format)
	}
	r.header, r.groups = h, make(map[string]group)
	return nil
}

// apply is the compare-and-swap. It knows nothing of leases, so that two versions of leat cannot
// disagree on it.
func (r *replay) apply(l line) bool {
	key, _ := lease.ParseKey(l.Key) // a key of a later leat is kept, with the members
	was := r.groups[l.Group][folder(key)][l.Key]
	if (was == nil) != (l.Was == "") || was != nil && was.version != l.Was {
		return false
	}
	if l.Item == nil {
		delete(r.groups[l.Group][folder(key)], l.Key)
		return true
	}
	g := r.groups[l.Group]
	if g == nil {
		g = make(group)
		r.groups[l.Group] = g
	}
	if g[folder(key)] == nil {
		g[folder(key)] = make(map[string]*entry)
	}
	g[folder(key)][l.Key] = &entry{text: l.Key, version: l.Now, raw: l.Item}
	return true
}

// get returns an item's entry, decoded, or nil.
func (r *replay) get(group string, key lease.Key) *entry {
	e := r.groups[group][folder(key)][key.String()]
	if e != nil {
		e.decode()
	}
	return e
}

// list returns the entries of a folder by key, decoded. They are never changed afterwards, only
// replaced.
func (r *replay) list(group, folder string) []*entry {
	entries := r.groups[group][folder]
	out := make([]*entry, 0, len(entries))
	for _, e := range entries {
		e.decode()
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.text, b.text) })
	return out
}
