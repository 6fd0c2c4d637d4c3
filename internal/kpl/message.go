package kpl

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A field's tag is its number and how it is written: number<<3 | wire type (Protocol Buffers, Encoding). A
// known number with another wire type is an unknown field, and is passed over like all of them.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5

	// of AggregatedRecord
	tagPartitionKey = 1<<3 | wireBytes
	tagHashKey      = 2<<3 | wireBytes
	tagRecord       = 3<<3 | wireBytes

	// of Record
	tagPartitionKeyIndex = 1<<3 | wireVarint
	tagHashKeyIndex      = 2<<3 | wireVarint
	tagData              = 3<<3 | wireBytes
)

type field struct {
	tag   uint64
	value uint64 // of a varint
	bytes []byte // of what has a length; its capacity ends with it
}

// readField takes the first field off a message. If b does not begin with one, ok is false and
// nothing is left. Groups are refused: no producer of aggregated records writes them.
func readField(b []byte) (f field, rest []byte, ok bool) {
	tag, n := varint(b)
	if n == 0 || tag>>3 == 0 || tag > math.MaxUint32 {
		return field{}, nil, false
	}
	b = b[n:]
	f.tag = tag
	switch tag & 7 {
	case wireVarint:
		if f.value, n = varint(b); n == 0 {
			return field{}, nil, false
		}
	case wireBytes:
		length, m := varint(b)
		if m == 0 || length > uint64(len(b)-m) {
			return field{}, nil, false
		}
		n = m + int(length)
		f.bytes = b[m:n:n]
	case wireFixed64:
		n = 8
	case wireFixed32:
		n = 4
	default:
		return field{}, nil, false
	}
	if n > len(b) {
		return field{}, nil, false
	}
	return f, b[n:], true
}

// varint reads a number and says how many bytes it takes: at most 10, and 0 if b does not begin with one.
func varint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, n = binary.Uvarint(b)
	return v, max(0, n)
}

type userRecord struct {
	partitionKey uint64 // index into its table
	hashKey      uint64 // index into its table
	hasHashKey   bool
	data         []byte
}

// readUserRecord reads a Record. If a field is repeated the last one counts. If b is none, missing says why.
func readUserRecord(b []byte) (u userRecord, missing string) {
	hasPartitionKey, hasData := false, false
	for len(b) > 0 {
		f, rest, ok := readField(b)
		if !ok {
			return userRecord{}, "cannot be read"
		}
		b = rest
		switch f.tag {
		case tagPartitionKeyIndex:
			u.partitionKey, hasPartitionKey = f.value, true
		case tagHashKeyIndex:
			u.hashKey, u.hasHashKey = f.value, true
		case tagData:
			u.data, hasData = f.bytes, true
		}
	}
	switch {
	case !hasPartitionKey:
		return userRecord{}, "has no partition key"
	case !hasData:
		return userRecord{}, "has no data"
	}
	return u, ""
}

// census is what a message holds.
type census struct {
	partitionKeys, hashKeys, records int

	keyBytes int // of both tables
	keysEnd  int // where the last key ends in the message
}

// inspect reads all of a message. It returns an *Error unless every user record can be taken out.
func inspect(message []byte, most uint64) (c census, err error) {
	fault := func(rest []byte, reason Reason, format string, args ...any) (census, error) {
		at := len(magic) + len(message) - len(rest)
		return census{}, &Error{Reason: reason, Offset: at, what: fmt.Sprintf(format, args...)}
	}
	// The tables may come after the records, so the largest indexes are kept until both are known.
	var partitionKey, hashKey largest
	for rest := message; len(rest) > 0; {
		f, after, ok := readField(rest)
		if !ok {
			return fault(rest, Malformed, "not a field of a protobuf message")
		}
		var count *int
		switch f.tag {
		case tagPartitionKey:
			count = &c.partitionKeys
		case tagHashKey:
			count = &c.hashKeys
		case tagRecord:
			count = &c.records
			u, missing := readUserRecord(f.bytes)
			if missing != "" {
				return fault(rest, Malformed, "user record %d %s", c.records, missing)
			}
			partitionKey.see(u.partitionKey, c.records, rest)
			if u.hasHashKey {
				hashKey.see(u.hashKey, c.records, rest)
			}
		default:
			rest = after
			continue
		}
		if *count++; uint64(*count) > most {
			return fault(rest, TooMany, "more than %d user records, or keys in a table", most)
		}
		if f.tag != tagRecord {
			if len(f.bytes) > maxKey {
				return fault(rest, LongKey, "a key of %d bytes, where %d are allowed", len(f.bytes), maxKey)
			}
			c.keyBytes += len(f.bytes)
			c.keysEnd = len(message) - len(after)
		}
		rest = after
	}
	switch {
	case c.records == 0:
		return fault(message, Empty, "no user record in it")
	case partitionKey.index >= uint64(c.partitionKeys):
		return fault(partitionKey.rest, BadIndex, "user record %d names partition key %d of %d", partitionKey.record, partitionKey.index, c.partitionKeys)
	case hashKey.seen && hashKey.index >= uint64(c.hashKeys):
		return fault(hashKey.rest, BadIndex, "user record %d names explicit hash key %d of %d", hashKey.record, hashKey.index, c.hashKeys)
	}
	return c, nil
}

// largest is the largest index of a kind, and who named it.
type largest struct {
	seen   bool
	index  uint64
	record int
	rest   []byte // the message from that user record on
}

func (l *largest) see(index uint64, record int, rest []byte) {
	if !l.seen || index > l.index {
		*l = largest{true, index, record, rest}
	}
}
