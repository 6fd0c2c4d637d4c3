// Package screen shows a run of the demo on a terminal: Frame draws what there is to see at one moment, which
// is pure; Run puts one frame after the other on the terminal.
package screen

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/leatstream/leat/internal/demo"
)

// The colours are the terminal's own, so they fit its theme.
var (
	strong = lipgloss.NewStyle().Bold(true)
	title  = strong.Foreground(lipgloss.Cyan)
	faint  = lipgloss.NewStyle().Faint(true)
	good   = lipgloss.NewStyle().Foreground(lipgloss.Green)
	busy   = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad    = strong.Foreground(lipgloss.Red)
)

// Frame draws the state for a terminal of so many columns and lines: at most as many, and no newline at the
// end. What there is no room for is left out, the least important first.
func Frame(s demo.State, width, height int) string {
	gap := 1 // between two parts
	if height < 20 {
		gap = 0
	}
	head, totals, workers := header(s, width), totals(s, width), workers(s, width)
	room := height - len(head) - len(totals) - gap
	if room < len(workers)+6 {
		workers = nil
	} else {
		room -= len(workers) + gap
	}
	// The events get a third of what is left at least, and all that nobody else needs.
	shards := shards(s, width, room-max(room/3, 2)-2*gap)
	events := events(s, room-len(shards)-2*gap)

	var lines []string
	for _, part := range [][]string{head, shards, workers, totals, events} {
		if len(part) == 0 {
			continue
		}
		if len(lines) > 0 && gap > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	lines = lines[:max(0, min(len(lines), height))]
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, width, "")
	}
	return strings.Join(lines, "\n")
}

func header(s demo.State, width int) []string {
	left := title.Render("leat demo") + fmt.Sprintf("  %.1f s", s.Time.Seconds())
	if s.Round > 0 {
		left += fmt.Sprintf("  round %d of %d", s.Round, s.Rounds)
	}
	doing := s.Doing
	if doing == "" {
		doing = "starting"
	}
	return []string{
		apart(left, faint.Render("q ends it"), width),
		busy.Render(short(doing)) + faint.Render(fmt.Sprintf("  %.1f s", s.DoingFor.Seconds())),
	}
}

// apart puts two texts at the ends of a line; the right one only if there is room for it.
func apart(left, right string, width int) string {
	gap := width - lipgloss.Width(left) - lipgloss.Width(right)
	if gap < 1 {
		return left
	}
	return left + strings.Repeat(" ", gap) + right
}

func totals(s demo.State, width int) []string {
	count := func(what string, n int, style lipgloss.Style) string {
		text := fmt.Sprintf("%s %d", what, n)
		if n > 0 {
			return style.Render(text)
		}
		return text
	}
	name, indent := strong.Render("so far")+"  ", strings.Repeat(" ", 8)
	if width < 64 {
		name, indent = "", ""
	}
	return []string{
		name + fmt.Sprintf("put %d, %.0f/s   handled %d, %.0f/s   behind %d",
			s.Put, s.PutRate, s.Handled, s.HandledRate, max(0, s.Put-s.Handled)),
		indent + count("repeated", s.Repeated, busy) + "   " + count("lost", s.Lost, bad) + "   " +
			count("out of order", s.Disorders, bad),
	}
}

// workers is a line or more of those that live, and one of those that ended.
func workers(s demo.State, width int) []string {
	const cell = 24
	var lines, ended []string
	line, used := "", 0
	for _, w := range s.Workers {
		if w.Fate != "" && w.Fate != "stopping" {
			ended = append(ended, w.Name+" "+w.Fate)
			continue
		}
		if used > 0 && len("workers ")+used+cell > width {
			lines, line, used = append(lines, line), "", 0
		}
		text := fmt.Sprintf(" %s %.0f/s", plural(w.Shards, "shard"), w.Rate)
		if w.Fate != "" {
			text += " " + w.Fate
		}
		line += pad(owner(w.Name)+text, cell)
		used += cell
	}
	if used > 0 {
		lines = append(lines, line)
	}
	if len(ended) > 0 {
		lines = append(lines, faint.Render("ended: "+strings.Join(ended, ", ")))
	}
	for i, line := range lines {
		before := strings.Repeat(" ", len("workers "))
		if i == 0 {
			before = strong.Render("workers") + " "
		}
		lines[i] = before + strings.TrimRight(line, " ")
	}
	return lines
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// owner is a worker's name in a colour of its own.
func owner(name string) string {
	colours := []ansi.BasicColor{lipgloss.Green, lipgloss.Blue, lipgloss.Magenta, lipgloss.Cyan,
		lipgloss.BrightGreen, lipgloss.BrightBlue, lipgloss.BrightMagenta, lipgloss.BrightCyan}
	n, _ := strconv.Atoi(strings.TrimLeft(name, "w"))
	return lipgloss.NewStyle().Foreground(colours[n%len(colours)]).Render(name)
}

// events are the last things that were said, the newest last.
func events(s demo.State, room int) []string {
	var lines []string
	for _, l := range s.Lines[max(0, len(s.Lines)-max(0, room)):] {
		lines = append(lines, faint.Render(fmt.Sprintf("%5.1f s", l.Time.Seconds()))+"  "+short(l.Text))
	}
	return lines
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}

var shardID = regexp.MustCompile(`shardId-0*(\d+)`)

// number is a shard's id without what all ids have.
func number(id string) string { return shardID.ReplaceAllString(id, "$1") }

// short is a text with its shards as numbers.
func short(text string) string { return shardID.ReplaceAllString(text, "shard $1") }
