package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/leatstream/leat/lease"
)

// log is one log, open, and what it adds up to as far as it has been read.
type log struct {
	replay
	number   int
	path     string
	file     *os.File
	info     fs.FileInfo
	readOnly error // why it cannot be written, if it cannot
	synced   bool  // its name is known to survive a power loss
}

// errStub says that a log is empty: it has ended, and the next one had begun, some time ago.
var errStub = errors.New("log is empty")

const (
	logPattern = "log-%08d.jsonl"
	tempPrefix = "tmp-"
)

// list returns the numbers of the logs in dir, and a name that is not leat's, if there is one.
//
// No log's name ever disappears (see doc.go), so a log that was there when list began is in its
// answer, however long the process is stopped in the middle.
func list(dir string) (numbers []int, temps []string, stranger string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, "", err
	}
	for _, e := range entries {
		var n int
		name := e.Name()
		_, scanErr := fmt.Sscanf(name, logPattern, &n)
		switch {
		case scanErr == nil && n > 0 && name == fmt.Sprintf(logPattern, n):
			numbers = append(numbers, n)
		case strings.HasPrefix(name, tempPrefix):
			temps = append(temps, name)
		case strings.HasPrefix(name, ".") || name == "lost+found": // a file manager's, a file system's
		default:
			stranger = name
		}
	}
	return numbers, temps, stranger, nil
}

// openLog opens a log and reads it whole. The caller closes it.
func openLog(dir string, number int) (*log, error) {
	l := &log{number: number, path: filepath.Join(dir, fmt.Sprintf(logPattern, number))}
	var err error
	l.file, err = os.OpenFile(l.path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		l.readOnly = err
		l.file, err = os.Open(l.path)
	}
	if err != nil {
		return nil, err
	}
	if l.info, err = l.file.Stat(); err == nil {
		switch {
		case !l.info.Mode().IsRegular():
			err = fmt.Errorf("%s is not a file", l.path)
		case l.info.Size() == 0:
			err = errStub
		default:
			err = l.read(l.info.Size())
		}
	}
	if err == nil && (l.header.Leat == "" || l.header.Log != number || l.lines < l.header.Items) {
		err = fmt.Errorf("%s: it is cut off, or a copy of another log", l.path)
	}
	if err != nil {
		l.file.Close()
		return nil, err
	}
	return l, nil
}

// catchUp reads what has been appended since the last time.
func (l *log) catchUp() error {
	info, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was removed: %w", l.path, lease.ErrStoreGone)
	case err != nil:
		return err
	case !os.SameFile(info, l.info) && info.Size() > 0:
		return fmt.Errorf("another file has taken the place of %s: %w", l.path, lease.ErrStoreGone)
	case !os.SameFile(info, l.info): // it has ended, and its end is in the file that we hold
		if info, err = l.file.Stat(); err != nil {
			return err
		}
	}
	return l.read(info.Size())
}

// read feeds the log up to size to the replay.
func (l *log) read(size int64) error {
	if size < l.bytes {
		return fmt.Errorf("%s is damaged: it was cut from %d to %d bytes while in use", l.path, l.bytes, size)
	}
	piece := int64(256 << 10)
	for l.bytes < size {
		buffer := make([]byte, min(piece, size-l.bytes))
		if _, err := io.ReadFull(io.NewSectionReader(l.file, l.bytes, int64(len(buffer))), buffer); err != nil {
			return fmt.Errorf("reading %s: %w", l.path, err)
		}
		whole := l.bytes+int64(len(buffer)) == size
		used, err := l.feed(buffer, whole)
		switch {
		case err != nil:
			return fmt.Errorf("%s is damaged: %w; nothing is written to it any more: stop all programs that use it, "+
				"then repair the line or move the folder away", l.path, err)
		case used == 0 && len(buffer) >= maxLine:
			return fmt.Errorf("%s is damaged: line %d is longer than %d bytes", l.path, l.lines+1, maxLine)
		case used == 0 && whole:
			return nil
		case used == 0:
			piece = min(4*piece, maxLine)
		}
	}
	return nil
}

// append writes one line with one system call. The line break comes first: so a line that a killed
// process left unfinished ends where ours begins.
func (l *log) append(v any, write func(*os.File, []byte) (int, error)) error {
	if l.readOnly != nil {
		return l.readOnly
	}
	text, err := encode(v)
	if err != nil {
		return err
	}
	text = append([]byte("\n"), text...)
	n, err := write(l.file, text)
	if err == nil && n < len(text) {
		err = fmt.Errorf("%w of %d of %d bytes: is the disk full?", io.ErrShortWrite, n, len(text))
	}
	if err != nil {
		return fmt.Errorf("appending to %s: %w", l.path, err)
	}
	return nil
}
