package leat

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/leatstream/leat/internal/fetch"
	"github.com/leatstream/leat/internal/wire"
)

// connect returns a Kinesis client whose answers are paid for out of the byte budget before they are read. With FormatAuto
// inJSON, which may be nil, is told why they are not in CBOR, once.
func connect(ctx context.Context, given *aws.Config, endpoint string, poll time.Duration, format Format, inJSON func(reason string)) (*kinesis.Client, error) {
	var cfg aws.Config
	if given != nil {
		cfg = given.Copy()
	} else {
		loaded, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, fmt.Errorf("loading the AWS configuration: %w", err)
		}
		cfg = loaded
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS region: set AWS_REGION, a profile's region, or Config.AWS")
	}
	return kinesis.NewFromConfig(cfg, func(o *kinesis.Options) {
		o.HTTPClient = fetch.MeteredHTTP(fetch.NewHTTP(cfg.HTTPClient, poll))
		o.Protocol = wire.New(o.Protocol, format.wire(), inJSON)
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	}), nil
}

// describe asks what the stream is; that it does not exist is an error of its own.
func describe(ctx context.Context, api fetch.API, stream string) (fetch.StreamInfo, error) {
	info, err := fetch.Describe(ctx, api, stream)
	if errors.Is(err, fetch.ErrMissing) {
		return info, fmt.Errorf("%w: %s (is the region or the endpoint the right one?)", ErrStreamNotFound, stream)
	}
	return info, err
}

// verify returns an error if the stream is gone or is not the same any more; nil if it is, or if that
// cannot be told now.
func verify(ctx context.Context, api fetch.API, stream fetch.StreamInfo) error {
	name := stream.ARN
	if name == "" {
		name = stream.Name
	}
	now, err := describe(ctx, api, name)
	switch {
	case errors.Is(err, ErrStreamNotFound):
		return err
	case err != nil:
		return nil
	case !now.Created.Equal(stream.Created):
		return fmt.Errorf("%w: %s was created at %v, this group reads the one of %v", ErrStreamRecreated, stream.Name, now.Created, stream.Created)
	}
	return nil
}

// onceSet is a value that is set once and read by anybody.
type onceSet[T any] struct{ p atomic.Pointer[T] }

func (o *onceSet[T]) set(v T) bool { return o.p.CompareAndSwap(nil, &v) }

func (o *onceSet[T]) get() (v T, ok bool) {
	if p := o.p.Load(); p != nil {
		return *p, true
	}
	return v, false
}
