package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// onePage makes the pipe behind w as small as it can be, one page, so that it is either empty or full: then
// that it can be written to says that all has been read. It returns the size; 0 if w is no pipe.
func onePage(w io.Writer) (*os.File, int) {
	f, ok := w.(*os.File)
	if !ok {
		return nil, 0
	}
	size, err := unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil || size != os.Getpagesize() {
		return nil, 0
	}
	return f, size
}

// pipeEmpty waits until all of a pipe of one page is read, and says whether it is. The error is errReaderGone
// if nobody reads it any more.
func pipeEmpty(f *os.File, patience time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	_, err := unix.Poll(fds, int(patience.Milliseconds()))
	switch {
	case err == unix.EINTR:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("waiting for the reader of stdout: %w", err)
	case fds[0].Revents&unix.POLLERR != 0:
		return false, errReaderGone
	}
	return fds[0].Revents&unix.POLLOUT != 0, nil
}
