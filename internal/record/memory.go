package record

import (
	"slices"
	"sort"
	"sync"
)

// Memory is what lies behind the records of one answer: the slice of them, and their payloads in chunks. It is used again
// for other answers once the records are settled: most of what an answer costs otherwise is fresh memory, and the garbage
// collector's looking at it.
//
// A record is settled once nobody may read its payload any more: it was handled, or dropped before a handler saw it. Settle says
// so, once for each record, in any order. What is never settled is left to the garbage collector; so whoever is not sure does not
// settle. Strings are not used again: they are ordinary ones, whoever keeps them.
//
// The zero Memory is that of an answer which is to be read. A Memory is not safe for use by several goroutines at once.
type Memory struct {
	records []Record
	chunks  []chunk // those of records that follow each other
	free    []byte  // of the last chunk
	open    int     // records that are not settled
	newest  int     // the chunk of the record that was settled last
	again   bool    // the slice of records may be used again
	settled []bool  // for each record; only under the race detector
}

// chunk is where the payloads of some records lie.
type chunk struct {
	end   int              // the number of the first record behind it
	open  int              // records of it that are not settled
	bytes *[chunkSize]byte // to be used again; nil: not
}

// chunkSize is small enough for what a single record keeps in memory, and large enough that each is used for many records.
const chunkSize = 64 << 10

// manyRecords is how many records a slice has at least that is used again: at the tip of a shard they are short.
const manyRecords = 16

// What waits to be used again. The garbage collector takes what nobody has used for two of its rounds.
var (
	chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}
	tables sync.Pool // *[]Record, none of which refers to anything
)

// Expect makes room for n records, before the first.
func (m *Memory) Expect(n int) {
	if m.again = n >= manyRecords; m.again {
		if t, ok := tables.Get().(*[]Record); ok {
			if cap(*t) >= n && cap(*t) <= n+n/4 {
				m.records = *t
				return
			}
			tables.Put(t) // for a longer or a shorter answer
		}
	}
	m.records = make([]Record, 0, n)
}

// Expected says whether Expect was called.
func (m *Memory) Expected() bool { return m.records != nil }

// Add makes the next record, with the stream, shard and token of the template and with room for a payload of n bytes, and returns
// it. rest is how many bytes of payloads are
// known to come, these n included; more says that they may not be all.
//
// Chunks to be used again are filled; what is left over at the end of an answer gets as much as it needs, so that records pin
// no more than their sizes say.
func (m *Memory) Add(template *Record, n, rest int, more bool) *Record {
	if n > len(m.free) {
		switch {
		case n <= chunkSize && (more || rest >= chunkSize):
			bytes := chunks.Get().(*[chunkSize]byte)
			m.chunks = append(m.chunks, chunk{bytes: bytes})
			m.free = bytes[:]
		default:
			m.chunks = append(m.chunks, chunk{})
			m.free = make([]byte, max(n, min(rest, chunkSize)))
		}
	}
	r := m.add(template)
	if r.Data, m.free = m.free[:n:n], m.free[n:]; r.Data == nil {
		r.Data = []byte{}
	}
	return r
}

// AddKept makes the next record, whose payload stays where it is.
func (m *Memory) AddKept(template *Record, payload []byte) *Record {
	m.chunks = append(m.chunks, chunk{})
	m.free = nil
	r := m.add(template)
	r.Data = payload
	return r
}

func (m *Memory) add(template *Record) *Record {
	if len(m.chunks) == 0 { // for a record without a payload
		m.chunks = append(m.chunks, chunk{})
	}
	n := len(m.records)
	if n < cap(m.records) {
		m.records = m.records[:n+1] // all zero: see Settle
	} else {
		m.records = append(m.records, Record{})
	}
	c := &m.chunks[len(m.chunks)-1]
	c.end = len(m.records)
	c.open++
	m.open++
	r := &m.records[n]
	r.Stream, r.Shard, r.Token = template.Stream, template.Shard, template.Token
	return r
}

// Records are those that were added, without the room that was made for more. Nothing may be added after this.
func (m *Memory) Records() []Record {
	m.free = nil
	if cap(m.records) > len(m.records)+len(m.records)/4 {
		m.records, m.again = slices.Clone(m.records), false
	}
	if poisoned {
		m.settled = make([]bool, len(m.records))
	}
	return m.records
}

// Len is the number of records.
func (m *Memory) Len() int {
	if m == nil {
		return 0
	}
	return len(m.records)
}

// Settle says that nobody reads the payloads of these records any more, from the first up to the one before end, nor the records
// where they lie in Records. A nil Memory has nothing to use again.
func (m *Memory) Settle(first, end int) {
	if m == nil || first == end {
		return
	}
	if poisoned {
		m.poison(first, end)
	}
	n := m.newest
	if first >= m.chunks[n].end || first < m.begin(n) {
		n = sort.Search(len(m.chunks), func(n int) bool { return m.chunks[n].end > first })
	}
	for at := first; at < end; n++ {
		c := &m.chunks[n]
		settled := min(end, c.end) - at
		at += settled
		if c.open -= settled; c.open == 0 {
			clear(m.records[m.begin(n):c.end])
			if c.bytes != nil {
				chunks.Put(c.bytes)
				c.bytes = nil
			}
		}
		m.newest = n
	}
	if m.open -= end - first; m.open == 0 && m.again {
		m.records = m.records[:0]
		tables.Put(&m.records)
	}
}

// begin is the number of the first record in a chunk.
func (m *Memory) begin(n int) int {
	if n == 0 {
		return 0
	}
	return m.chunks[n-1].end
}

// poison makes payloads that are settled look like nothing that was put.
func (m *Memory) poison(first, end int) {
	for i := first; i < end; i++ {
		if m.settled[i] {
			panic("a record was settled twice")
		}
		m.settled[i] = true
		for at := range m.records[i].Data {
			m.records[i].Data[at] = 0xdd
		}
	}
}
