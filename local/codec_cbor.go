package local

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

const cborType = "application/x-amz-cbor-1.1"

// cborCodec is AWS CBOR 1.1, as the Java SDK speaks it to the service: the members of the JSON in maps of CBOR (RFC 8949),
// data as byte strings, times behind tag 1 but in milliseconds. Maps and lists have no length and end with a break, as in the service's
// errors (kinesalite has the bytes of two).
type cborCodec struct{}

func (cborCodec) decode(body []byte, request any) error {
	if len(body) == 0 {
		return nil
	}
	return decodeCBOR(body, reflect.ValueOf(request).Elem())
}

func (cborCodec) append(b []byte, answer any) ([]byte, error) {
	switch a := answer.(type) {
	case *none:
		return b, nil // such operations answer without a body
	case *getRecordsAnswer:
		return appendRecordsCBOR(b, a), nil
	}
	return appendCBOR(b, reflect.ValueOf(answer)), nil
}

func (cborCodec) appendError(b []byte, e *apiError) []byte {
	b = append(b, cborMap|cborIndefinite)
	b = appendTextCBOR(appendTextCBOR(b, "__type"), e.kind)
	b = appendTextCBOR(appendTextCBOR(b, "message"), e.message)
	return append(b, cborBreak)
}

// appendRecordsCBOR has to be as fast as appendRecordsJSON.
func appendRecordsCBOR(b []byte, a *getRecordsAnswer) []byte {
	b = append(b, cborMap|cborIndefinite)
	b = appendIntCBOR(appendTextCBOR(b, "MillisBehindLatest"), a.MillisBehindLatest)
	b = appendTextCBOR(b, "NextShardIterator")
	if a.NextShardIterator == "" {
		b = append(b, cborNull)
	} else {
		b = appendTextCBOR(b, a.NextShardIterator)
	}
	if a.ChildShards != nil {
		b = appendCBOR(appendTextCBOR(b, "ChildShards"), reflect.ValueOf(a.ChildShards))
	}
	b = append(appendTextCBOR(b, "Records"), cborList|cborIndefinite)
	for i := range a.Records {
		r := &a.Records[i]
		b = append(b, cborMap|cborIndefinite)
		b = appendTextCBOR(appendTextCBOR(b, "SequenceNumber"), r.sequence)
		b = appendMillisCBOR(appendTextCBOR(b, "ApproximateArrivalTimestamp"), r.arrival)
		b = appendHeadCBOR(appendTextCBOR(b, "Data"), cborBytes, uint64(len(r.data)))
		b = append(b, r.data...)
		b = appendTextCBOR(appendTextCBOR(b, "PartitionKey"), r.key)
		b = append(b, cborBreak)
	}
	return append(b, cborBreak, cborBreak)
}

// The major types of CBOR, as they stand in an item's first byte, and what else is one byte (RFC 8949, 3).
const (
	cborUint     = 0 << 5
	cborNegative = 1 << 5
	cborBytes    = 2 << 5
	cborText     = 3 << 5
	cborList     = 4 << 5
	cborMap      = 5 << 5
	cborTag      = 6 << 5
	cborSimple   = 7 << 5 // and floats

	cborFalse      = cborSimple | 20
	cborTrue       = cborSimple | 21
	cborNull       = cborSimple | 22
	cborUndefined  = cborSimple | 23
	cborIndefinite = 31 // with the major type of strings, lists and maps
	cborBreak      = cborSimple | cborIndefinite

	cborEpoch = cborTag | 1 // a number since 1970
)

var epochType = reflect.TypeFor[epoch]()

// appendCBOR adds a value of the answers' types; it does with them what encoding/json does.
func appendCBOR(b []byte, v reflect.Value) []byte {
	if v.Type() == epochType {
		return appendMillisCBOR(b, v.Interface().(epoch).UnixMilli())
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, cborNull)
		}
		return appendCBOR(b, v.Elem())
	case reflect.Struct:
		b = append(b, cborMap|cborIndefinite)
		for _, m := range membersOf(v.Type()) {
			if field := v.FieldByIndex(m.index); !m.omitEmpty || !field.IsZero() {
				b = appendCBOR(appendTextCBOR(b, m.name), field)
			}
		}
		return append(b, cborBreak)
	case reflect.Slice:
		if v.IsNil() {
			return append(b, cborNull)
		}
		b = append(b, cborList|cborIndefinite)
		for i := range v.Len() {
			b = appendCBOR(b, v.Index(i))
		}
		return append(b, cborBreak)
	case reflect.String:
		return appendTextCBOR(b, v.String())
	case reflect.Bool:
		if v.Bool() {
			return append(b, cborTrue)
		}
		return append(b, cborFalse)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return appendIntCBOR(b, v.Int())
	}
	panic(fmt.Sprintf("local: no answer has a %v", v.Type()))
}

func appendMillisCBOR(b []byte, ms int64) []byte { return appendIntCBOR(append(b, cborEpoch), ms) }

func appendIntCBOR(b []byte, n int64) []byte {
	if n < 0 {
		return appendHeadCBOR(b, cborNegative, uint64(-1-n))
	}
	return appendHeadCBOR(b, cborUint, uint64(n))
}

func appendTextCBOR(b []byte, s string) []byte {
	return append(appendHeadCBOR(b, cborText, uint64(len(s))), s...)
}

// appendHeadCBOR adds the beginning of an item, as short as it can be.
func appendHeadCBOR(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n < 1<<8:
		return append(b, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}
