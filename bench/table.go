package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// table is what a measurement prints.
type table struct {
	title   string
	columns []string
	rows    []row
}

// row is what was measured of one thing. A figure that is below 0 is none.
type row struct {
	name    string
	figures []float64
}

// String is the table in Markdown, in columns.
func (t table) String() string {
	lines := [][]string{append([]string{""}, t.columns...)}
	for _, r := range t.rows {
		line := []string{r.name}
		for _, f := range r.figures {
			line = append(line, text(f))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell), 3)
		}
	}
	var b strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			format := "| %*s "
			if i == 0 {
				format = "| %-*s "
			}
			fmt.Fprintf(&b, format, widths[i], cell)
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i, width := range widths {
			b.WriteString("|" + strings.Repeat("-", width+1))
			b.WriteString(map[bool]string{true: "-", false: ":"}[i == 0])
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// text is a figure with three digits that count, at least.
func text(f float64) string {
	switch {
	case f < 0:
		return "-"
	case f >= 1e6:
		return fmt.Sprintf("%.2fM", f/1e6)
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 0.1 || f == 0:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.4f", f)
}

// objects is the table as JSON has it: a figure by the name of its column, without those that are none.
func (t table) objects() []map[string]any {
	var all []map[string]any
	for _, r := range t.rows {
		o := map[string]any{"name": r.name}
		for i, f := range r.figures {
			if f >= 0 {
				o[t.columns[i]] = f
			}
		}
		all = append(all, o)
	}
	return all
}

// median is the middle one; of an even number the lower one of the two.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
