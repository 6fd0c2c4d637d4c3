package chaos

import "syscall"

// diesWithParent makes the kernel kill a process when its parent dies, even if it is stopped.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
