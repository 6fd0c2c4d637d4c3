package wire

import (
	"errors"
	"fmt"
)

// jsonDecoder reads an answer in JSON (RFC 8259).
type jsonDecoder struct {
	place place
	later bool // an entry has been read: a comma is due before the next one
	among bool // the same, in the list of records
}

// needs implements decoder: JSON does not say how long anything is.
func (d *jsonDecoder) needs() int { return 0 }

func (d *jsonDecoder) decode(in []byte, a *answer) (used int, err error) {
	for {
		j := jsonReader{in: in, at: used}
		switch d.place {
		case atBegin:
			if j.expect('{'); j.err == nil {
				d.place = inAnswer
			}
		case inAnswer:
			if j.over('}', d.later) {
				d.place = atEnd
			} else if err = d.member(&j, a); err == nil && j.err == nil {
				d.later = true
			}
		case inRecords:
			if j.over(']', d.among) {
				d.place = inAnswer
				break
			}
			v, full := a.add()
			if full != nil {
				return used, full
			}
			if err = v.json(&j); err != nil || j.err != nil {
				a.undo()
			} else {
				d.among = true
			}
		case atEnd:
			if j.space(); j.at < len(in) {
				return used, errors.New("bytes follow the answer")
			}
			return j.at, nil
		}
		if err == nil {
			err = j.err
		}
		if err != nil {
			return used, err
		}
		used = j.at
	}
}

// member reads one member of the answer, or the beginning of the list of records. Nothing is noted
// unless it is whole.
func (d *jsonDecoder) member(j *jsonReader, a *answer) error {
	switch name := j.name(); {
	case j.err != nil:
	case j.null():
	case name == recordsField:
		if j.expect('['); j.err == nil {
			d.place, d.among = inRecords, false
			return a.begin()
		}
	case name == nextField:
		if s := j.string(); j.err == nil {
			next := string(appendText(nil, s))
			a.next = &next
		}
	case name == behindField:
		if n := j.number(); j.err == nil {
			return a.behindBy(n)
		}
	case name == childrenField:
		if children := j.children(); j.err == nil {
			a.children = children
		}
	default:
		j.skip(0)
	}
	return nil
}

// json reads a record.
func (v *view) json(j *jsonReader) (err error) {
	j.expect('{')
	for later := false; !j.over('}', later) && j.err == nil && err == nil; later = true {
		switch name := j.name(); {
		case j.err != nil:
		case j.null():
		case name == sequenceField:
			v.sequence = j.string()
		case name == keyField:
			v.key = j.string()
		case name == dataField:
			if t := j.data(); j.err == nil {
				err = v.payload(t)
			}
		case name == arrivalField:
			if t := j.time(); j.err == nil {
				err = v.at(t)
			}
		default:
			j.skip(0)
		}
	}
	return err
}

func unexpected(b byte, want string) error { return fmt.Errorf("%q where %s is due", b, want) }
