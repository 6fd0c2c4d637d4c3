package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"

	"github.com/leatstream/leat/internal/demo"
)

// ErrQuit says that the user ended what was shown.
var ErrQuit = errors.New("ended from the keyboard")

// Fits says whether w is a terminal on which frames can be drawn. env looks environment variables up.
func Fits(w io.Writer, env func(string) string) bool {
	f, ok := w.(term.File)
	return ok && term.IsTerminal(f.Fd()) && env("TERM") != "dumb" && env("TERM") != "" && env("CI") == ""
}

// Run runs show and draws what it watches, until it ends, ctx is done or the user presses q or
// Ctrl-C: then the error is ErrQuit. The terminal is as it was before when Run returns, also after a
// panic in show, which Run passes on.
func Run(ctx context.Context, in io.Reader, out io.Writer, show func(ctx context.Context, watch func(demo.State)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f, ok := in.(term.File); !ok || !term.IsTerminal(f.Fd()) {
		in = nil // no keys: a signal ends it
	}
	program := tea.NewProgram(model{}, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	defer context.AfterFunc(ctx, program.Quit)()
	var panicked error
	ended := make(chan error, 1)
	go func() {
		defer program.Quit()
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Errorf("%v\n\n%s", p, debug.Stack())
				ended <- panicked
			}
		}()
		ended <- show(ctx, func(s demo.State) { program.Send(s) })
	}()
	last, failed := program.Run()
	cancel()
	err := <-ended
	if panicked != nil {
		panic(panicked)
	}
	if m, ok := last.(model); ok && m.quit {
		return ErrQuit
	}
	if failed != nil {
		return fmt.Errorf("drawing on the terminal: %w", failed)
	}
	return err
}

// model is what is on the screen.
type model struct {
	state         demo.State
	width, height int
	quit          bool
}

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case demo.State:
		m.state = msg
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		if key := msg.String(); key == "q" || key == "ctrl+c" {
			m.quit = true
			return m, tea.Quit
		}
	}
	return m, nil
}

// View implements tea.Model.
func (m model) View() tea.View {
	return tea.View{Content: Frame(m.state, m.width, m.height), AltScreen: true}
}
