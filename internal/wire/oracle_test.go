package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/leatstream/leat/internal/record"
)

// found is what an answer says, as the tests compare it.
type found struct {
	Records []record.Record
	Next    string
	Behind  int64
}

func foundBy(r *reading) found {
	f := found{Records: r.records(), Behind: -1}
	if r.answer.next != nil {
		f.Next = *r.answer.next
	}
	if r.answer.behind != nil {
		f.Behind = *r.answer.behind
	}
	for i := range f.Records {
		if f.Records[i].Data == nil {
			f.Records[i].Data = []byte{}
		}
	}
	return f
}

// errUnsure: the second decoder cannot tell.
var errUnsure = errors.New("unsure")

// agree decodes a body with all windows and compares what comes out with each other and with the second
// decoder.
func agree(t *testing.T, body []byte, oracle func([]byte) (found, error)) {
	t.Helper()
	var first *found
	var firstErr error
	for _, size := range []int{window, 1, 7, 100} {
		for _, known := range []bool{true, false} {
			// In-place decoding must not change the caller's bytes: a window is a copy.
			r, err := decode(bytes.Clone(body), known, size)
			var got found
			if err == nil {
				got = foundBy(r)
			}
			if first == nil {
				first, firstErr = &got, err
				continue
			}
			if (err == nil) != (firstErr == nil) || err == nil && !reflect.DeepEqual(got, *first) {
				t.Fatalf("window %d, length known %v: %v\n%s\nelse %v\n%s", size, known, err, asJSON(got), firstErr, asJSON(first))
			}
		}
	}
	want, err := oracle(body)
	if err == errUnsure {
		return
	}
	if firstErr != nil {
		for _, limit := range []string{"too deeply", "too many tags", "two lists", "two payloads", "more than", " entries", "a string of "} {
			if strings.Contains(firstErr.Error(), limit) {
				return
			}
		}
	}
	if (err == nil) != (firstErr == nil) {
		t.Fatalf("%q\nerror %v, the oracle's %v", body, firstErr, err)
	}
	if err == nil && !sameFound(*first, want) {
		t.Fatalf("%q\ngot %s\nwant %s", body, asJSON(first), asJSON(want))
	}
}

