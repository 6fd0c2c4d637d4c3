package file

import (
	"fmt"
	"testing"

	"github.com/leatstream/leat/lease"
)

func BenchmarkWrite(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%t", sync), func(b *testing.B) {
			s := opened(b, b.TempDir(), func(s *Store) { s.NoSync = !sync })
			item := create(b, s)
			b.ReportAllocs()
			for b.Loop() {
				item = raise(b, s, item)
			}
		})
	}
}

// A heartbeat's worth of reading: another handle has written since.
func BenchmarkMembers(b *testing.B) {
	dir := b.TempDir()
	writer, reader := opened(b, dir, unsynced), opened(b, dir, unsynced)
	var items []lease.Item
	for i := range 5 {
		item, err := writer.Write(b.Context(), testGroup, lease.Write{Op: lease.Create,
			Item: lease.Item{Key: lease.WorkerKey(fmt.Sprint(i)), Worker: lease.Worker{State: lease.Alive}}})
		if err != nil {
			b.Fatal(err)
		}
		items = append(items, item)
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		items[i%5] = raise(b, writer, items[i%5])
		b.StartTimer()
		if _, err := reader.Members(b.Context(), testGroup, false); err != nil {
			b.Fatal(err)
		}
	}
}

// The longest log that there is before the next one begins.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s := opened(b, dir, unsynced)
	item := create(b, s)
	for s.log.bytes < rollAt-1000 {
		item = raise(b, s, item)
	}
	b.SetBytes(s.log.bytes)
	for b.Loop() {
		opened(b, dir).Close()
	}
}
