//go:build unix && !linux

package chaos

import "syscall"

// diesWithParent can do nothing here: the worker ends by itself when its standard input does.
func diesWithParent() *syscall.SysProcAttr { return nil }
