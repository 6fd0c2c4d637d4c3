// Package screen shows a run of the demo on a terminal: Frame draws what there is to see at one moment, which
// is pure; Run puts one frame after the other on the terminal.
package screen

import (
	"fmt"
	"math"
	"regexp"
	"slices"
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

// column is one of the table of shards.
type column struct {
	head  string
	width int
	least int // columns that a terminal must have to show it
	left  bool
	cell  func(demo.ShardState) string
}

// shards is a table of at most so many lines; where that is too few, of the weightiest.
func shards(s demo.State, width, room int) []string {
	bar := max(10, min(40, width-65)) // what the other columns leave
	columns := []column{
		{"shard", 16, 0, true, lineage},
		{"owner", 7, 0, true, func(s demo.ShardState) string { return state(s) }},
		{"handled of put", bar + 2, 76, true, func(s demo.ShardState) string { return progress(s, bar) }},
		{"handled", 8, 0, false, func(s demo.ShardState) string { return fmt.Sprint(s.Handled) }},
		{"behind", 8, 40, false, func(s demo.ShardState) string { return some(max(0, s.Put-s.Handled)) }},
		{"unsaved", 9, 60, false, func(s demo.ShardState) string { return some(s.Unsaved) }},
		{"/s", 6, 50, false, func(s demo.ShardState) string { return some(int(math.Round(s.Rate))) }},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool { return width < c.least })
	shown := s.Shards
	if len(shown)+1 > room {
		shown = weightiest(shown, max(0, room-2))
	}
	if len(shown) == 0 {
		return nil
	}
	row := func(cell func(column) string) string {
		line := ""
		for _, c := range columns {
			text := ansi.Truncate(cell(c), c.width-1, "…")
			if c.left {
				line += pad(text, c.width)
			} else {
				line += strings.Repeat(" ", max(0, c.width-lipgloss.Width(text))) + text
			}
		}
		return strings.TrimRight(line, " ")
	}
	lines := []string{strong.Render(row(func(c column) string { return c.head }))}
	for _, s := range shown {
		line := row(func(c column) string { return c.cell(s) })
		if s.Done {
			line = faint.Render(ansi.Strip(line))
		}
		lines = append(lines, line)
	}
	if left := len(s.Shards) - len(shown); left > 0 {
		lines = append(lines, faint.Render(fmt.Sprintf("and %d more", left)))
	}
	return lines
}

// weightiest are the n shards that matter most, in their order: those that nobody owns, then those that are not done.
func weightiest(shards []demo.ShardState, n int) []demo.ShardState {
	weight := func(s demo.ShardState) int {
		switch {
		case s.Done:
			return 0
		case s.Owner != "":
			return 1
		}
		return 2
	}
	order := slices.SortedStableFunc(slices.Values(shards), func(a, b demo.ShardState) int { return weight(b) - weight(a) })
	kept := order[:min(n, len(order))]
	return slices.DeleteFunc(slices.Clone(shards), func(s demo.ShardState) bool {
		return !slices.ContainsFunc(kept, func(k demo.ShardState) bool { return k.ID == s.ID })
	})
}

// lineage is the shard's number below its parents'.
func lineage(s demo.ShardState) string {
	text := number(s.ID)
	if s.Depth > 0 {
		text = strings.Repeat("  ", s.Depth-1) + "└ " + text
	}
	if len(s.Parents) > 1 {
		var parents []string
		for _, p := range s.Parents {
			parents = append(parents, number(p))
		}
		text += " of " + strings.Join(parents, "+")
	}
	return text
}

// state is who handles the shard, or why nobody does.
func state(s demo.ShardState) string {
	switch {
	case s.Done:
		return "done"
	case s.Owner == "":
		return bad.Render("none")
	}
	return owner(s.Owner)
}

// progress is a bar: how much of what was put is handled.
func progress(s demo.ShardState, width int) string {
	full := 0
	if s.Put > 0 {
		full = width * min(s.Handled, s.Put) / s.Put // a handler may be seen before the put
	}
	text := strings.Repeat("█", full) + strings.Repeat("░", width-full)
	if full*10 >= width*9 { // at the tip, where a read a second is enough, it is never all
		return good.Render(text)
	}
	return busy.Render(text)
}

// some is the number, or empty for none.
func some(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}

var shardID = regexp.MustCompile(`shardId-0*(\d+)`)

// number is a shard's id without what all ids have.
func number(id string) string { return shardID.ReplaceAllString(id, "$1") }

// short is a text with its shards as numbers.
func short(text string) string { return shardID.ReplaceAllString(text, "shard $1") }
