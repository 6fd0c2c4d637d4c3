package wire

import (
	"bytes"
	"errors"
	"math/bits"
)

// jsonReader reads values from in[at:]. After an error nothing moves any more.
type jsonReader struct {
	in  []byte
	at  int
	err error
}

func (j *jsonReader) fail(err error) {
	if j.err == nil {
		j.err = err
	}
}

// space skips white space.
func (j *jsonReader) space() {
	for j.at < len(j.in) {
		switch j.in[j.at] {
		case ' ', '\t', '\n', '\r':
			j.at++
		default:
			return
		}
	}
}

// peek is the next byte that is not white space, or 0 after an error.
func (j *jsonReader) peek() byte {
	if j.err != nil {
		return 0
	}
	if j.at < len(j.in) && j.in[j.at] > ' ' {
		return j.in[j.at]
	}
	if j.space(); j.at >= len(j.in) {
		j.fail(errShort)
		return 0
	}
	return j.in[j.at]
}

// expect reads this byte.
func (j *jsonReader) expect(b byte) {
	if got := j.peek(); j.err != nil {
		return
	} else if got != b {
		j.fail(unexpected(got, string(rune(b))))
		return
	}
	j.at++
}

// over reads what stands before the next entry of a list or object, or its end.
func (j *jsonReader) over(end byte, later bool) bool {
	switch got := j.peek(); {
	case j.err != nil:
		return false
	case got == end:
		j.at++
		return true
	case later:
		// A comma promises an entry: what comes after it is read as one.
		if j.expect(','); j.peek() == end && j.err == nil {
			j.fail(unexpected(end, "an entry"))
		}
	}
	return false
}

// name reads the name of a member and its colon.
func (j *jsonReader) name() field {
	s := j.string()
	if j.expect(':'); j.err != nil {
		return unknown
	}
	return fieldOf(s)
}

// null reads a null, if that is next.
func (j *jsonReader) null() bool {
	if j.peek() != 'n' || j.err != nil {
		return false
	}
	j.word("null")
	return j.err == nil
}

// word reads a literal.
func (j *jsonReader) word(w string) {
	got := j.in[j.at:min(len(j.in), j.at+len(w))]
	switch {
	case string(got) == w:
		j.at += len(w)
	case string(got) == w[:len(got)]:
		j.fail(errShort)
	default:
		j.fail(unexpected(j.in[j.at], "a value"))
	}
}

// longString is from where on a string is looked for its end with bytes.IndexByte.
const longString = 64

// string reads a string. What is returned is well formed, but for its UTF-8.
func (j *jsonReader) string() text {
	j.expect('"')
	if j.err != nil {
		return text{}
	}
	from, at, in := j.at, j.at, j.in
	for ; len(in)-at >= 8 && at-from < longString; at += 8 {
		if m := special(in[at:]); m != 0 {
			at += bits.TrailingZeros64(m) / 8
			if in[at] == '"' {
				j.at = at + 1
				return text{raw: in[from:at]}
			}
			return j.escaped(from, at)
		}
	}
	end := bytes.IndexByte(in[at:], '"')
	if end < 0 {
		j.fail(errShort)
		return text{}
	}
	// Before the quote there may be what has to be looked at.
	for end += at; at < end; {
		if end-at >= 8 {
			if special(in[at:]) == 0 {
				at += 8
				continue
			}
		} else if in[at] != '\\' && in[at] >= ' ' {
			at++
			continue
		}
		return j.escaped(from, at)
	}
	j.at = end + 1
	return text{raw: in[from:end]}
}

// data reads a string of base64. Its characters are not looked at here: the decoder refuses what no string may
// have.
func (j *jsonReader) data() text {
	j.expect('"')
	if j.err != nil {
		return text{}
	}
	end := bytes.IndexByte(j.in[j.at:], '"')
	if end < 0 {
		j.fail(errShort)
		return text{}
	}
	raw := j.in[j.at : j.at+end]
	if bytes.IndexByte(raw, '\\') >= 0 {
		t := j.escaped(j.at, j.at)
		t.base64 = true
		return t
	}
	j.at += end + 1
	return text{raw: raw, base64: true}
}

// escaped reads a string byte by byte.
func (j *jsonReader) escaped(from, at int) text {
	form := plain
	for ; at < len(j.in); at++ {
		switch b := j.in[at]; {
		case b == '"':
			j.at = at + 1
			return text{raw: j.in[from:at], form: form}
		case b < ' ':
			j.fail(unexpected(b, "a character"))
			return text{}
		case b == '\\':
			form = escaped
			if at++; at == len(j.in) {
				break
			}
			switch j.in[at] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if len(j.in)-at > 4 {
					if hex4(j.in[at+1:]) < 0 {
						j.fail(errors.New("a bad \\u escape"))
						return text{}
					}
					at += 4
				} else {
					at = len(j.in)
				}
			default:
				j.fail(unexpected(j.in[at], "an escape"))
				return text{}
			}
		}
	}
	j.fail(errShort)
	return text{}
}

// skip passes over one value of any kind.
func (j *jsonReader) skip(depth int) {
	if depth > maxDepth {
		j.fail(errors.New("nested too deeply"))
	}
	switch first := j.peek(); {
	case j.err != nil:
	case first == '{':
		j.at++
		for later := false; !j.over('}', later) && j.err == nil; later = true {
			j.string()
			j.expect(':')
			j.skip(depth + 1)
		}
	case first == '[':
		j.at++
		for later := false; !j.over(']', later) && j.err == nil; later = true {
			j.skip(depth + 1)
		}
	case first == '"':
		j.string()
	case first == 't':
		j.word("true")
	case first == 'f':
		j.word("false")
	case first == 'n':
		j.word("null")
	default:
		j.numeral()
	}
}
