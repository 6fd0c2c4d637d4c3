package wire

import (
	"errors"
	"fmt"
)

// cborDecoder reads an answer in CBOR (RFC 8949).
type cborDecoder struct {
	place place
	left  [2]int // entries still to come, of the answer and of the list of records; endless: up to a break
	need  int
}

// place is where a decoder is between two items.
type place uint8

const (
	atBegin place = iota
	inAnswer
	inRecords
	atEnd
)

const endless = -1

func (d *cborDecoder) needs() int { return d.need }

func (d *cborDecoder) decode(in []byte, a *answer) (used int, err error) {
	for {
		c := cborReader{in: in, at: used}
		switch d.place {
		case atBegin:
			if n := c.open(cborMap); c.err == nil {
				d.left[0], d.place = n, inAnswer
			}
		case inAnswer:
			if c.over(&d.left[0]) {
				d.place = atEnd
			} else {
				err = d.member(&c, a)
			}
		case inRecords:
			if c.over(&d.left[1]) {
				d.place = inAnswer
				break
			}
			v, full := a.add()
			if full != nil {
				return used, full
			}
			if err = v.cbor(&c); err != nil || c.err != nil {
				a.undo()
			} else {
				d.left[1] = less(d.left[1])
			}
		case atEnd:
			if used < len(in) {
				return used, errors.New("bytes follow the answer")
			}
			return used, nil
		}
		if c.err != nil {
			err = c.err
		}
		if err != nil {
			d.need = c.need - used
			return used, err
		}
		used = c.at
	}
}

// member reads one entry of the answer, or the beginning of the list of records. Nothing is noted
// unless it is whole.
func (d *cborDecoder) member(c *cborReader, a *answer) error {
	switch name := c.name(); {
	case c.err != nil:
	case c.null():
	case name == recordsField:
		n := c.open(cborArray)
		if c.err != nil {
			break
		}
		d.left[0] = less(d.left[0])
		d.left[1], a.count, d.place = n, n, inRecords
		return a.begin()
	case name == nextField:
		if s := c.string(cborText); c.err == nil {
			next := string(appendText(nil, s))
			a.next = &next
		}
	case name == behindField:
		if n := c.number(0); c.err == nil {
			if err := a.behindBy(n); err != nil {
				return err
			}
		}
	case name == childrenField:
		if children := c.children(); c.err == nil {
			a.children = children
		}
	default:
		c.skip(0)
	}
	if c.err == nil {
		d.left[0] = less(d.left[0])
	}
	return nil
}

// cbor reads a record.
func (v *view) cbor(c *cborReader) (err error) {
	for left := c.open(cborMap); !c.over(&left) && c.err == nil && err == nil; left = less(left) {
		switch name := c.name(); {
		case c.err != nil:
		case c.null():
		case name == sequenceField:
			v.sequence = c.string(cborText)
		case name == keyField:
			v.key = c.string(cborText)
		case name == dataField:
			if t := c.data(); c.err == nil {
				err = v.payload(t)
			}
		case name == arrivalField:
			if t := c.time(); c.err == nil {
				err = v.at(t)
			}
		default:
			c.skip(0)
		}
	}
	return err
}

func less(left int) int {
	if left > 0 {
		left--
	}
	return left
}

// The major types of CBOR (RFC 8949, 3.1).
const (
	cborUint = iota
	cborNegative
	cborBytes
	cborText
	cborArray
	cborMap
	cborTag
	cborSimple // and floats, and the break
)

var majors = [...]string{"a number", "a number", "bytes", "a string", "a list", "a map", "a tag", "a simple value"}

func wrong(want, got int) error { return fmt.Errorf("%s where %s is due", majors[got], majors[want]) }
