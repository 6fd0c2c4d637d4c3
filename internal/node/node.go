// Package node runs programs of npm for tests: servers that we did not write, to compare our own with,
// and scripts that use the AWS SDK for JavaScript. The packages are those that testdata/package-lock.json
// locks.
//
// Without Node or the packages a test is skipped, and tells what to do. It fails instead where the
// environment has LEAT_REQUIRE with node in its list, as in .ci/run.
package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// folder is where the packages are, within the module.
const folder = "internal/node/testdata"

// patience is how long a program may take to answer, on a busy machine.
const patience = 2 * time.Minute

// A Server is a program of an npm package that answers HTTP on a port.
type Server struct {
	Program string   // the file, below node_modules
	Env     []string // more variables, as NAME=VALUE
	Args    []string
}

// KinesisLocal is kinesis-mock, compiled for Node: an emulator of the Kinesis API. Its changes of streams take no
// time.
var KinesisLocal = Server{
	Program: "kinesis-local/main.js",
	Env: []string{
		"CREATE_STREAM_DURATION=0ms", "DELETE_STREAM_DURATION=0ms", "SPLIT_SHARD_DURATION=0ms", "MERGE_SHARDS_DURATION=0ms",
		"UPDATE_SHARD_COUNT_DURATION=0ms", "UPDATE_STREAM_MODE_DURATION=0ms", "LOG_LEVEL=ERROR",
	},
}

// Dynalite is an emulator of the DynamoDB API. Its changes of tables take no time.
var Dynalite = Server{
	Program: "dynalite/cli.js",
	Args:    []string{"--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"},
}

// Start runs a server until the test ends, and returns its endpoint once it answers: a free port of the
// loopback address.
func Start(t testing.TB, s Server) (endpoint string) {
	t.Helper()
	at := packages(t)
	program := filepath.Join(at, "node_modules", filepath.FromSlash(s.Program))
	cmd := exec.Command("node", append([]string{"--require", filepath.Join(at, "serve.cjs"), program}, s.Args...)...)
	cmd.Dir = filepath.Dir(program) // kinesis-local wants its certificate there
	cmd.Env = append(os.Environ(), s.Env...)
	said := new(said)
	cmd.Stderr = said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", s.Program, err)
	}
	ports := make(chan string)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(io.TeeReader(stdout, said)); lines.Scan(); {
			if port, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				select {
				case ports <- port:
				case <-t.Context().Done():
				}
			}
		}
	}()
	t.Cleanup(func() {
		stdin.Close() // its sign to end
		cmd.Process.Kill()
		<-ended
		cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s said:\n%s", s.Program, said)
		}
	})

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case port := <-ports:
			// A server may have several ports, such as one for TLS.
			if endpoint = "http://127.0.0.1:" + port; answers(ctx, endpoint) {
				return endpoint
			}
		case <-ended:
			t.Fatalf("%s ended before it answered", s.Program)
		case <-ctx.Done():
			t.Fatalf("%s does not answer: %v", s.Program, ctx.Err())
		}
	}
}

// answers says whether there is an HTTP server, whatever it answers.
func answers(ctx context.Context, endpoint string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return true
}

// Run runs a script of testdata, which may use the packages, and returns what it wrote to stdout.
func Run(t testing.TB, script string, args ...string) []byte {
	t.Helper()
	at := packages(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(at, script)}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, stderr.Bytes())
	}
	return stdout
}

// packages returns the folder with the installed packages. Where Node or they are missing it ends the test.
func packages(t testing.TB) string {
	t.Helper()
	at, err := installed()
	switch {
	case err == nil:
		return at
	case slices.Contains(strings.Split(os.Getenv("LEAT_REQUIRE"), ","), "node"):
		t.Fatalf("%v (LEAT_REQUIRE has node)", err)
	default:
		t.Skip(err)
	}
	return ""
}

func installed() (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", errors.New("needs Node.js 20 or newer, with npm")
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	at := filepath.Join(root, filepath.FromSlash(folder))
	lock, err := os.Stat(filepath.Join(at, "package-lock.json"))
	if err != nil {
		return "", err
	}
	// npm writes its own copy of the lock once all is installed.
	if done, err := os.Stat(filepath.Join(at, "node_modules", ".package-lock.json")); err != nil || done.ModTime().Before(lock.ModTime()) {
		return "", fmt.Errorf("needs the locked npm packages; in %s: npm ci --ignore-scripts --prefix %s", root, folder)
	}
	return at, nil
}

// moduleRoot is the folder of go.mod, which is above the folder that a test runs in.
func moduleRoot() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		above := filepath.Dir(at)
		if above == at {
			return "", errors.New("no go.mod above the working folder")
		}
		at = above
	}
}

// said is what a program wrote. Its String is the end of that, for the log of a test that failed.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	const most = 4000
	return string(s.text.Bytes()[max(0, s.text.Len()-most):])
}
