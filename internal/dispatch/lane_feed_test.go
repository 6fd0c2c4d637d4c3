package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// feed is what a reader, other shards that want memory, and a stop do to a lane.
type feed struct {
	length int                                   // of the shard, in records as they lie in it
	after  func(lease.Position) int              // how many of them a reader leaves out that goes on behind a position
	read   func(place, last int) []record.Record // those from place on, without last
	sizes  []int                                 // of answers, in turn
	drops  []int64                               // bytes that are wanted, in turn
	stopAt int                                   // milliseconds after the start; below 0 is never
}

// run feeds the lane until it is done. Then finish ends the reader, frees the lane and tells the bytes that were taken
// and given back.
func (f feed) run(t *testing.T, b *bench) (finish func() (taken, back int64)) {
	var taken, freed int64
	reader, dropper := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(reader)
		for place, n := 0, 0; ; n++ {
			again, rewind, err := b.Room(t.Context())
			if err != nil {
				return
			}
			if rewind {
				place = f.after(again)
			}
			time.Sleep(time.Duration(n%2) * 70 * time.Millisecond) // a call, in which the tail may be dropped
			last := min(f.length, place+f.sizes[n%len(f.sizes)])
			records, memory := remembered(f.read(place, last))
			taken += sizeOf(records)
			b.Push(records, memory, last == f.length)
			place = last
		}
	}()
	go func() {
		defer close(dropper)
		for i, want := range f.drops {
			time.Sleep(time.Duration(10+i*7%90) * time.Millisecond)
			freed += b.DropTail(want)
		}
	}()
	if f.stopAt >= 0 {
		time.Sleep(time.Duration(f.stopAt) * time.Millisecond)
		b.Drain()
	}
	<-b.Done()
	return func() (int64, int64) {
		b.Drain()
		<-reader
		<-dropper
		synctest.Wait() // for who gave a deferred ack to give its bytes back
		b.Free()
		return taken, b.bytesGiven() + freed
	}
}

// remembered are the records as an answer has them: in memory that is used again as soon as they are settled.
func remembered(records []record.Record) ([]record.Record, *record.Memory) {
	m := new(record.Memory)
	m.Expect(len(records))
	for i := range records {
		data := records[i].Data
		r := m.Add(new(record.Record), len(data), len(data), true)
		copy(r.Data, data)
		data = r.Data
		*r = records[i]
		r.Data = data
	}
	return m.Records(), m
}
