package kpl

import (
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/leatstream/leat/lease"
)

// MaxSize is the size up to which an Aggregator fills a record if it is told no other, in bytes of data and
// partition key together: what every stream takes (Kinesis API reference, PutRecordsRequestEntry). A stream may
// be set to take up to 10 MiB. The KPL itself stops at 50 KiB (AggregationMaxSize).
const MaxSize = 1 << 20

// outerKey is the partition key of an aggregated record, the KPL's own. Nothing hangs on it, since the
// record has an explicit hash key.
const outerKey = "a"

// ErrTooLarge means that a user record would not even fit alone. It may still fit as a plain record: that has
// less around it.
var ErrTooLarge = errors.New("the user record is too large for an aggregated record")

// Aggregator puts user records together into an aggregated record.
//
// They must all belong to one shard: the KPL looks each up in the shards of the stream, with Range.Has of
// HashKeyOf. If not, the records of one key may end up in two shards, out of order; and a Java KCL that meets a user
// record outside of its shard's range drops the whole aggregated record.
type Aggregator struct {
	limit int
	hash  lease.HashKey // of the first user record

	partitionKeys, hashKeys table
	records                 []byte // the message's last part
	count                   int
}

// table is one of the tables of keys.
type table struct {
	index map[string]uint64
	bytes []byte // the message's part
}

// NewAggregator returns an Aggregator that makes records of up to limit bytes, data and partition key
// together; 0 means MaxSize.
func NewAggregator(limit int) *Aggregator {
	if limit <= 0 {
		limit = MaxSize
	}
	return &Aggregator{limit: limit}
}

// Add adds a user record. If full is true it does not fit any more and was not added: call Finish, and Add
// again. data is copied; explicitHashKey may be empty.
//
// An error says that this user record never fits: ErrTooLarge, a partition key that is empty or longer than
// 256 characters, an explicit hash key that is not a number from 0 to 2^128-1.
func (a *Aggregator) Add(partitionKey, explicitHashKey string, data []byte) (full bool, err error) {
	if n := utf8.RuneCountInString(partitionKey); n < 1 || n > maxKey/utf8.UTFMax {
		return false, fmt.Errorf("a partition key has 1 to 256 characters, this one has %d", n)
	}
	if len(explicitHashKey) > maxKey { // with many zeros in front, even such a long one can be a number
		return false, fmt.Errorf("an explicit hash key has up to %d bytes, this one has %d", maxKey, len(explicitHashKey))
	}
	hash, err := HashKeyOf(partitionKey, explicitHashKey)
	if err != nil {
		return false, err
	}
	var buffer [64]byte
	head := buffer[:0] // the user record, up to its data
	head = appendVarint(head, tagPartitionKeyIndex, a.partitionKeys.at(partitionKey))
	if explicitHashKey != "" {
		head = appendVarint(head, tagHashKeyIndex, a.hashKeys.at(explicitHashKey))
	}
	head = appendVarint(head, tagData, uint64(len(data)))

	size := fieldSize(len(head)+len(data)) + a.partitionKeys.growth(partitionKey)
	if explicitHashKey != "" {
		size += a.hashKeys.growth(explicitHashKey)
	}
	if a.count == MaxUserRecords || a.Size()+size > a.limit {
		if a.count == 0 {
			return false, ErrTooLarge
		}
		return true, nil
	}
	if a.count == 0 {
		a.hash = hash
	}
	a.count++
	a.partitionKeys.add(tagPartitionKey, partitionKey)
	if explicitHashKey != "" {
		a.hashKeys.add(tagHashKey, explicitHashKey)
	}
	a.records = appendVarint(a.records, tagRecord, uint64(len(head)+len(data)))
	a.records = append(append(a.records, head...), data...)
	return false, nil
}

// Len is the number of user records in it.
func (a *Aggregator) Len() int { return a.count }

// Size is the number of bytes of the record as the service counts them, data and partition key.
func (a *Aggregator) Size() int {
	return len(outerKey) + len(magic) + len(a.partitionKeys.bytes) + len(a.hashKeys.bytes) + len(a.records) + md5.Size
}

// Keys are the keys with which to put the record, the KPL's: the partition key "a", and the first user
// record's hash key as the explicit one. They are empty if there is no user record.
//
// Other producers put the first user record's keys: the record goes to the same shard.
func (a *Aggregator) Keys() (partitionKey, explicitHashKey string) {
	if a.count == 0 {
		return "", ""
	}
	return outerKey, a.hash.String()
}

// Finish returns the data of the aggregated record and begins the next one; nil if there is no user record.
// Ask for Keys before.
//
// One with a single user record is aggregated too. (The KPL puts such a one as a plain record.)
func (a *Aggregator) Finish() []byte {
	if a.count == 0 {
		return nil
	}
	data := make([]byte, 0, a.Size()-len(outerKey))
	data = append(data, magic...)
	data = append(data, a.partitionKeys.bytes...)
	data = append(data, a.hashKeys.bytes...)
	data = append(data, a.records...)
	sum := checksum(data[len(magic):])
	*a = Aggregator{limit: a.limit}
	return append(data, sum[:]...)
}

// at is where the key stands in the table, or will stand.
func (t *table) at(key string) uint64 {
	if i, ok := t.index[key]; ok {
		return i
	}
	return uint64(len(t.index))
}

// growth is how many bytes the table grows by if the key is added.
func (t *table) growth(key string) int {
	if _, ok := t.index[key]; ok {
		return 0
	}
	return fieldSize(len(key))
}

func (t *table) add(tag uint64, key string) {
	if _, ok := t.index[key]; ok {
		return
	}
	if t.index == nil {
		t.index = map[string]uint64{}
	}
	t.index[key] = uint64(len(t.index))
	t.bytes = append(appendVarint(t.bytes, tag, uint64(len(key))), key...)
}

// fieldSize is the size of a field of the message with a number below 16 and this many bytes in it.
func fieldSize(n int) int {
	var length [binary.MaxVarintLen64]byte
	return 1 + binary.PutUvarint(length[:], uint64(n)) + n
}

// appendVarint appends a field's tag, and its value or the length of what follows.
func appendVarint(b []byte, tag, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, tag), value)
}
