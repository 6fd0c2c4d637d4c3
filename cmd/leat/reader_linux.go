package main

import (
	"io"
	"os"
	"syscall"
)

// waitForReaderGone blocks until the reader of the pipe w has closed it. It returns false if that
// cannot be told: w is no pipe.
func waitForReaderGone(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return false
	}
	// For select, a pipe's end for writing is readable once nobody reads it any more (POLLERR), and
	// never else.
	var set syscall.FdSet
	fd := int(f.Fd())
	const word = syscall.FD_SETSIZE / len(set.Bits)
	if fd/word >= len(set.Bits) {
		return false
	}
	for {
		set.Bits[fd/word] |= 1 << (fd % word)
		n, err := syscall.Select(fd+1, &set, nil, nil, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false
		case n > 0:
			return true
		}
	}
}
