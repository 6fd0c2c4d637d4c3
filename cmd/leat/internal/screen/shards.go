package screen

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/leatstream/leat/internal/demo"
)

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
		case s.Owner != "" && !s.Orphan:
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
	case s.Orphan:
		return bad.Render(s.Owner + " ✗")
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
