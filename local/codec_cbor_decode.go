package local

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

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
