package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
	"github.com/spf13/cobra"

	"github.com/leatstream/leat"
)

// The exit codes, a contract: see exitCodes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNotFound = 3
	exitDenied   = 4
	exitSignal   = 128 // plus the signal's number
	exitPipe     = exitSignal + int(syscall.SIGPIPE)
)

func exitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes of leat:

    0  all went well. Also: the reader of the pipe behind stdout had enough
       and closed it (with tail --group that is 141). For local also: SIGINT,
       SIGTERM or SIGHUP, its usual end.
    1  failed: the service, the network, the disk or the input. put says on
       stderr how many records were put before.
    2  wrong usage: the message names the flag or argument. Nothing was done.
    3  the stream, or the shard, does not exist.
    4  access denied, or no credentials found.
  130  interrupted by SIGINT (Ctrl-C), 143 by SIGTERM, 129 by SIGHUP (the
       terminal was closed). tail has written every record that it told of;
       put has ended the request that was under way and says how many records
       were put. A second signal ends at once.
  141  the program behind tail --group has ended: what it had not dealt with
       comes again with the next start.

A full disk or a closed stdout is 1 (or 0, see above), never a silent loss.`,
	}
}

// hintError is an error with advice for a person.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

func withHint(err error, format string, args ...any) error {
	return &hintError{err, fmt.Sprintf(format, args...)}
}

// report tells the error, if any, and returns the exit code. An interrupted context counts for more
// than the error that it led to.
func (p *program) report(ctx context.Context, err error) int {
	if err == nil || errors.Is(err, errReaderGone) {
		return exitOK
	}
	if i := (*interruption)(nil); errors.As(err, &i) {
		p.say("%v", i)
		return exitSignal + int(i.signal)
	}
	// The library's own prefix would stand there twice.
	p.say("%s", strings.TrimPrefix(err.Error(), "leat: "))
	if hint := hintOf(err); hint != "" {
		p.say("hint: %s", hint)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	switch {
	case errors.As(err, new(*usageError)):
		return exitUsage
	case errors.Is(err, leat.ErrStreamNotFound), errors.Is(err, leat.ErrShardNotFound), apiCode(err) == "ResourceNotFoundException":
		return exitNotFound
	case errors.Is(err, errNoCredentials), denied[apiCode(err)]:
		return exitDenied
	case errors.Is(err, errProgramGone):
		return exitPipe
	}
	return exitFailed
}

func hintOf(err error) string {
	var h *hintError
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	case errors.Is(err, errNoCredentials):
		return "give a profile (--profile, AWS_PROFILE), or the endpoint of a server on this machine (--endpoint, LEAT_ENDPOINT)"
	case unreachable(err):
		return "nobody answers there: check the network, --region and --endpoint (LEAT_ENDPOINT); leat local starts a server on this machine"
	case exitCode(err) == exitNotFound:
		return "check the name, --region and --endpoint (LEAT_ENDPOINT)"
	case exitCode(err) == exitDenied:
		return "check the credentials (AWS_PROFILE, --profile) and the IAM policy"
	}
	return ""
}

// unreachable says that no connection could be made.
func unreachable(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// apiCode is the error code of the service's answer, or empty.
func apiCode(err error) string {
	if answer, ok := errors.AsType[smithy.APIError](err); ok {
		return answer.ErrorCode()
	}
	return ""
}

// denied are the codes of answers that say who may not do what (Kinesis API reference, errors of
// PutRecords and GetRecords, and common errors).
var denied = map[string]bool{
	"AccessDeniedException":       true,
	"AccessDenied":                true,
	"NotAuthorized":               true,
	"OptInRequired":               true,
	"UnrecognizedClientException": true,
	"InvalidClientTokenId":        true,
	"InvalidSignatureException":   true,
	"IncompleteSignature":         true,
	"MissingAuthenticationToken":  true,
	"ExpiredTokenException":       true,
	"ExpiredToken":                true,
	"KMSAccessDeniedException":    true,
}

// output is stdout with a memory: what prints help, for one, does not look at errors.
type output struct {
	w   io.Writer
	err error // the first one
}

// Write implements io.Writer. The error is errReaderGone if stdout is a pipe that nobody reads.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	switch {
	case errors.Is(err, syscall.EPIPE):
		err = errReaderGone
	case err != nil:
		err = fmt.Errorf("writing to stdout: %w", err)
	}
	if o.err == nil {
		o.err = err
	}
	return n, err
}
