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

// readField reads the field of a message that begins at a place, and says where the next one begins. value is
// the number in it, or the length of its bytes, which end where the next one begins. If no field begins there
// the tag is 0, and nothing comes after it. Groups are refused: no producer of aggregated records writes them.
func readField(message []byte, at int) (tag, value uint64, next int) {
	if at < len(message) && message[at] < 0x80 {
		tag, next = uint64(message[at]), at+1
	} else if tag, next = longVarint(message, at); tag > math.MaxUint32 {
		return 0, 0, len(message)
	}
	if tag>>3 == 0 {
		return 0, 0, len(message)
	}
	switch tag & 7 {
	case wireVarint, wireBytes:
		if next < len(message) && message[next] < 0x80 {
			value, next = uint64(message[next]), next+1
		} else {
			was := next
			if value, next = longVarint(message, was); next == was {
				return 0, 0, len(message)
			}
		}
		if tag&7 == wireVarint {
			return tag, value, next
		}
	case wireFixed64:
		value = 8
	case wireFixed32:
		value = 4
	default:
		return 0, 0, len(message)
	}
	if value > uint64(len(message)-next) {
		return 0, 0, len(message)
	}
	return tag, value, next + int(value)
}

// longVarint reads a number of more than one byte, up to 10. If none begins at the place it stays there.
func longVarint(message []byte, at int) (v uint64, next int) {
	v, n := binary.Uvarint(message[at:])
	if n <= 0 {
		return 0, at
	}
	return v, at + n
}

type userRecord struct {
	partitionKey uint64 // index into its table
	hashKey      uint64 // index into its table
	hasHashKey   bool
	data         []byte // nil: there are none
}

// readUserRecord reads a Record. If a field is repeated the last one counts. If b is none, missing says why.
func readUserRecord(b []byte) (u userRecord, missing string) {
	hasPartitionKey := false
	for at := 0; at < len(b); {
		tag, value, next := readField(b, at)
		switch tag {
		case tagPartitionKeyIndex:
			u.partitionKey, hasPartitionKey = value, true
		case tagHashKeyIndex:
			u.hashKey, u.hasHashKey = value, true
		case tagData:
			u.data = b[next-int(value) : next : next]
		case 0:
			return userRecord{}, "cannot be read"
		}
		at = next
	}
	switch {
	case !hasPartitionKey:
		return userRecord{}, "has no partition key"
	case u.data == nil:
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
	fault := func(at int, reason Reason, format string, args ...any) (census, error) {
		return census{}, &Error{Reason: reason, Offset: len(magic) + at, what: fmt.Sprintf(format, args...)}
	}
	// The tables may come after the records, so the largest indexes are kept until both are known.
	var partitionKey, hashKey largest
	for at, next := 0, 0; at < len(message); at = next {
		var tag, value uint64
		tag, value, next = readField(message, at)
		var count *int
		switch tag {
		case 0:
			return fault(at, Malformed, "not a field of a protobuf message")
		case tagPartitionKey:
			count = &c.partitionKeys
		case tagHashKey:
			count = &c.hashKeys
		case tagRecord:
			count = &c.records
			u, missing := readUserRecord(message[next-int(value) : next])
			if missing != "" {
				return fault(at, Malformed, "user record %d %s", c.records, missing)
			}
			partitionKey.see(u.partitionKey, c.records, at)
			if u.hasHashKey {
				hashKey.see(u.hashKey, c.records, at)
			}
		default:
			continue
		}
		if *count++; uint64(*count) > most {
			return fault(at, TooMany, "more than %d user records, or keys in a table", most)
		}
		if tag != tagRecord {
			if value > maxKey {
				return fault(at, LongKey, "a key of %d bytes, where %d are allowed", value, maxKey)
			}
			c.keyBytes += int(value)
			c.keysEnd = next
		}
	}
	switch {
	case c.records == 0:
		return fault(0, Empty, "no user record in it")
	case partitionKey.index >= uint64(c.partitionKeys):
		return fault(partitionKey.at, BadIndex, "user record %d names partition key %d of %d", partitionKey.record, partitionKey.index, c.partitionKeys)
	case hashKey.seen && hashKey.index >= uint64(c.hashKeys):
		return fault(hashKey.at, BadIndex, "user record %d names explicit hash key %d of %d", hashKey.record, hashKey.index, c.hashKeys)
	}
	return c, nil
}

// largest is the largest index of a kind, and who named it.
type largest struct {
	seen       bool
	index      uint64
	record, at int // which user record, and where it stands
}

func (l *largest) see(index uint64, record, at int) {
	if !l.seen || index > l.index {
		*l = largest{true, index, record, at}
	}
}