// sameFound allows a millisecond, as the oracles round by floats.
func sameFound(a, b found) bool {
	if a.Next != b.Next || a.Behind != b.Behind || len(a.Records) != len(b.Records) {
		return false
	}
	for i := range a.Records {
		x, y := a.Records[i], b.Records[i]
		if d := x.ArrivalTime.Sub(y.ArrivalTime); x.ArrivalTime.IsZero() != y.ArrivalTime.IsZero() || d.Abs() > 1_000_000 {
			return false
		}
		x.ArrivalTime = y.ArrivalTime
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

// arrival is the oracles' time.
func arrival(r *record.Record, since float64) error {
	v := view{}
	if err := v.at(since); err != nil {
		return err
	}
	c := collector{memory: new(record.Memory)}
	if err := c.add([]view{v}, false, false); err != nil {
		return err
	}
	r.ArrivalTime = c.memory.Records()[0].ArrivalTime
	return nil
}

func (f *found) behind(n float64) error {
	a := answer{}
	err := a.behindBy(n)
	if err == nil {
		f.Behind = *a.behind
	}
	return err
}

// pair is a member of a JSON object: encoding/json's maps and structs do not tell all of them.
type pair struct {
	name  string
	value any
}

func jsonOracle(body []byte) (f found, err error) {
	f.Behind = -1
	if !json.Valid(body) {
		return f, errors.New("not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	top, ok := tree(d).([]pair)
	if !ok {
		return f, errors.New("no object")
	}
	lists := 0
	for _, p := range top {
		if p.value == nil {
			continue
		}
		switch p.name {
		case "Records":
			list, ok := p.value.([]any)
			if lists++; !ok || lists > 1 {
				return f, errors.New("no list")
			}
			for _, item := range list {
				var r record.Record
				if r, err = jsonRecord(item); err != nil {
					return f, err
				}
				f.Records = append(f.Records, r)
			}
		case "NextShardIterator":
			if f.Next, ok = p.value.(string); !ok {
				return f, errors.New("no string")
			}
		case "MillisBehindLatest":
			n, ok := p.value.(json.Number)
			if !ok {
				return f, errors.New("no number")
			}
			x, _ := strconv.ParseFloat(string(n), 64)
			if err = f.behind(x); err != nil {
				return f, err
			}
		case "ChildShards":
			return f, errUnsure
		}
	}
	return f, nil
}

func jsonRecord(item any) (r record.Record, err error) {
	r.Data = []byte{}
	members, ok := item.([]pair)
	if !ok {
		return r, errors.New("no object")
	}
	var data string
	for _, p := range members {
		if p.value == nil {
			continue
		}
		text, ok := p.value.(string)
		switch p.name {
		case "SequenceNumber":
			r.SequenceNumber = text
		case "PartitionKey":
			r.PartitionKey = text
		case "Data":
			data = text
		case "ApproximateArrivalTimestamp":
			var since float64
			if ok {
				since, err = dateSince(text)
			} else if n, isNumber := p.value.(json.Number); isNumber {
				since, _ = strconv.ParseFloat(string(n), 64)
			} else {
				err = errors.New("no time")
			}
			if err == nil {
				err = arrival(&r, since)
			}
			if err != nil {
				return r, err
			}
			ok = true
		default:
			ok = true
		}
		if !ok {
			return r, errors.New("no string")
		}
	}
	r.Data, err = base64.StdEncoding.DecodeString(data)
	return r, err
}

// tree reads a valid value.
func tree(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch token {
	case json.Delim('{'):
		members := []pair{}
		for d.More() {
			name, _ := d.Token()
			members = append(members, pair{name.(string), tree(d)})
		}
		_, _ = d.Token()
		return members
	case json.Delim('['):
		items := []any{}
		for d.More() {
			items = append(items, tree(d))
		}
		_, _ = d.Token()
		return items
	}
	return token
}

var cborMode = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, UTF8: cbor.UTF8DecodeInvalid,
		MaxNestedLevels: 65535, MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

func cborOracle(body []byte) (f found, err error) {
	f.Behind = -1
	if err := cborMode.Wellformed(body); err != nil {
		return f, err
	}
	err = cborEntries(body, func(name string, value []byte) error {
		switch name {
		case "Records":
			var list []cbor.RawMessage
			if value[0]>>5 != cborArray {
				return errors.New("no list")
			}
			if err := cborMode.Unmarshal(value, &list); err != nil {
				return err
			}
			for _, item := range list {
				r, err := cborRecord(item)
				if err != nil {
					return err
				}
				f.Records = append(f.Records, r)
			}
		case "NextShardIterator":
			f.Next, err = cborString(value)
			return err
		case "MillisBehindLatest":
			n, err := cborNumber(value)
			if err != nil {
				return err
			}
			return f.behind(n)
		case "ChildShards":
			return errUnsure
		}
		return nil
	})
	return f, err
}

func cborRecord(item []byte) (r record.Record, err error) {
	r.Data = []byte{}
	err = cborEntries(item, func(name string, value []byte) (err error) {
		switch name {
		case "SequenceNumber":
			r.SequenceNumber, err = cborString(value)
		case "PartitionKey":
			r.PartitionKey, err = cborString(value)
		case "Data":
			if value[0]>>5 == cborText {
				var s string
				if err = cborMode.Unmarshal(value, &s); err == nil && value[0] != 0x7f && strings.ContainsAny(s, "\r\n") {
					return errors.New("no base64") // of one piece, as in JSON
				} else if err == nil {
					r.Data, err = base64.StdEncoding.DecodeString(s)
				}
				return err
			}
			if value[0]>>5 != cborBytes {
				return errors.New("no bytes")
			}
			err = cborMode.Unmarshal(value, &r.Data)
		case "ApproximateArrivalTimestamp":
			var since float64
			if inner := untag(value); inner[0]>>5 == cborText {
				var s string
				if s, err = cborString(inner); err == nil {
					since, err = dateSince(s)
				}
			} else {
				since, err = cborNumber(value)
			}
			if err == nil {
				err = arrival(&r, since)
			}
		}
		return err
	})
	return r, err
}

// cborEntries visits the entries of a map whose keys are texts and whose values are not null; the values without their
// tags, but those of numbers.
func cborEntries(body []byte, visit func(string, []byte) error) error {
	body = untag(body)
	if body[0]>>5 != cborMap {
		return errors.New("no map")
	}
	var entries map[any]cbor.RawMessage
	if err := cborMode.Unmarshal(body, &entries); err != nil {
		return errUnsure // two of a name, or a key that Go cannot have
	}
	for key, value := range entries {
		name, ok := key.(string)
		if _, tagged := key.(cbor.Tag); tagged || !ok && key == nil {
			return errUnsure
		}
		bare := untag(value)
		if !ok || bare[0] == 0xf6 || bare[0] == 0xf7 {
			continue
		}
		if name != "MillisBehindLatest" && name != "ApproximateArrivalTimestamp" {
			value = bare
		}
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

func untag(value []byte) []byte {
	for value[0]>>5 == cborTag {
		_, value = tagOf(value)
	}
	return value
}

// tagOf takes a tag off by hand: the second decoder judges what may stand behind those that it knows.
func tagOf(value []byte) (tag uint64, content []byte) {
	n := 0
	if info := value[0] & 31; info < 24 {
		return uint64(info), value[1:]
	} else {
		n = 1 << (info - 24)
	}
	for _, b := range value[1 : 1+n] {
		tag = tag<<8 | uint64(b)
	}
	return tag, value[1+n:]
}

func cborString(value []byte) (s string, err error) {
	if value[0]>>5 != cborText {
		return "", errors.New("no text")
	}
	err = cborMode.Unmarshal(value, &s)
	return string([]rune(s)), err
}

func cborNumber(value []byte) (float64, error) {
	switch value[0] >> 5 {
	case cborTag:
		tag, content := tagOf(value)
		if tag != 2 && tag != 3 {
			return cborNumber(content)
		}
		content = untag(content)
		if content[0]>>5 != cborBytes {
			return 0, errors.New("no bignum")
		}
		var b []byte
		if err := cborMode.Unmarshal(content, &b); err != nil {
			return 0, err
		}
		f, _ := new(big.Float).SetInt(new(big.Int).SetBytes(b)).Float64()
		if tag == 3 {
			f = -1 - f
		}
		return f, nil
	case cborUint:
		var n uint64
		err := cborMode.Unmarshal(value, &n)
		return float64(n), err
	case cborNegative:
		var n big.Int
		err := cborMode.Unmarshal(value, &n)
		f, _ := new(big.Float).SetInt(&n).Float64()
		return f, err
	case cborSimple:
		if value[0] < 0xf9 || value[0] > 0xfb {
			return 0, errors.New("no number")
		}
		var f float64
		err := cborMode.Unmarshal(value, &f)
		return f, err
	}
	return 0, fmt.Errorf("no number: %x", value[0])
}
