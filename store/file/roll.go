package file

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tempAge is how long a temporary file is left alone. Removing one too early does no harm: its writer
// finds it gone and fails without a trace.
const tempAge = time.Hour

// roll ends the log and begins the next one with what this one adds up to. A failure is nobody's
// error: the log grows a little longer, and the next write tries again.
func (s *Store) roll() {
	// First prove that the disk has room for the next log: an ended log without a next one can be
	// read but takes no writes.
	ending := s.log
	text, err := ending.snapshot()
	if err != nil {
		return
	}
	temp, err := writeTemp(s.dir, text)
	if err != nil {
		return
	}
	s.step("end")
	err = ending.append(line{End: true}, s.write)
	os.Remove(temp)
	if err != nil || ending.catchUp() != nil || !ending.ended {
		return
	}
	s.step("ended")
	s.beginNext()
}

// beginNext makes the log after s.log, which has ended. Its content follows from s.log, so it does not
// matter which process makes it: the one that links it first does.
func (s *Store) beginNext() error {
	text, err := s.log.snapshot()
	if err != nil {
		return err
	}
	if err := s.createLog(s.log.number+1, text); err != nil {
		return fmt.Errorf("beginning the next log: %w", err)
	}
	s.retire(s.log.number)
	return nil
}

// snapshot returns the content of the next log: a header, and a line that creates each item at its
// version.
func (l *log) snapshot() ([]byte, error) {
	h := l.header
	h.Log++
	var lines []line
	for _, name := range slices.Sorted(maps.Keys(l.groups)) {
		for _, folder := range slices.Sorted(maps.Keys(l.groups[name])) {
			for _, e := range l.list(name, folder) {
				lines = append(lines, line{Group: name, Key: e.text, Now: e.version, Item: e.raw})
			}
		}
	}
	return logText(h, lines)
}

// logText returns the content of a new log.
func logText(h header, lines []line) ([]byte, error) {
	h.Leat, h.Format, h.About, h.Items = headerMark, Format, headerAbout, len(lines)
	text, err := encode(h)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(text)
	for _, l := range lines {
		if text, err = encode(l); err != nil {
			return nil, err
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	return b.Bytes(), nil
}

// createLog gives a complete log its name. That somebody else has done so is no error.
func (s *Store) createLog(number int, text []byte) error {
	temp, err := writeTemp(s.dir, text)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	s.step("link")
	err = os.Link(temp, filepath.Join(s.dir, fmt.Sprintf(logPattern, number)))
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w (the folder must be on a file system with hard links)", err)
	}
	return syncDir(s.dir)
}

// retire puts an empty file in the place of each log before the given one, which stays for people to
// look back into. The names stay, so that no number is taken twice.
func (s *Store) retire(number int) {
	numbers, temps, _, err := list(s.dir)
	if err != nil {
		return
	}
	sweep(s.dir, temps)
	for _, n := range numbers {
		path := filepath.Join(s.dir, fmt.Sprintf(logPattern, n))
		if info, err := os.Stat(path); n >= number || err != nil || info.Size() == 0 {
			continue
		}
		temp, err := writeTemp(s.dir, nil)
		if err != nil {
			return
		}
		if os.Rename(temp, path) != nil { // Windows: somebody has it open; it is tried again at the next roll
			os.Remove(temp)
		}
	}
}

// writeTemp writes a temporary file, complete and safe from a power loss.
func writeTemp(dir string, text []byte) (path string, err error) {
	path = filepath.Join(dir, tempPrefix+strings.ToLower(rand.Text()))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(path)
		return "", err
	}
	return path, nil
}

// sweep removes the temporary files of processes that were killed.
func sweep(dir string, temps []string) {
	for _, name := range temps {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > tempAge {
			os.Remove(path)
		}
	}
}
