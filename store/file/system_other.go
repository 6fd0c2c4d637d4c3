//go:build !unix

package file

import "os"

// writeOnce writes b at the end of the file: on Windows, one call for anything below a gigabyte.
func writeOnce(f *os.File, b []byte) (int, error) { return f.Write(b) }

func isReadOnly(error) bool { return false }

// syncDir does nothing: these systems have no call for it, NTFS keeps names in its own journal.
func syncDir(string) error { return nil }
