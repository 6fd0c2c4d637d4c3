// Package deadletter has places for the records that a group gives up: see leat.Config.DeadLetter.
package deadletter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/leatstream/leat"
)

// letter is one line of a file: a contract, see File.
type letter struct {
	Time    string       `json:"time"`
	Error   string       `json:"error"`
	Attempt int          `json:"attempt"`
	Record  *leat.Record `json:"record"`
}

// file appends letters to a file. It holds nothing open: letters are rare, and the file may be moved away at
// any time.
type file struct {
	path string
	mu   sync.Mutex // keeps the letters of one process apart
}

// File returns a DeadLetter that appends a line of JSON to a file, and syncs it, for each record: time (RFC 3339, UTC,
// of this machine), error (why it was given up), attempt (the last one's number) and record (as Record.MarshalJSON
// has it: what leat tail prints). More fields may come. The file is made if it is not there, readable by its owner only; its
// folder must be. Workers on one machine may share it; a line that a crash has cut short is ended before the next one.
//
//	jq -c .record failed.ndjson    # the records, as leat tail prints them
func File(path string) leat.DeadLetter { return &file{path: path} }

// Send implements leat.DeadLetter.
func (f *file) Send(_ context.Context, r *leat.Record, cause error) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(letter{
		Time: time.Now().UTC().Format(time.RFC3339), Error: cause.Error(), Attempt: r.Attempt, Record: r,
	})
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		err = f.append(line.Bytes())
	}
	if err != nil {
		return fmt.Errorf("file %s: %w", f.path, err)
	}
	return nil
}

func (f *file) append(line []byte) (err error) {
	_, missing := os.Stat(f.path)
	out, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	size, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if last := make([]byte, 1); size > 0 {
		if _, err := out.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	if _, err := out.Write(line); err != nil { // in one piece: with O_APPEND other processes' lines stay apart
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if missing != nil {
		return syncDir(filepath.Dir(f.path))
	}
	return nil
}
