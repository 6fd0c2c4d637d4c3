//go:build unix

package file

import (
	"errors"
	"os"
	"syscall"
)

// writeOnce is one write(2). os.File.Write is not: after a short write, on a full disk for instance,
// it goes on with the rest, which could land behind another process's line.
func writeOnce(f *os.File, b []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for {
			n, failed = syscall.Write(int(fd), b)
			if failed != syscall.EINTR { // interrupted: nothing was written
				return true
			}
		}
	})
	return max(n, 0), errors.Join(err, failed)
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// syncDir makes the names in dir survive a power loss.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
