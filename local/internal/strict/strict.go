// Package strict decodes JSON that people wrote: what is not known is refused, and errors are for them.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Decode decodes one JSON value without unknown members. Its errors are for a person, see Problem.
func Decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return Problem(err)
	}
	if decoder.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Problem is an error of encoding/json for a person: it begins with the member's name, where it is about one.
func Problem(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("there is no JSON value")
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s: a JSON %s cannot be its value", wrong.Field, wrong.Value)
	case wrong != nil:
		return fmt.Errorf("is a JSON %s, not an object", wrong.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
