package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/leatstream/leat/internal/record"
)

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{1024, 128} {
		s := newSample(min(10_000, 5<<20/size), size)
		for _, format := range []Format{JSON, CBOR} {
			body := s.json()
			if format == CBOR {
				body = s.cbor(b)
			}
			b.Run(fmt.Sprintf("%v/%d", format, size), func(b *testing.B) {
				b.SetBytes(s.payload())
				b.ReportAllocs()
				var reader bytes.Reader
				for b.Loop() {
					reader.Reset(body)
					r, _, err := read(&reader, int64(len(body)), window, record.Record{})
					if err != nil || len(r.records()) != len(s.records) {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
