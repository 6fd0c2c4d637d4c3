package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leatstream/leat/lease"
)

// entry is a record to put.
type entry struct {
	line int // of the input, from 1
	key  string
	data []byte        // never nil: the service wants data, if empty
	hash lease.HashKey // known if entries are aggregated
}

// size is what the service counts against its limits: data and partition key, in bytes.
func (e entry) size() int { return len(e.data) + len(e.key) }

// maxKey is the longest partition key, in characters (Kinesis API reference, PutRecordsRequestEntry).
const maxKey = 256

// input reads entries, one a line.
type input struct {
	r     *bufio.Reader
	line  int
	limit int // of entry.size, in bytes
	json  bool
	key   string   // for each record
	field []string // path of the key in the JSON; nil: key, else a random one
}

// tooLargeError says that a record is over the stream's limit.
type tooLargeError struct{ line, size, limit int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("line %d: the record has %d bytes, its key included; the stream's limit is %d bytes", e.line, e.size, e.limit)
}

// next returns the next record, or io.EOF. Blank lines are records, but not among JSON.
func (in *input) next() (entry, error) {
	for {
		data, length, err := in.readLine()
		if err != nil {
			return entry{}, err
		}
		if in.json && length == len(data) && len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		e := entry{line: in.line, key: in.key, data: data}
		if e.key == "" && in.field == nil {
			e.key = rand.Text()
		}
		if length > len(data) {
			return entry{}, &tooLargeError{in.line, length + len(e.key), in.limit}
		}
		if in.json {
			if err := in.jsonKey(&e); err != nil {
				return entry{}, fmt.Errorf("line %d: %w", in.line, err)
			}
		}
		if n := utf8.RuneCountInString(e.key); n > maxKey {
			return entry{}, fmt.Errorf("line %d: the key has %d characters, the limit is %d", in.line, n, maxKey)
		}
		if e.size() > in.limit {
			return entry{}, &tooLargeError{in.line, e.size(), in.limit}
		}
		return e, nil
	}
}

// readLine reads a line, without its newline. Of one that is over the limit it returns only the
// beginning, and its length.
func (in *input) readLine() (line []byte, length int, err error) {
	in.line++
	line = []byte{}
	for {
		part, err := in.r.ReadSlice('\n')
		newline := err == nil
		if newline {
			part = part[:len(part)-1]
		}
		length += len(part)
		if length <= in.limit {
			line = append(line, part...)
		}
		switch {
		case newline:
			return line, length, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && length > 0:
			return line, length, nil // a last line without a newline
		case errors.Is(err, io.EOF):
			return nil, 0, io.EOF
		default:
			return nil, 0, fmt.Errorf("reading line %d: %w", in.line, err)
		}
	}
}

// jsonKey checks a line of JSON and, with a field, takes the key out of it.
func (in *input) jsonKey(e *entry) (err error) {
	if !json.Valid(e.data) {
		return fmt.Errorf("not a JSON value")
	}
	if in.field == nil {
		return nil
	}
	e.key, err = pathValue(e.data, in.field)
	if err == nil && e.key == "" {
		err = fmt.Errorf("the key is empty")
	}
	if err != nil {
		return fmt.Errorf("--key-field %s: %w", strings.Join(in.field, "."), err)
	}
	return nil
}

// pathValue finds the value at a path of object members and array indices. Strings come without
// quotes, numbers and booleans as they are written; nothing else can be a key.
func pathValue(value json.RawMessage, path []string) (string, error) {
	for i, step := range path {
		var object map[string]json.RawMessage
		var array []json.RawMessage
		at := strings.Join(path[:i+1], ".")
		switch value = bytes.TrimSpace(value); value[0] {
		case '{':
			json.Unmarshal(value, &object) // the line is valid
			member, ok := object[step]
			if !ok {
				return "", fmt.Errorf("there is no %s", at)
			}
			value = member
		case '[':
			json.Unmarshal(value, &array)
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(array) {
				return "", fmt.Errorf("there is no %s: the array has %d elements", at, len(array))
			}
			value = array[n]
		default:
			return "", fmt.Errorf("there is no %s: its parent is neither object nor array", at)
		}
	}
	switch value = bytes.TrimSpace(value); value[0] {
	case '"':
		var text string
		json.Unmarshal(value, &text)
		return text, nil
	case '{', '[', 'n':
		return "", fmt.Errorf("the value is neither a string nor a number nor a boolean")
	}
	return string(value), nil
}
