package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildInfo is the JSON of leat version.
type buildInfo struct {
	Version  string `json:"version"`            // of the module; "(devel)" if built from a checkout
	Revision string `json:"revision,omitempty"` // of the source, if known
	Go       string `json:"go"`                 // that built it
	Platform string `json:"platform"`           // os/arch
}

func (p *program) version() *cobra.Command {
	var format outputFormat
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of leat and of the Go that built it.

With --output json: {"version", "revision" (if known), "go", "platform"}.`,
		Example: `  leat version
  leat version --output json`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			b := build()
			if format.json() {
				return json.NewEncoder(p.stdout).Encode(b)
			}
			_, err := fmt.Fprintln(p.stdout, b)
			return err
		},
	}
	format.flag(cmd)
	return cmd
}

// String is the line of leat version, and of leat --version.
func (b buildInfo) String() string { return fmt.Sprintf("leat %s %s %s", b.Version, b.Go, b.Platform) }

func build() buildInfo {
	b := buildInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

// outputFormat is the flag --output.
type outputFormat string

func (f *outputFormat) flag(cmd *cobra.Command) {
	*f = "text"
	cmd.Flags().VarP(f, "output", "o", "`FORMAT`: text or json")
}

func (f *outputFormat) json() bool { return *f == "json" }

// String, Set and Type implement pflag.Value.
func (f *outputFormat) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *outputFormat) Set(s string) error {
	if s != "text" && s != "json" {
		return fmt.Errorf("is neither text nor json")
	}
	*f = outputFormat(s)
	return nil
}

// Type implements pflag.Value.
func (f *outputFormat) Type() string { return "string" }
