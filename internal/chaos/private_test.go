//go:build unix

package chaos

import (
	"bufio"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// privateEnv is set in a process that is this test binary again, in a network namespace of its own.
const privateEnv = "LEAT_CHAOS_PRIVATE"

// inPrivateNetwork says whether this process has a network for itself. If not, it runs the test again in one that
// has, and makes its outcome this test's.
func inPrivateNetwork(t *testing.T) bool {
	if os.Getenv(privateEnv) != "" {
		if err := raiseLoopback(); errors.Is(err, fs.ErrPermission) {
			lacking(t, "the rights of root in a new user namespace: %v", err)
		} else if err != nil {
			t.Fatalf("switching on the loopback device: %v", err)
		}
		return true
	}
	how, err := privateNetwork()
	if err != nil {
		lacking(t, "network namespaces and the TUN device: %v", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.v", "-test.timeout=0", "-test.run=^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"}
	flag.Visit(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "chaos.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	runtime.LockOSThread() // its end would be the process's: diesWithParent
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), privateEnv+"=1")
	cmd.SysProcAttr = how
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		lacking(t, "the right to make a network namespace, as root or in a user namespace: %v", err)
	}
	passed, skipped := false, false
	lines := bufio.NewScanner(out)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "--- PASS: "+t.Name()+" "):
			passed = true
		case strings.HasPrefix(line, "--- SKIP: "+t.Name()+" "):
			skipped = true
		case strings.HasPrefix(line, "=== "), strings.HasPrefix(line, "--- "), line == "PASS", line == "FAIL":
		default:
			t.Log(line)
		}
	}
	err = cmd.Wait()
	switch {
	case skipped:
		t.Skip("for the reason above")
	case err != nil || !passed:
		t.Errorf("in a network of its own: %v; passed: %v", err, passed)
	}
	return false
}

// lacking ends a test that this machine cannot run: a skip, or with LEAT_REQUIRE=netns a failure.
func lacking(t *testing.T, what string, args ...any) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("LEAT_REQUIRE"), ","), "netns") {
		t.Fatalf("needs "+what+" (LEAT_REQUIRE has netns)", args...)
	}
	t.Skipf("needs "+what, args...)
}
