package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// flagOf is where a field of the library's configurations comes from.
var flagOf = map[string]string{
	"Stream": "STREAM", "Group": "--group", "Worker": "--worker", "Start": "--start", "From": "--from", "To": "--to",
}

// faults is what Validate returns, with the names of flags in the place of fields.
func faults(err error) error {
	if err == nil {
		return nil
	}
	var all []string
	for fault := range strings.SplitSeq(err.Error(), "\n") {
		field, why, _ := strings.Cut(fault, ": ")
		if flag, ok := flagOf[field]; ok {
			field = flag
		}
		all = append(all, field+": "+why)
	}
	return usagef("%s", strings.Join(all, "; "))
}

// exactly is the check that a command has these arguments; one in brackets may be left out.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		for i, name := range names {
			if i >= len(args) && name[0] != '[' {
				return usagef("the argument %s is missing", name)
			}
		}
		if len(args) > len(names) {
			return usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// flagError says what is wrong with a flag's value in the words of the command's other messages: pflag's have those of
// package strconv in them.
func flagError(_ *cobra.Command, err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag, why := bad.GetFlag(), bad.Unwrap()
	switch number, isNumber := errors.AsType[*strconv.NumError](why); {
	case isNumber && errors.Is(number, strconv.ErrRange):
		why = errors.New("is out of range")
	case isNumber && flag.Value.Type() == "float64":
		why = errors.New("is not a number")
	case isNumber && flag.Value.Type() == "bool":
		why = errors.New("is neither true nor false")
	case isNumber:
		why = errors.New("is not a whole number")
	}
	return fmt.Errorf("--%s: %q %w", flag.Name, bad.GetValue(), why)
}

// interruption is the cause of a context that a signal ended.
type interruption struct{ signal syscall.Signal }

// Error says which signal it was, by the name that people know.
func (i *interruption) Error() string {
	switch i.signal {
	case syscall.SIGINT:
		return "interrupted by SIGINT (Ctrl-C)"
	case syscall.SIGTERM:
		return "interrupted by SIGTERM"
	case syscall.SIGHUP:
		return "interrupted by SIGHUP (the terminal was closed)"
	}
	return "interrupted by " + i.signal.String()
}

// interrupted returns the signal that ended ctx, or nil.
func interrupted(ctx context.Context) *interruption {
	var i *interruption
	errors.As(context.Cause(ctx), &i)
	return i
}
