package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// appendRequest writes a request in CBOR.
func appendRequest(to []byte, in *kinesis.GetRecordsInput) []byte {
	entries := 0
	head := len(to)
	to = append(to, cborMap<<5)
	name := func(s string) {
		entries++
		to = appendString(to, s)
	}
	for _, field := range []struct {
		name  string
		value *string
	}{{"ShardIterator", in.ShardIterator}, {"StreamARN", in.StreamARN}, {"StreamId", in.StreamId}} {
		if field.value != nil {
			name(field.name)
			to = appendString(to, *field.value)
		}
	}
	if in.Limit != nil {
		name("Limit")
		if n := int64(*in.Limit); n < 0 {
			to = appendHead(to, cborNegative, uint64(-1-n))
		} else {
			to = appendHead(to, cborUint, uint64(n))
		}
	}
	if in.DryRun != nil {
		name("DryRun")
		if *in.DryRun {
			to = append(to, cborSimple<<5|21)
		} else {
			to = append(to, cborSimple<<5|20)
		}
	}
	to[head] |= byte(entries)
	return to
}

func appendString(to []byte, s string) []byte {
	return append(appendHead(to, cborText, uint64(len(s))), s...)
}

// appendHead writes the beginning of an item, as short as it can be.
func appendHead(to []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(to, major|byte(n))
	case n < 1<<8:
		return append(to, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(to, major|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(to, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(to, major|27), n)
}

// maxError is how much of an error's body is read.
const maxError = 64 << 10

// errorAsJSON makes JSON of an error that came as CBOR, so that the SDK can make its own type of it.
func errorAsJSON(resp *smithyhttp.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return fmt.Errorf("reading the error: %w", err)
	}
	if formatOf(body) == CBOR {
		if body, err = json.Marshal(textsOf(body)); err != nil {
			return fmt.Errorf("reading the error: %w", err)
		}
		resp.ContentLength = int64(len(body))
		resp.Header.Set("Content-Type", jsonType)
		resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), resp.Body}
	return nil
}

// textsOf are the entries of a map of CBOR that are texts; the type and the message of an error are. What comes
// after a mistake is left out: half an error says more than none.
func textsOf(body []byte) map[string]string {
	texts := map[string]string{}
	c := cborReader{in: body}
	c.entries(func(name string) {
		at := c.at
		major, _, _ := c.untagged()
		if c.at = at; major != cborText {
			c.skip(0)
		} else if s := c.pointer(); s != nil {
			texts[name] = *s
		}
	})
	return texts
}
