//go:build unix

package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/schemas"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"github.com/leatstream/leat/internal/record"
)

// BenchmarkDecode decodes answers of 5 MiB, or of 10,000 records, with the SDK's own decoder and with ours.
// MB are payload.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{1024, 128} {
		s := newSample(min(10_000, 5<<20/size), size)
		b.Run(fmt.Sprintf("codec=sdk/size=%d", size), func(b *testing.B) { benchSDK(b, s) })
		for _, format := range []Format{JSON, CBOR} {
			body := s.json()
			if format == CBOR {
				body = s.cbor(b)
			}
			b.Run(fmt.Sprintf("codec=%v/size=%d", format, size), func(b *testing.B) {
				b.ReportAllocs()
				var reader bytes.Reader
				perCPU(b, s.payload(), func() {
					reader.Reset(body)
					r, _, err := read(&reader, int64(len(body)), window, record.Record{})
					if err != nil || len(r.records()) != len(s.records) {
						b.Fatal(err)
					}
					r.collect.memory.Settle(0, len(s.records))
				})
			})
			b.Run(fmt.Sprintf("stage=views/codec=%v/size=%d", format, size), func(b *testing.B) { benchViews(b, s, body, format) })
		}
	}
}

// benchViews is the pure decoder without its records being made.
func benchViews(b *testing.B, s sample, body []byte, format Format) {
	b.ReportAllocs()
	a := answer{}
	perCPU(b, s.payload(), func() {
		d := newDecoder(format)
		a = answer{views: a.views[:0]}
		if used, err := d.decode(body, &a); err != nil || used != len(body) || len(a.views) != len(s.records) {
			b.Fatal(used, err)
		}
	})
}

func benchSDK(b *testing.B, s sample) {
	b.ReportAllocs()
	body := s.json()
	protocol := awsjson.New11(schemas.Kinesis_20131202)
	op := smithy.NewOperationSchema(schemas.GetRecords, schemas.GetRecordsInput, schemas.GetRecordsOutput)
	perCPU(b, s.payload(), func() {
		var out kinesis.GetRecordsOutput
		resp := &smithyhttp.Response{Response: &http.Response{StatusCode: 200, Header: http.Header{},
			ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}}
		if err := protocol.DeserializeResponse(b.Context(), op, kinesis.TypeRegistry, resp, &out); err != nil || len(out.Records) != len(s.records) {
			b.Fatal(err)
		}
	})
}
