// Package kpl reads and writes aggregated records: many user records in one record of a stream, in the
// format of the Amazon Kinesis Producer Library (KPL, aggregation-format.md). It is a function of its
// bytes: no clock, goroutine or IO.
//
//	0               4                    n                  n+16
//	| F3 89 9A C2   | protobuf message   | MD5 of the message |
//
//	message AggregatedRecord {
//	  repeated string partition_key_table     = 1;
//	  repeated string explicit_hash_key_table = 2;
//	  repeated Record records                 = 3;
//	}
//	message Record {
//	  required uint64 partition_key_index     = 1;
//	  optional uint64 explicit_hash_key_index = 2;
//	  required bytes  data                    = 3;
//	  repeated Tag    tags                    = 4;
//	}
//
// Anybody who may put records may put bad ones. So Open looks at all of an aggregated record before the
// first user record comes out of it, and one that is bad is known as a whole: nothing of it has been
// handled, nothing of it is lost. The MD5 shows damage, not who wrote it.
//
// User records come out one at a time. Their data are slices of the aggregated record's bytes, their keys
// are slices of one string: an aggregated record costs one allocation, at most twice its bytes, however many
// user records it holds.
package kpl

import (
	"crypto/fips140"
	"crypto/md5"
	"encoding/binary"
	"math"
	"strings"

	"github.com/leatstream/leat/internal/record"
)

const magic = "\xF3\x89\x9A\xC2"

// MaxUserRecords is how many user records Open lets an aggregated record hold if it is told no other
// number. A record of 1 MiB cannot hold more than 174,759: a user record takes 6 bytes at least.
const MaxUserRecords = 200_000

// maxKey is the longest key in bytes: 256 characters, as the service allows (Kinesis API reference,
// PartitionKey), of 4 bytes. It bounds what a user record seems to cost, since many may name one key.
const maxKey = 256 * 4

// Is says whether a record's data look like an aggregated record: the magic bytes, a message and room for
// the checksum. Whether they are one, Open says. With an empty message it is a plain record, as in the
// Java KCL.
func Is(data []byte) bool {
	return len(data) > len(magic)+md5.Size && string(data[:len(magic)]) == magic
}

// Aggregate is an aggregated record that has been found good as a whole, and a place in it. A copy is
// another place in the same record. It is not safe for use by several goroutines.
type Aggregate struct {
	message []byte
	census  census
	at      int   // place in message, after the last user record that came out
	next    int64 // sub-sequence number of the next user record

	// keys holds where each key ends in it, 4 bytes a key, then the keys: first the partition keys, then
	// the explicit hash keys.
	keys string
}

// Open checks an aggregated record. data must not change as long as a user record of it is in use. More than
// most user records, or more than most keys in a table, are an error; 0 means MaxUserRecords.
//
// The error is an *Error. Whoever delivers data as a plain record then loses nothing.
func Open(data []byte, most int) (Aggregate, error) {
	message, c, err := look(data, most)
	if err != nil {
		return Aggregate{}, err
	}
	return Aggregate{message: message, census: c, keys: joinKeys(message, c)}, nil
}

// Check is Open for somebody else: it looks at all of data, and allocates nothing.
func Check(data []byte, most int) error {
	_, _, err := look(data, most)
	return err
}

// Reopen is Open for data that Check has found good. It looks at no checksum.
func Reopen(data []byte) Aggregate {
	message := data[len(magic) : len(data)-md5.Size]
	c, _ := inspect(message, math.MaxUint64)
	return Aggregate{message: message, census: c, keys: joinKeys(message, c)}
}

func look(data []byte, most int) (message []byte, c census, err error) {
	if !Is(data) {
		return nil, c, &Error{Reason: NotAggregated, what: "no magic bytes, or nothing after them"}
	}
	if most <= 0 {
		most = MaxUserRecords
	}
	message = data[len(magic) : len(data)-md5.Size]
	if checksum(message) != [md5.Size]byte(data[len(data)-md5.Size:]) {
		return nil, c, &Error{Reason: BadChecksum, what: "the MD5 is another one"}
	}
	c, err = inspect(message, uint64(most))
	return message, c, err
}

// Len is the number of user records in the aggregated record, at least 1.
func (a *Aggregate) Len() int { return a.census.records }

// Left is the number of user records that have not come out.
func (a *Aggregate) Left() int { return a.census.records - int(a.next) }

// Next takes out the next user record; false means that there is none. It sets SubSequenceNumber, PartitionKey,
// ExplicitHashKey, Data and Aggregated in r, and leaves the rest, which is the aggregated record's.
//
// Data is a part of the aggregated record's bytes, and its capacity ends with it. It keeps all of them in
// memory, and a key keeps all keys.
func (a *Aggregate) Next(r *record.Record) bool {
	u, ok := a.step()
	if !ok {
		return false
	}
	r.SubSequenceNumber = a.next - 1
	r.PartitionKey = a.key(int(u.partitionKey))
	r.ExplicitHashKey = ""
	if u.hasHashKey {
		r.ExplicitHashKey = a.key(a.census.partitionKeys + int(u.hashKey))
	}
	r.Data = u.data
	r.Aggregated = true
	return true
}

// SkipThrough leaves out the user records up to and including this sub-sequence number: what a checkpoint
// inside the aggregated record says was handled. It does not go back.
func (a *Aggregate) SkipThrough(sub int64) {
	for a.next <= sub {
		if _, ok := a.step(); !ok {
			return
		}
	}
}

// step goes on to the next user record. Open has shown that all can be read.
func (a *Aggregate) step() (u userRecord, ok bool) {
	for a.at < len(a.message) {
		tag, value, next := readField(a.message, a.at)
		a.at = next
		if tag == tagRecord {
			a.next++
			u, _ = readUserRecord(a.message[next-int(value) : next])
			return u, true
		}
	}
	return userRecord{}, false
}

func (a *Aggregate) key(i int) string {
	start := 4 * (a.census.partitionKeys + a.census.hashKeys)
	if i > 0 {
		start = a.keyEnd(i - 1)
	}
	return a.keys[start:a.keyEnd(i)]
}

func (a *Aggregate) keyEnd(i int) int {
	w := a.keys[4*i : 4*i+4]
	return int(uint32(w[0]) | uint32(w[1])<<8 | uint32(w[2])<<16 | uint32(w[3])<<24)
}

// joinKeys makes Aggregate.keys of both tables. The fields of a message may stand in any order.
func joinKeys(message []byte, c census) string {
	var keys strings.Builder
	end := 4 * (c.partitionKeys + c.hashKeys)
	keys.Grow(end + c.keyBytes)
	for _, table := range [...]uint64{tagPartitionKey, tagHashKey} {
		for at := 0; at < c.keysEnd; {
			tag, length, next := readField(message, at)
			if tag == table {
				end += int(length)
				var word [4]byte
				binary.LittleEndian.PutUint32(word[:], uint32(end))
				keys.Write(word[:])
			}
			at = next
		}
	}
	for _, table := range [...]uint64{tagPartitionKey, tagHashKey} {
		for at := 0; at < c.keysEnd; {
			tag, length, next := readField(message, at)
			if tag == table {
				keys.Write(message[next-int(length) : next])
			}
			at = next
		}
	}
	return keys.String()
}

// checksum is the MD5 of b. Here it finds damage and spreads keys over shards, as the service defines it, so it
// works too where GODEBUG=fips140=only forbids MD5.
func checksum(b []byte) (sum [md5.Size]byte) {
	if !fips140.Enforced() {
		return md5.Sum(b)
	}
	fips140.WithoutEnforcement(func() { sum = md5.Sum(b) })
	return sum
}
