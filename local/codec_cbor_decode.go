package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"time"
	"unicode/utf8"
)

// maxDepthCBOR bounds how deep what is skipped may be nested.
const maxDepthCBOR = 64

// decodeCBOR fills a request with the one item that body holds, and keeps nothing of body. It takes every form
// that an item can have: lengths that are not the shortest, strings, lists and maps in pieces, and tags, which say
// nothing that the request's type does not. Members that the type does not have are skipped, null is as if the member were
// not there.
func decodeCBOR(body []byte, request reflect.Value) error {
	d := cborDecoder{in: body}
	d.value(request)
	if d.err == nil && d.at < len(body) {
		d.fail(errors.New("bytes follow the item"))
	}
	if d.err != nil {
		return fmt.Errorf("CBOR, byte %d: %w", d.at, d.err)
	}
	return nil
}

// cborDecoder reads items from in[at:]. After an error it stays where it is.
type cborDecoder struct {
	in  []byte
	at  int
	err error
}

func (d *cborDecoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// want fails unless an item is of the major type that is due.
func (d *cborDecoder) want(due, major byte) {
	if due != major {
		d.fail(fmt.Errorf("major type %d where %d is due", major>>5, due>>5))
	}
}

// value reads one item into a value of the requests' types.
func (d *cborDecoder) value(into reflect.Value) {
	if d.null() || d.err != nil {
		return
	}
	if into.Type() == epochType {
		into.Set(reflect.ValueOf(epoch{d.time()}))
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		to := reflect.New(into.Type().Elem())
		d.value(to.Elem())
		into.Set(to)
	case reflect.Struct:
		d.object(into)
	case reflect.Slice:
		if into.Type().Elem().Kind() == reflect.Uint8 {
			into.SetBytes(append([]byte{}, d.string(cborBytes)...)) // not nil where there are none
			return
		}
		d.list(into)
	case reflect.Map: // from strings to strings
		m := reflect.MakeMap(into.Type())
		for left := d.open(cborMap); d.more(&left); {
			name, text := string(d.string(cborText)), reflect.New(into.Type().Elem()).Elem()
			d.value(text)
			m.SetMapIndex(reflect.ValueOf(name), text)
		}
		into.Set(m)
	case reflect.String:
		into.SetString(string(d.string(cborText)))
	case reflect.Bool:
		into.SetBool(d.bool())
	case reflect.Int32:
		n := d.integer()
		if into.OverflowInt(n) {
			d.fail(fmt.Errorf("the number %d is beyond 32 bits", n))
		}
		into.SetInt(n)
	default:
		panic(fmt.Sprintf("local: no request has a %v", into.Type()))
	}
}

func (d *cborDecoder) object(into reflect.Value) {
	members := membersOf(into.Type())
next:
	for left := d.open(cborMap); d.more(&left); {
		name := d.string(cborText)
		for _, m := range members {
			if m.name == string(name) {
				d.value(into.FieldByIndex(m.index))
				continue next
			}
		}
		d.skip(0)
	}
}

func (d *cborDecoder) list(into reflect.Value) {
	left := d.open(cborList)
	list := reflect.MakeSlice(into.Type(), 0, max(0, min(left, maxPutRecords)))
	for d.more(&left) {
		list = reflect.Append(list, reflect.Zero(into.Type().Elem()))
		d.value(list.Index(list.Len() - 1))
	}
	into.Set(list)
}

// head reads the beginning of an item: its major type, the rest of its first byte, and its argument.
func (d *cborDecoder) head() (major, info byte, arg uint64) {
	first := d.bytes(1)
	if d.err != nil {
		return 0, 0, 0
	}
	major, info = first[0]&^31, first[0]&31
	switch {
	case info < 24:
		return major, info, uint64(info)
	case info < 28:
		var wide [8]byte
		n := 1 << (info - 24)
		copy(wide[8-n:], d.bytes(uint64(n)))
		arg = binary.BigEndian.Uint64(wide[:])
		if major == cborSimple && info == 24 && arg < 32 {
			d.fail(fmt.Errorf("simple value %d in two bytes", arg))
		}
		return major, info, arg
	case info == cborIndefinite && major != cborUint && major != cborNegative && major != cborTag:
		return major, info, 0
	}
	d.fail(fmt.Errorf("byte %#x begins no item", first[0]))
	return 0, 0, 0
}

// untagged is head behind all tags.
func (d *cborDecoder) untagged() (major, info byte, arg uint64) {
	for {
		if major, info, arg = d.head(); major != cborTag {
			return major, info, arg
		}
	}
}

// null reads a null or undefined, if one is next.
func (d *cborDecoder) null() bool {
	before := *d
	if major, info, _ := d.untagged(); major == cborSimple && (info == cborNull&31 || info == cborUndefined&31) {
		return true
	}
	*d = before
	return false
}

// bytes are the next n bytes of the input itself.
func (d *cborDecoder) bytes(n uint64) []byte {
	if n > uint64(len(d.in)-d.at) {
		d.fail(io.ErrUnexpectedEOF)
	}
	if d.err != nil {
		return nil
	}
	from := d.at
	d.at += int(n)
	return d.in[from:d.at]
}

// endless is the number of items of what ends with a break.
const endless = -1

// open reads the beginning of a list or a map, and returns how many items or pairs it has.
func (d *cborDecoder) open(due byte) (left int) {
	major, info, n := d.untagged()
	d.want(due, major)
	return d.count(info, n)
}

func (d *cborDecoder) count(info byte, n uint64) (left int) {
	switch {
	case info == cborIndefinite:
		return endless
	case n > uint64(len(d.in)-d.at):
		d.fail(io.ErrUnexpectedEOF) // an item has a byte at least
		return 0
	}
	return int(n)
}

// more says whether there is a further item or pair, and counts it.
func (d *cborDecoder) more(left *int) bool {
	switch {
	case d.err != nil || *left == 0:
		return false
	case *left > 0:
		*left--
	case d.at < len(d.in) && d.in[d.at] == cborBreak:
		d.at++
		return false
	}
	return true
}

// string reads a byte string or a text, whose bytes it returns: those of the input itself if it came in one piece.
func (d *cborDecoder) string(due byte) []byte {
	major, info, n := d.untagged()
	d.want(due, major)
	return d.pieces(major, info, n)
}

func (d *cborDecoder) pieces(major, info byte, n uint64) (all []byte) {
	if info != cborIndefinite {
		piece := d.bytes(n)
		if major == cborText && !utf8.Valid(piece) {
			d.fail(errors.New("a text that is not UTF-8"))
		}
		return piece
	}
	for left := endless; d.more(&left); {
		of, info, n := d.head()
		if of != major || info == cborIndefinite {
			d.fail(errors.New("a string's piece that is none"))
		}
		all = append(all, d.pieces(major, info, n)...)
	}
	return all
}

func (d *cborDecoder) bool() bool {
	major, info, _ := d.untagged()
	if major != cborSimple || info != cborTrue&31 && info != cborFalse&31 {
		d.fail(errors.New("neither true nor false"))
	}
	return info == cborTrue&31
}

func (d *cborDecoder) integer() int64 {
	major, _, n := d.untagged()
	switch {
	case n > math.MaxInt64:
		d.fail(errors.New("a number beyond 64 bits"))
	case major == cborNegative:
		return -1 - int64(n)
	default:
		d.want(cborUint, major)
	}
	return int64(n)
}

// time reads a number of any kind, or a date as a text (tag 0). Numbers below 1e11 are seconds since 1970, as tag 1
// has them, others milliseconds, as the Java SDK writes them behind the same tag: the bound is in 1973, or in 5138.
func (d *cborDecoder) time() time.Time {
	const bound = 1e11
	major, info, n := d.untagged()
	var since float64
	switch {
	case major == cborUint:
		since = float64(n)
	case major == cborNegative:
		since = -1 - float64(n)
	case major == cborText:
		t, err := time.Parse(time.RFC3339Nano, string(d.pieces(major, info, n)))
		if err != nil {
			d.fail(err)
		}
		return time.UnixMilli(t.UnixMilli())
	case major == cborSimple && info == 25:
		since = halfFloat(uint16(n))
	case major == cborSimple && info == 26:
		since = float64(math.Float32frombits(uint32(n)))
	case major == cborSimple && info == 27:
		since = math.Float64frombits(n)
	default:
		d.want(cborUint, major)
		d.fail(errors.New("no time"))
	}
	switch size := math.Abs(since); {
	case !(size < bound*1000):
		d.fail(fmt.Errorf("%v is no time", since))
		return time.Time{}
	case size < bound:
		since *= 1000
	}
	return time.UnixMilli(int64(math.Round(since)))
}

// halfFloat is a float of 16 bits (RFC 8949, appendix D).
func halfFloat(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	switch exponent {
	case 0:
		fraction = math.Ldexp(fraction, -24)
	case 31:
		fraction = math.NaN() // or infinite: no time either way
	default:
		fraction = math.Ldexp(fraction+1024, exponent-25)
	}
	if bits>>15 != 0 {
		return -fraction
	}
	return fraction
}

// skip reads one item of any kind.
func (d *cborDecoder) skip(depth int) {
	if depth > maxDepthCBOR {
		d.fail(errors.New("nested too deeply"))
		return
	}
	major, info, n := d.untagged()
	switch major {
	case cborBytes, cborText:
		d.pieces(major, info, n)
	case cborList, cborMap:
		for left := d.count(info, n); d.more(&left); {
			d.skip(depth + 1)
			if major == cborMap {
				d.skip(depth + 1)
			}
		}
	case cborSimple:
		if info == cborIndefinite {
			d.fail(errors.New("a break where an item is due"))
		}
	}
}
