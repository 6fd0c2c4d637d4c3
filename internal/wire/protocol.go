package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ErrNoCBOR says that the service does not speak CBOR. The call has failed; the next ones are made in JSON.
var ErrNoCBOR = errors.New("the service does not speak CBOR")

// Protocol is the protocol of the SDK's Kinesis client, which it wraps, with GetRecords read by this package. It is
// for one client, and safe for concurrent use.
//
// With Auto it speaks CBOR until the service has shown that it does not: by a success whose body came whole and is not
// CBOR, or by a SerializationException or UnknownOperationException. From then on it speaks JSON. Nothing
// else counts, above all no server error and no broken connection.
type Protocol struct {
	smithyhttp.ClientProtocol // of the SDK, in JSON
	format                    Format
	told                      func(reason string)
	json                      atomic.Bool // CBOR has failed
}

// New returns a Protocol for kinesis.Options.Protocol around the one that is there. A format other than Auto is
// kept whatever happens. told, which may be nil, is called once, when CBOR is given up; it must not
// block.
func New(inner smithyhttp.ClientProtocol, format Format, told func(reason string)) *Protocol {
	if told == nil {
		told = func(string) {}
	}
	return &Protocol{ClientProtocol: inner, format: format, told: told}
}

// Format is the format in which the next request is made.
func (p *Protocol) Format() Format {
	switch {
	case p.format != Auto:
		return p.format
	case p.json.Load():
		return JSON
	}
	return CBOR
}

// SerializeRequest implements smithyhttp.ClientProtocol.
func (p *Protocol) SerializeRequest(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, req *smithyhttp.Request) error {
	if err := p.ClientProtocol.SerializeRequest(ctx, op, in, req); err != nil {
		return err
	}
	b := batchOf(ctx)
	ask, ok := in.(*kinesis.GetRecordsInput)
	if b == nil || !ok {
		return nil
	}
	b.Records, b.Memory, b.Filled = nil, nil, false
	if b.asked = p.Format(); b.asked == JSON {
		return nil
	}
	req.Header.Set("Content-Type", cborType)
	with, err := req.SetStream(bytes.NewReader(appendRequest(nil, ask)))
	if err != nil {
		return fmt.Errorf("setting the request's body: %w", err)
	}
	*req = *with
	return nil
}

// DeserializeResponse implements smithyhttp.ClientProtocol.
func (p *Protocol) DeserializeResponse(ctx context.Context, op *smithy.OperationSchema, types *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	b := batchOf(ctx)
	into, ok := out.(*kinesis.GetRecordsOutput)
	if b == nil || !ok {
		return p.ClientProtocol.DeserializeResponse(ctx, op, types, resp, out)
	}
	if resp.StatusCode/100 == 2 {
		return p.answer(b, resp, into)
	}
	if err := errorAsJSON(resp); err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	err := p.ClientProtocol.DeserializeResponse(ctx, op, types, resp, out)
	var api smithy.APIError
	if resp.StatusCode < 500 && errors.As(err, &api) {
		if code := api.ErrorCode(); code == "SerializationException" || code == "UnknownOperationException" {
			return p.giveUp(b, err)
		}
	}
	return err
}

// answer reads a success into b and into.
func (p *Protocol) answer(b *Batch, resp *smithyhttp.Response, into *kinesis.GetRecordsOutput) error {
	b.Records, b.Memory, b.Filled = nil, nil, true
	body, length := io.Reader(resp.Body), resp.ContentLength
	if length < 0 { // an empty body must be known as such
		buffered := bufio.NewReader(body)
		if _, err := buffered.Peek(1); err == io.EOF {
			length = 0
		}
		body = buffered
	}
	if length == 0 || resp.Body == http.NoBody {
		return nil // as the SDK: an output without anything
	}
	r, format, err := read(body, length, window, b.Template)
	if err != nil {
		err = &smithy.DeserializationError{Err: err}
	}
	// A body that came whole and cannot be read is not CBOR either: kinesalite cuts its long ones off.
	if format == JSON || errors.Is(err, errNeither) || err != nil && r.read == length {
		err = p.giveUp(b, err)
	}
	if err != nil {
		return err
	}
	b.Records, b.Memory = r.records(), r.collect.memory
	into.NextShardIterator, into.MillisBehindLatest, into.ChildShards = r.answer.next, r.answer.behind, r.answer.children
	return nil
}

// giveUp notes that a request in CBOR was not understood. It returns the error of the call.
func (p *Protocol) giveUp(b *Batch, err error) error {
	if p.format != Auto || b.asked != CBOR {
		return err
	}
	if !p.json.Swap(true) {
		reason := "the answer was JSON"
		if err != nil {
			reason = err.Error()
		}
		p.told(reason)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoCBOR, err)
	}
	return nil
}
