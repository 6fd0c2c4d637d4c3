package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/spf13/cobra"
)

// endpointVariable is the environment variable behind --endpoint.
const endpointVariable = "LEAT_ENDPOINT"

// errNoCredentials says that the SDK's chain found no credentials.
var errNoCredentials = errors.New("no AWS credentials found")

// connection is how a subcommand reaches Kinesis.
type connection struct {
	endpoint, region, profile string
}

func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.endpoint, "endpoint", "", "`URL` of a Kinesis-compatible server (default $"+endpointVariable+", else AWS)")
	f.StringVar(&c.region, "region", "", "AWS `REGION` (default $AWS_REGION, else the profile's)")
	f.StringVar(&c.profile, "profile", "", "AWS profile `NAME` of the shared files (default $AWS_PROFILE)")
}

// resolve completes the endpoint and checks it.
func (c *connection) resolve() error {
	source := "--endpoint"
	if c.endpoint == "" {
		c.endpoint, source = os.Getenv(endpointVariable), endpointVariable
	}
	if c.endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return usagef("%s: %q is not a URL such as http://127.0.0.1:4567", source, c.endpoint)
	}
	return nil
}

// loopback says whether the endpoint is a server on this machine.
func (c *connection) loopback() bool {
	u, err := url.Parse(c.endpoint)
	return err == nil && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// aws returns the configuration of the SDK. A server on this machine needs no set-up: where nothing
// is found, region and credentials are made up for it, and no instance role is asked for.
func (c *connection) aws(ctx context.Context) (*aws.Config, error) {
	var options []func(*config.LoadOptions) error
	if c.region != "" {
		options = append(options, config.WithRegion(c.region))
	}
	if c.profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.profile))
	}
	if c.loopback() {
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if unknown, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return nil, usagef("--profile: the shared files have no profile %q", unknown.Profile)
	}
	if err != nil {
		return nil, fmt.Errorf("loading the AWS configuration: %w", err)
	}
	_, missing := cfg.Credentials.Retrieve(ctx)
	switch {
	case missing != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case missing != nil && c.loopback():
		cfg.Credentials = credentials.NewStaticCredentialsProvider("local", "local", "")
	case missing != nil:
		return nil, fmt.Errorf("%w: %w", errNoCredentials, missing)
	}
	if cfg.Region == "" && c.loopback() {
		cfg.Region = "us-east-1"
	}
	if cfg.Region == "" {
		return nil, usagef("--region: is not given, and neither AWS_REGION nor the profile has one")
	}
	return &cfg, nil
}

// client returns a client of Kinesis.
func (c *connection) client(ctx context.Context) (*kinesis.Client, error) {
	cfg, err := c.aws(ctx)
	if err != nil {
		return nil, err
	}
	return kinesis.NewFromConfig(*cfg, func(o *kinesis.Options) {
		o.HTTPClient = plainBodies{o.HTTPClient}
		if c.endpoint != "" {
			o.BaseEndpoint = &c.endpoint
		}
	}), nil
}

// plainBodies is an HTTP client that hides all of a request's body but Read and Close. The SDK's body
// cannot be written and closed at one time, and net/http does so where a server answers within a
// millisecond, as one on this machine can ("use of closed network connection").
type plainBodies struct{ inner aws.HTTPClient }

// Do implements aws.HTTPClient.
func (c plainBodies) Do(r *http.Request) (*http.Response, error) {
	type plain struct{ io.ReadCloser }
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a copy
		r.Body = plain{r.Body}
	}
	return c.inner.Do(r)
}
