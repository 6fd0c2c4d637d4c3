package wire

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/leatstream/leat/internal/record"
)

// collector makes records of views.
type collector struct {
	template record.Record
	memory   *record.Memory
	names    strings.Builder // the end of it is free for names to come
	scratch  []byte          // of a string that is not plain
}

// namesAtOnce is the length of a string that many records' strings are parts of: what one that is held pins.
const namesAtOnce = 16 << 10

// add makes records of all views. Their strings are copied to few strings, their payloads to the records' memory. If keep is
// set the payloads stay where they are: the caller gives their bytes away. more says that other records may come.
func (c *collector) add(views []view, keep, more bool) error {
	if c.memory.Len()+len(views) > maxRecords {
		return errTooMany
	}
	texts, rest := 0, 0
	for i := range views {
		v := &views[i]
		texts += len(v.sequence.raw) + len(v.key.raw)
		v.data.unwrap()
		n, err := v.data.length()
		if err != nil {
			return err
		}
		v.size = n
		rest += n
	}
	for i := range views {
		v := &views[i]
		var r *record.Record
		if keep {
			r = c.memory.AddKept(&c.template, v.data.raw[:v.size:len(v.data.raw)])
		} else {
			r = c.memory.Add(&c.template, v.size, rest, more)
			rest -= v.size
		}
		both := len(v.sequence.raw) + len(v.key.raw)
		if both > c.names.Cap()-c.names.Len() {
			size := namesAtOnce
			if !more {
				size = min(size, texts)
			}
			c.names = strings.Builder{}
			c.names.Grow(max(size, both))
		}
		texts -= both
		r.SequenceNumber = c.name(v.sequence)
		r.PartitionKey = c.name(v.key)
		if v.timed {
			r.ArrivalTime = time.UnixMilli(v.millis).UTC()
		}
		if err := v.data.to(r.Data); err != nil {
			return fmt.Errorf("data of record %s: %w", r.SequenceNumber, err)
		}
	}
	return nil
}

// name is the string that t stands for, at the end of names.
func (c *collector) name(t text) string {
	from := c.names.Len()
	if t.form == plain && utf8.Valid(t.raw) {
		c.names.Write(t.raw)
	} else {
		c.scratch = appendText(c.scratch[:0], t)
		c.names.Write(c.scratch)
	}
	return c.names.String()[from:]
}

// to writes the bytes that a payload stands for. They may be there already, or their base64 is.
func (t text) to(data []byte) error {
	if !t.base64 {
		if len(data) > 0 && &data[0] != &t.raw[0] {
			copy(data, t.raw)
		}
		return nil
	}
	// Line ends, which a JSON string cannot have, are skipped in base64: they make it shorter.
	if done, err := decode64(data, t.raw); err != nil || done != len(data) {
		return cmp.Or(err, error(base64.CorruptInputError(done)))
	}
	return nil
}

// length is how many bytes a payload has.
func (t text) length() (int, error) {
	if !t.base64 {
		return len(t.raw), nil
	}
	if len(t.raw)%4 != 0 {
		return 0, base64.CorruptInputError(len(t.raw))
	}
	n := len(t.raw) / 4 * 3
	for i := len(t.raw) - 1; i >= 0 && i >= len(t.raw)-2 && t.raw[i] == '='; i-- {
		n--
	}
	return n, nil
}

// unwrap undoes what a payload is wrapped in, other than base64; that is rare. Line ends within
// base64 are allowed (RFC 2045), and in JSON they are escaped.
func (t *text) unwrap() {
	if t.form == plain {
		return
	}
	t.raw = appendRaw(nil, *t)
	if t.form = plain; t.base64 {
		t.raw = slices.DeleteFunc(t.raw, func(b byte) bool { return b == '\r' || b == '\n' })
	}
}

// appendText appends a string. What is not UTF-8 becomes U+FFFD, as in encoding/json.
func appendText(to []byte, t text) []byte {
	if t.form == plain && utf8.Valid(t.raw) {
		return append(to, t.raw...)
	}
	from := len(to)
	if to = appendRaw(to, t); !utf8.Valid(to[from:]) {
		runes := []rune(string(to[from:]))
		to = append(to[:from], string(runes)...)
	}
	return to
}

// appendRaw appends the bytes that t stands for.
func appendRaw(to []byte, t text) []byte {
	switch t.form {
	case escaped:
		return appendUnescaped(to, t.raw)
	case chunked:
		// Its pieces have been looked at: they are whole.
		c := cborReader{in: t.raw}
		for c.at < len(t.raw) && c.err == nil {
			_, _, n := c.head()
			to = append(to, c.bytes(n)...)
		}
		return to
	}
	return append(to, t.raw...)
}

// appendUnescaped undoes the escapes of a JSON string, whose form has been looked at.
func appendUnescaped(to, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return append(to, raw...)
		}
		to = append(to, raw[:i]...)
		escape := raw[i+1]
		raw = raw[i+2:]
		switch escape {
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'n':
			to = append(to, '\n')
		case 'r':
			to = append(to, '\r')
		case 't':
			to = append(to, '\t')
		case 'u':
			r := hex4(raw)
			raw = raw[min(4, len(raw)):]
			if utf16.IsSurrogate(r) {
				second := rune(-1)
				if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
					second = hex4(raw[2:])
				}
				// Half a pair stands for nothing.
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					raw = raw[6:]
				}
			}
			to = utf8.AppendRune(to, r)
		default: // " \ /
			to = append(to, escape)
		}
	}
}

// hex4 is the number that four hexadecimal digits are, or -1.
func hex4(raw []byte) rune {
	if len(raw) < 4 {
		return -1
	}
	var r rune
	for _, b := range raw[:4] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(b)
	}
	return r
}

// ones has every byte 1.
const ones = 0x0101010101010101

// special says which of eight bytes ends the plain part of a JSON string: a quote, a backslash or a control
// character. The lowest of its bits is right.
func special(eight []byte) uint64 {
	x := binary.LittleEndian.Uint64(eight)
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	control := (x - ones*0x20) &^ x
	return ((quote-ones)&^quote | (slash-ones)&^slash | control) & (ones * 0x80)
}
