package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/bits"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
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

// name reads the name of a member and its colon: empty if it is none that we know.
func (j *jsonReader) name() string {
	s := j.string()
	if j.expect(':'); j.err != nil {
		return ""
	}
	return known(s)
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

// digits reads digits; there must be one.
func (j *jsonReader) digits() {
	from := j.at
	for j.at < len(j.in) && j.in[j.at]-'0' <= 9 {
		j.at++
	}
	switch {
	case j.err != nil:
	case j.at == len(j.in):
		j.fail(errShort) // it may go on
	case j.at == from:
		j.fail(unexpected(j.in[j.at], "a digit"))
	}
}

// numeral reads a number, as it stands there.
func (j *jsonReader) numeral() []byte {
	if j.peek(); j.err != nil {
		return nil
	}
	from := j.at
	if j.in[j.at] == '-' {
		j.at++
	}
	if j.at < len(j.in) && j.in[j.at] == '0' {
		if j.at++; j.at == len(j.in) {
			j.fail(errShort)
		}
	} else {
		j.digits()
	}
	if j.err == nil && j.in[j.at] == '.' {
		j.at++
		j.digits()
	}
	if j.err == nil && j.in[j.at]|0x20 == 'e' {
		if j.at++; j.at < len(j.in) && (j.in[j.at] == '+' || j.in[j.at] == '-') {
			j.at++
		}
		j.digits()
	}
	if j.err != nil {
		return nil
	}
	return j.in[from:j.at]
}

// number reads a number; one that is too large for a float is infinite.
func (j *jsonReader) number() float64 {
	numeral := j.numeral()
	if j.err != nil {
		return 0
	}
	if f, ok := decimal(numeral); ok {
		return f
	}
	f, _ := strconv.ParseFloat(string(numeral), 64)
	return f
}

// powers are those of ten that a float holds exactly, as far as decimal needs them.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal is the number of up to 15 digits and a point, which it gets right: the quotient of two floats that
// are exact. Anything else is not ok.
func decimal(numeral []byte) (f float64, ok bool) {
	n, point := uint64(0), -1
	if len(numeral) > 16 {
		return 0, false
	}
	for i, b := range numeral {
		switch {
		case b-'0' <= 9:
			n = n*10 + uint64(b-'0')
		case b == '.' && i <= 15:
			point = i
		default:
			return 0, false
		}
	}
	if point < 0 {
		return float64(n), len(numeral) <= 15
	}
	return float64(n) / powers[len(numeral)-1-point], true
}

// time reads a number, or a string that is a date or a number.
func (j *jsonReader) time() float64 {
	if j.peek() != '"' || j.err != nil {
		return j.number()
	}
	s := j.string()
	if j.err != nil {
		return 0
	}
	since, err := dateSince(string(appendText(nil, s)))
	if err != nil {
		j.fail(err)
	}
	return since
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

// children reads ChildShards. They come once in a shard's life, so that this need not be fast.
func (j *jsonReader) children() (shards []types.ChildShard) {
	j.peek()
	from := j.at
	if j.skip(0); j.err != nil {
		return nil
	}
	if err := json.Unmarshal(j.in[from:j.at], &shards); err != nil {
		j.fail(err)
	}
	return shards
}
