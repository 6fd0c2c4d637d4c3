package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// cborReader reads items from in[at:]. After an error nothing moves any more.
type cborReader struct {
	in   []byte
	at   int
	need int // where in must reach to, at least, after errShort
	err  error
}

func (c *cborReader) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// head reads the beginning of an item: what kind it is and its argument.
func (c *cborReader) head() (major int, info byte, arg uint64) {
	if c.err != nil {
		return 0, 0, 0
	}
	if c.at >= len(c.in) {
		c.short(1)
		return 0, 0, 0
	}
	first := c.in[c.at]
	major, info = int(first>>5), first&31
	if info < 24 {
		c.at++
		return major, info, uint64(info)
	}
	var n int
	switch info {
	case 24, 25, 26, 27:
		n = 1 << (info - 24)
	case 31:
		if major != cborUint && major != cborNegative && major != cborTag {
			c.at++
			return major, info, 0
		}
		fallthrough
	default:
		c.fail(fmt.Errorf("byte %#x begins nothing", first))
		return 0, 0, 0
	}
	if len(c.in)-c.at < 1+n {
		c.short(1 + n)
		return 0, 0, 0
	}
	b := c.in[c.at+1 : c.at+1+n]
	switch n {
	case 1:
		arg = uint64(b[0])
	case 2:
		arg = uint64(binary.BigEndian.Uint16(b))
	case 4:
		arg = uint64(binary.BigEndian.Uint32(b))
	case 8:
		arg = binary.BigEndian.Uint64(b)
	}
	if major == cborSimple && info == 24 && arg < 32 {
		c.fail(fmt.Errorf("simple value %d in two bytes", arg))
	}
	c.at += 1 + n
	return major, info, arg
}

// short says that n bytes from here on are needed.
func (c *cborReader) short(n int) {
	c.need = c.at + n
	c.fail(errShort)
}

// untagged is head without the tags before it: a tag says how to read what it stands before, and we
// know what is due here.
func (c *cborReader) untagged() (major int, info byte, arg uint64) {
	for range maxDepth {
		if major, info, arg = c.head(); major != cborTag || c.err != nil {
			return major, info, arg
		}
	}
	c.fail(errors.New("too many tags"))
	return 0, 0, 0
}

// open reads the head of a list or map and returns its number of entries.
func (c *cborReader) open(want int) int {
	major, info, n := c.untagged()
	switch {
	case c.err != nil:
		return 0
	case major != want:
		c.fail(wrong(want, major))
		return 0
	case info == 31:
		return endless
	case n > maxItem:
		c.fail(fmt.Errorf("%s of %d entries", majors[major], n))
		return 0
	}
	return int(n)
}

// over says whether a list or map has no further entry.
func (c *cborReader) over(left *int) bool {
	if *left != endless {
		return *left == 0
	}
	if c.err == nil && c.at >= len(c.in) {
		c.short(1)
	}
	if c.err != nil {
		return false
	}
	if c.in[c.at] != 0xff {
		return false
	}
	c.at++
	return true
}

// null skips a null or undefined, if that is next.
func (c *cborReader) null() bool {
	if c.at+1 < len(c.in) {
		first, second := c.in[c.at], c.in[c.at+1]
		if first>>5 < cborTag || first>>5 == cborTag && first&31 < 24 && second>>5 < cborTag {
			return false // the second is what a short tag stands before, as the service has it at times
		}
	}
	at := c.at
	major, info, _ := c.untagged()
	if c.err == nil && major == cborSimple && (info == 22 || info == 23) {
		return true
	}
	if c.err == nil {
		c.at = at
	}
	return false
}

// string reads a text or bytes. What is returned is whole.
func (c *cborReader) string(want int) text {
	if raw, ok := c.quick(want); ok {
		return text{raw: raw}
	}
	major, info, n := c.untagged()
	return c.rest(want, major, info, n)
}

