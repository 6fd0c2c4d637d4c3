package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine says on what the figures were measured, and how busy it was.
func machine() string {
	what := fmt.Sprintf("%s, %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				what += " (" + strings.TrimSpace(model) + ")"
				break
			}
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(load)); len(fields) > 0 {
			what += ", load " + fields[0]
		}
	}
	return what
}
