package local

import (
	"fmt"
	"sort"
	"time"
)

// shard is one shard of a stream, open or closed.
type shard struct {
	stream           *stream
	number           uint32
	id               string
	start, end       hashKey // both inclusive
	parent, adjacent string  // ids; the parents may be long forgotten
	created          int64   // Unix seconds, as its sequence numbers tell
	opened           time.Time
	closed           time.Time // zero while open
	children         []*shard

	// records are in sequence order. The elements are never changed, only
	// appended and dropped from the front, so a sub-slice that was handed out
	// stays valid without the lock.
	records []record

	reads     readQuota
	writes    writeQuota
	iterators callQuota
}

type record struct {
	index    uint64 // within the stream: see stream.lastIndex
	arrival  int64  // Unix milliseconds
	sequence string
	key      string
	data     []byte
}

func shardID(number uint32) string { return fmt.Sprintf("shardId-%012d", number) }

func (h *shard) open() bool { return h.closed.IsZero() }

// firstSequence is the StartingSequenceNumber that ListShards tells.
func (h *shard) firstSequence() string {
	return sequence{created: h.created, shard: h.number, arrived: h.created}.String()
}

// lastSequence is the EndingSequenceNumber of a closed shard.
func (h *shard) lastSequence() string {
	return sequence{h.created, h.number, endIndex, h.closed.Unix()}.String()
}

// append stores a record and returns its sequence number.
func (h *shard) append(now time.Time, key string, data []byte) string {
	h.stream.lastIndex++
	r := record{
		index:    h.stream.lastIndex,
		arrival:  now.UnixMilli(),
		sequence: sequence{h.created, h.number, h.stream.lastIndex, now.Unix()}.String(),
		key:      key,
		data:     data,
	}
	h.records = append(h.records, r)
	return r.sequence
}

// trim drops the records that arrived before the horizon.
func (h *shard) trim(horizon time.Time) {
	if len(h.records) == 0 || h.records[0].arrival >= horizon.UnixMilli() {
		return
	}
	n := h.firstSince(horizon)
	// The front of the array is still referenced by the slice that remains, so
	// it is copied once half of it is garbage.
	if n*2 >= len(h.records) {
		h.records = append([]record(nil), h.records[n:]...)
	} else {
		h.records = h.records[n:]
	}
}

// firstSince is the offset of the first record that arrived at t or later.
func (h *shard) firstSince(t time.Time) int {
	ms := t.UnixMilli()
	return sort.Search(len(h.records), func(i int) bool { return h.records[i].arrival >= ms })
}

// firstFrom is the offset of the first record with this index or a later one.
func (h *shard) firstFrom(index uint64) int {
	return sort.Search(len(h.records), func(i int) bool { return h.records[i].index >= index })
}
