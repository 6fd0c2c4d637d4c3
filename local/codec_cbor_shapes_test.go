package local_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// shapes writes values as CBOR, by the second encoder, in ways that differ by chance.
type shapes struct{ *rand.Rand }

// request is a request in CBOR that is one in JSON.
func (s shapes) request(question []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(question))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		panic(err) // the SDK's
	}
	return s.item("", tree)
}

// item writes the value of a member.
func (s shapes) item(name string, value any) (item cbor.RawMessage) {
	defer func() {
		if s.IntN(8) == 0 { // a tag that says nothing new: "this is CBOR"
			item = encoded(cbor.Tag{Number: 55799, Content: item})
		}
	}()
	switch v := value.(type) {
	case map[string]any:
		return s.object(v, name != "Tags")
	case []any:
		items := make([]cbor.RawMessage, len(v))
		for i := range v {
			items[i] = s.item(name, v[i])
		}
		if s.IntN(2) == 0 {
			return encoded(items)
		}
		return streamed((*cbor.Encoder).StartIndefiniteArray, items...)
	case string:
		if name == "Data" {
			data, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				panic(err)
			}
			if s.IntN(2) == 0 {
				return encoded(data)
			}
			cut := s.IntN(len(data) + 1)
			return streamed((*cbor.Encoder).StartIndefiniteByteString, encoded(data[:cut]), encoded(data[cut:]))
		}
		if s.IntN(2) == 0 {
			return encoded(v)
		}
		pieces := []cbor.RawMessage{}
		for len(v) > 0 {
			runes := []rune(v)
			head := string(runes[:1+s.IntN(len(runes))])
			pieces, v = append(pieces, encoded(head)), v[len(head):]
		}
		return streamed((*cbor.Encoder).StartIndefiniteTextString, pieces...)
	case json.Number:
		if strings.HasSuffix(name, "Timestamp") {
			return s.time(v)
		}
		n, err := v.Int64()
		if err != nil {
			panic(err)
		}
		return encoded(n)
	}
	return encoded(value)
}

// object writes a map; a structure, with members that nobody knows.
func (s shapes) object(members map[string]any, structure bool) cbor.RawMessage {
	written := map[string]cbor.RawMessage{}
	for name, value := range members {
		written[name] = s.item(name, value)
	}
	for i := 0; structure && i < s.IntN(3); i++ {
		written[fmt.Sprintf("Unknown%d", i)] = encoded([]any{
			nil, 1.5, -7, "text", []byte("bytes"), map[int]any{1: true}, []any{[]int{}}, cbor.SimpleValue(99), cbor.Tag{Number: 2, Content: []byte{1, 0}},
		}[s.IntN(9)])
	}
	if s.IntN(2) == 0 {
		return encoded(written)
	}
	var pairs []cbor.RawMessage
	for _, name := range slices.Sorted(maps.Keys(written)) {
		pairs = append(pairs, encoded(name), written[name])
	}
	return streamed((*cbor.Encoder).StartIndefiniteMap, pairs...)
}

// time writes seconds since 1970 as the Java SDK does, or in one of the second encoder's ways.
func (s shapes) time(seconds json.Number) cbor.RawMessage {
	f, err := seconds.Float64()
	if err != nil {
		panic(err)
	}
	t := time.UnixMilli(int64(f*1000 + 0.5))
	switch s.IntN(4) {
	case 0:
		return encoded(cbor.Tag{Number: 1, Content: t.UnixMilli()})
	case 1:
		return encoded(t.UnixMilli())
	}
	mode, err := cbor.EncOptions{
		Time:    []cbor.TimeMode{cbor.TimeUnixMicro, cbor.TimeUnixDynamic, cbor.TimeRFC3339Nano}[s.IntN(3)],
		TimeTag: []cbor.EncTagMode{cbor.EncTagNone, cbor.EncTagRequired}[s.IntN(2)],
	}.EncMode()
	if err != nil {
		panic(err)
	}
	item, err := mode.Marshal(t)
	if err != nil {
		panic(err)
	}
	return item
}

func encoded(value any) cbor.RawMessage {
	item, err := cbor.Marshal(value)
	if err != nil {
		panic(err)
	}
	return item
}

// streamed writes what has no length and ends with a break.
func streamed(start func(*cbor.Encoder) error, items ...cbor.RawMessage) cbor.RawMessage {
	var b bytes.Buffer
	e := cbor.NewEncoder(&b)
	err := start(e)
	for i := 0; i < len(items) && err == nil; i++ {
		_, err = b.Write(items[i])
	}
	if err == nil {
		err = e.EndIndefinite()
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}
