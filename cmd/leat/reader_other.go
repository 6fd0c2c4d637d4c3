//go:build !linux

package main

import (
	"io"
	"os"
	"time"
)

// waitForReaderGone cannot tell here: the next write does.
func waitForReaderGone(io.Writer) bool { return false }

// onePage makes no pipe: what was taken out of one does not show here.
func onePage(io.Writer) (*os.File, int) { return nil, 0 }

// pipeEmpty is not called: there is no pipe.
func pipeEmpty(*os.File, time.Duration) (bool, error) { return true, nil }
