package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leatstream/leat/local"
)

// The test binary is the command, too: scripts and tests run it as leat.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"leat": main})
}

// serve runs the embedded server on a port of the loopback address for the time of a test.
func serve(cleanup func(func()), config local.Config) (endpoint string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- local.New(config).Serve(ctx, listener) }()
	cleanup(func() {
		cancel()
		<-done
	})
	return "http://" + listener.Addr().String(), nil
}

// hermetic is the environment of a leat that finds nothing of the machine's AWS set-up.
func hermetic(home, endpoint string) []string {
	return []string{
		"HOME=" + home, "LEAT_ENDPOINT=" + endpoint,
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + home + "/none", "AWS_SHARED_CREDENTIALS_FILE=" + home + "/none",
		"AWS_REGION=", "AWS_DEFAULT_REGION=", "AWS_PROFILE=", "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_SESSION_TOKEN=",
	}
}

// TestScripts runs testdata/*.txtar, each with a server of its own that has the streams orders
// (4 shards) and one (1 shard). UPDATE=1 rewrites what the scripts compare with.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			endpoint, err := serve(env.Defer, local.Config{})
			if err != nil {
				return err
			}
			env.Vars = append(env.Vars, hermetic(env.WorkDir, endpoint)...)
			return createStreams(endpoint)
		},
		Condition: func(condition string) (bool, error) {
			if condition != "devfull" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			_, err := os.Stat("/dev/full")
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "http": call},
	})
}

// exits runs a command and wants an exit code: exits CODE COMMAND ARGUMENT...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// call makes an HTTP call to the server of the script and wants a status and, in the answer, a text:
// http STATUS METHOD PATH BODY TEXT.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: http STATUS METHOD PATH BODY TEXT")
	}
	request, err := http.NewRequest(args[1], ts.Getenv("LEAT_ENDPOINT")+args[2], strings.NewReader(args[3]))
	ts.Check(err)
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	if strconv.Itoa(response.StatusCode) != args[0] || !strings.Contains(string(body), args[4]) {
		ts.Fatalf("%s: %s, want %s with %s", response.Status, body, args[0], args[4])
	}
}

func createStreams(endpoint string) error {
	client, err := (&connection{endpoint: endpoint}).client(context.Background())
	if err != nil {
		return err
	}
	for name, shards := range map[string]int32{"orders": 4, "one": 1} {
		if _, err := client.CreateStream(context.Background(), createInput(name, shards)); err != nil {
			return fmt.Errorf("creating stream %s: %w", name, err)
		}
	}
	return nil
}
