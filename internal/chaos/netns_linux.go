package chaos

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tunnel is the device whose packets a program reads and writes: the two ends of a wire. The kernel's own way to lose
// and delay packets, netem, may be missing from it, and needs the program tc.
const tunnel = "/dev/net/tun"

// privateNetwork starts a process in a network namespace of its own, as root or with the rights of one in a user
// namespace of its own. It has no way out, and ends with its last process.
func privateNetwork() (*syscall.SysProcAttr, error) {
	file, err := os.OpenFile(tunnel, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	file.Close()
	how := diesWithParent()
	how.Cloneflags = syscall.CLONE_NEWNET
	if os.Geteuid() != 0 {
		how.Cloneflags |= syscall.CLONE_NEWUSER
		how.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		how.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return how, nil
}

// raiseLoopback makes 127.0.0.1 work, which a new namespace has switched off.
func raiseLoopback() error { return raise("lo", "") }

// joinNamespace puts the calling thread, for ever, into a new network namespace, and lays a wire from there to the one
// that it was in. near is this end's address, which the other end reaches.
func joinNamespace(number int) (w *wire, near string, err error) {
	// Of the block for tests of devices (RFC 2544): 198.18.n.1 here, 198.18.n.2 there.
	near, far := fmt.Sprintf("198.18.%d.1", number), fmt.Sprintf("198.18.%d.2", number)
	here, err := newTunnel(fmt.Sprintf("chaos%d", number), near)
	if err != nil {
		return nil, "", err
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		here.Close()
		return nil, "", fmt.Errorf("leaving the network namespace: %w", err)
	}
	there, err := newTunnel("wire", far)
	if err != nil {
		here.Close()
		return nil, "", err
	}
	return newWire(here, there), near, nil
}

// newTunnel makes a device with an address of a network of four, in the thread's namespace. It goes when it is closed.
func newTunnel(name, address string) (*os.File, error) {
	// Not by os.OpenFile: it would watch the descriptor before that has a device.
	fd, err := unix.Open(tunnel, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", tunnel, err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI) // IP packets, and nothing before them
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err == nil {
		err = raise(name, address)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("making the device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// raise switches a device on, with an address if it has none.
func raise(name, address string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if address != "" {
		for _, set := range []struct {
			what uint
			to   string
		}{{unix.SIOCSIFADDR, address}, {unix.SIOCSIFNETMASK, "255.255.255.252"}} {
			if err := request.SetInet4Addr(net.ParseIP(set.to).To4()); err != nil {
				return err
			}
			if err := unix.IoctlIfreq(socket, set.what, request); err != nil {
				return err
			}
		}
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