// data reads bytes, or a text that is base64: some servers write that, and the Java SDK takes it.
func (c *cborReader) data() text {
	if raw, ok := c.quick(cborBytes); ok {
		return text{raw: raw}
	}
	major, info, n := c.untagged()
	if c.err == nil && major == cborText {
		t := c.rest(cborText, major, info, n)
		t.base64 = true
		return t
	}
	return c.rest(cborBytes, major, info, n)
}

// quick reads a string as nearly all are: of a known length below 64 KiB, without a tag, whole. If it is not ok
// nothing has been read.
func (c *cborReader) quick(want int) (raw []byte, ok bool) {
	if c.err != nil || len(c.in)-c.at < 3 || int(c.in[c.at]>>5) != want {
		return nil, false
	}
	n, from := int(c.in[c.at]&31), c.at+1
	switch {
	case n < 24:
	case n == 24:
		n = int(c.in[from])
		from++
	case n == 25:
		n = int(binary.BigEndian.Uint16(c.in[from:]))
		from += 2
	default:
		return nil, false
	}
	if n > len(c.in)-from {
		return nil, false
	}
	c.at = from + n
	return c.in[from:c.at:c.at], true
}

// rest reads a string whose head has been read.
func (c *cborReader) rest(want, major int, info byte, n uint64) text {
	switch {
	case c.err != nil:
		return text{}
	case major != want:
		c.fail(wrong(want, major))
		return text{}
	case info != 31:
		return text{raw: c.bytes(n)}
	}
	from := c.at
	for left := endless; !c.over(&left) && c.err == nil; {
		c.chunk(want)
	}
	if c.err != nil {
		return text{}
	}
	return text{raw: c.in[from : c.at-1], form: chunked}
}

// chunk reads one piece of a string of indefinite length.
func (c *cborReader) chunk(want int) []byte {
	major, info, n := c.head()
	if c.err == nil && (major != want || info == 31) {
		c.fail(fmt.Errorf("%s within %s of indefinite length", majors[major], majors[want]))
	}
	return c.bytes(n)
}

func (c *cborReader) bytes(n uint64) []byte {
	switch {
	case c.err != nil:
		return nil
	case n > maxItem:
		c.fail(fmt.Errorf("a string of %d bytes", n))
		return nil
	case int(n) > len(c.in)-c.at:
		c.short(int(n))
		return nil
	}
	from := c.at
	c.at += int(n)
	return c.in[from:c.at:c.at]
}

// name reads the key of a map's entry. One that is not a text is skipped.
func (c *cborReader) name() field {
	if f, n := quickName(c.in[min(c.at, len(c.in)):]); f != unknown && c.err == nil {
		c.at += n
		return f
	}
	if raw, ok := c.quick(cborText); ok {
		return fieldOf(text{raw: raw})
	}
	at := c.at
	major, info, n := c.untagged()
	if c.err == nil && major != cborText {
		c.at = at
		c.skip(0)
		return unknown
	}
	return fieldOf(c.rest(cborText, major, info, n))
}

// skip passes over one item of any kind.
func (c *cborReader) skip(depth int) {
	major, info, n := c.head()
	if c.err == nil && depth > maxDepth {
		c.fail(errors.New("nested too deeply"))
	}
	switch {
	case c.err != nil:
	case info == 31 && major == cborSimple:
		c.fail(errors.New("a break where an item is due"))
	case major == cborBytes || major == cborText:
		if info != 31 {
			c.bytes(n)
			return
		}
		for left := endless; !c.over(&left) && c.err == nil; {
			c.chunk(major)
		}
	case major == cborArray || major == cborMap:
		left := endless
		if info != 31 {
			if n > maxItem {
				c.fail(fmt.Errorf("%s of %d entries", majors[major], n))
				return
			}
			left = int(n)
		}
		for ; !c.over(&left) && c.err == nil; left = less(left) {
			c.skip(depth + 1)
			if major == cborMap {
				c.skip(depth + 1)
			}
		}
	case major == cborTag:
		c.skip(depth + 1)
	}
}
