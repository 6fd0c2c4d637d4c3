//go:build unix && !linux

package chaos

import (
	"errors"
	"syscall"
)

var errLinuxOnly = errors.New("network namespaces are Linux's")

func privateNetwork() (*syscall.SysProcAttr, error) { return nil, errLinuxOnly }

func raiseLoopback() error { return errLinuxOnly }

func joinNamespace(int) (*wire, string, error) { return nil, "", errLinuxOnly }
