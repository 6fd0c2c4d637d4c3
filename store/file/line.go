package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leatstream/leat/lease"
)

// Format is the version of the log format that this package reads and writes. A log of another
// version is refused.
const Format = 1

// maxLine bounds a line. DynamoDB's bound for an item is 400 KB; a line beyond this one is damage.
const maxLine = 4 << 20

// header is the first line of every log.
type header struct {
	Leat   string `json:"leat"` // headerMark
	Format int    `json:"format"`
	ID     string `json:"id"`    // of the store: the same in all its logs
	Log    int    `json:"log"`   // number of this log
	Items  int    `json:"items"` // lines that follow and were copied from the log before
	About  string `json:"about"` // for people
}

const headerMark = "lease store"

const headerAbout = "One JSON object a line. A line takes effect if its item stands at version 'was' (none: the " +
	"item is absent). Then the item is as the line says, at version 'now'; a line without an item deletes it. " +
	"A line with 'end' ends the log, the next one goes on. Empty logs keep their numbers taken: leave them " +
	"while any program uses this folder."

// line is every other line of a log: one attempt to write one item, or the end of the log.
type line struct {
	Group string     `json:"group,omitempty"`
	Key   string     `json:"key,omitempty"`
	Was   string     `json:"was,omitempty"` // "": the item is absent
	Now   string     `json:"now,omitempty"`
	Item  attributes `json:"item,omitzero"` // nil: the item is deleted
	End   bool       `json:"end,omitempty"`
}

// errUnfinished says that a line is only the beginning of one: its writer was killed in the middle,
// or is still writing it.
var errUnfinished = errors.New("unfinished line")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns v as a line without a line break: {"sum":"<length>-<checksum>",<rest of v>. The
// length tells a line cut short from a damaged one.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read this
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	rest := bytes.TrimSuffix(b.Bytes(), []byte("\n"))[1:]
	return append(fmt.Appendf(nil, `{"sum":"%s",`, sum(rest)), rest...), nil
}

func sum(rest []byte) string {
	return fmt.Sprintf("%d-%08x", len(rest), crc32.Checksum(rest, castagnoli))
}

// decode is the inverse of encode. The beginning of a line is errUnfinished; anything else that
// encode cannot have written is another error. A line without a sum was written by hand and is read
// as it is.
func decode(text []byte, v any) error {
	if after, ok := bytes.CutPrefix(text, []byte(`{"sum":"`)); ok {
		claimed, rest, found := bytes.Cut(after, []byte(`",`))
		if !found { // cut in the sum, or no line of ours
			return decodeObject(text, v)
		}
		length, checksum, _ := strings.Cut(string(claimed), "-")
		n, err := strconv.Atoi(length)
		if err != nil || len(checksum) != 8 || strings.Trim(checksum, "0123456789abcdef") != "" {
			return errors.New("its sum is not a length and a checksum")
		}
		if len(rest) < n {
			if err := decodeObject(append([]byte("{"), rest...), v); errors.Is(err, errUnfinished) {
				return err
			}
			return errors.New("it is shorter than its sum says") // not cut at its end, then
		}
		if sum(rest) != string(claimed) {
			return errors.New("its checksum does not fit")
		}
		text = append([]byte("{"), rest...)
	}
	return decodeObject(text, v)
}

// decodeObject decodes exactly one JSON object. A name that v does not have is an error: a later leat
// may mean something by it.
func decodeObject(text []byte, v any) error {
	if len(text) > 0 && text[0] != '{' { // however it goes on, it becomes no object
		return fmt.Errorf("invalid character %q at its beginning, want '{'", text[0])
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(v); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errUnfinished
	case err != nil:
		return err
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 {
		return errors.New("something follows its closing brace")
	}
	return nil
}

// attributes are an item's as they stand in the file, in DynamoDB's own notation of typed values:
// {"checkpoint": {"S": "123"}}. Those that leat does not know are kept as they are.
type attributes map[string]json.RawMessage

// foreign is the value of an attribute of a type that leat does not use. It is kept in the file; as
// the value of a known attribute it makes the item unreadable.
type foreign string

// known returns the attributes by the types that lease knows.
func (a attributes) known() lease.Attributes {
	out := make(lease.Attributes, len(a))
	for name, raw := range a {
		out[name] = value(raw)
	}
	return out
}

func value(raw json.RawMessage) any {
	var v struct {
		S    *string
		N    *lease.Number
		BOOL *bool
		SS   []string
	}
	if decodeObject(raw, &v) == nil {
		switch {
		case v.S != nil:
			return *v.S
		case v.N != nil:
			return *v.N
		case v.BOOL != nil:
			return *v.BOOL
		case v.SS != nil:
			return v.SS
		}
	}
	return foreign(raw)
}

// with returns a copy of a in which every attribute that w writes is as in w; the others stay.
func (a attributes) with(w lease.Write) (attributes, error) {
	out := make(attributes, len(a))
	for name, raw := range a {
		out[name] = raw
	}
	values := w.Item.Attributes()
	for _, name := range lease.AttributeNames(w.Op, w.Item.Key.Kind) {
		v, ok := values[name]
		if !ok {
			delete(out, name)
			continue
		}
		raw, err := rawValue(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		out[name] = raw
	}
	return out, nil
}

func rawValue(v any) (json.RawMessage, error) {
	var typed map[string]any
	texts := []string{}
	switch v := v.(type) {
	case string:
		typed, texts = map[string]any{"S": v}, []string{v}
	case lease.Number:
		typed = map[string]any{"N": v}
	case bool:
		typed = map[string]any{"BOOL": v}
	case []string:
		typed, texts = map[string]any{"SS": v}, v
	default:
		return nil, fmt.Errorf("a %T cannot be stored", v)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("%q: %w", text, errText)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(typed); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// errText says that JSON cannot hold a text: its invalid bytes would come back as others, and two
// keys as one.
var errText = errors.New("not valid UTF-8")

func checkText(group string, key lease.Key) error {
	if !utf8.ValidString(group) || !utf8.ValidString(key.String()) {
		return fmt.Errorf("group %q, key %q: %w", group, key, errText)
	}
	return nil
}
