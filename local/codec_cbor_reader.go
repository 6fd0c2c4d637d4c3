package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxDepthCBOR bounds how deep what is skipped may be nested.
const maxDepthCBOR = 64

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
