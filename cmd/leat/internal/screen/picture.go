package screen

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

// The cells and the margin of a picture, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 16
	fontSize   = 14
)

const (
	paper = "#14171c"
	ink   = "#d5d9e0"
)

// palette is the 16 colours of the terminal in the picture.
var palette = [16]string{
	"#3b4048", "#ff6b6b", "#7bd88f", "#f2c55c", "#6ea8fe", "#d59bf6", "#5cd1e5", "#d5d9e0",
	"#6b7280", "#ff8f8f", "#a3e7b0", "#ffdd8a", "#9cc4ff", "#e5c0fb", "#8fe3f0", "#ffffff",
}

// look is how text is drawn.
type look struct {
	colour      int // of the palette; -1 is ink
	bold, faint bool
}

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// Picture draws a frame as an SVG of so many columns and lines. It knows what Frame uses: bold, faint and
// the 16 colours.
func Picture(frame string, columns, lines int) string {
	width, height := 2*margin+cellWidth*float64(columns), 2*margin+cellHeight*float64(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" `+
		`font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="%d">`+"\n",
		width, height, width, height, fontSize)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", paper)
	now := look{colour: -1}
	for n, line := range strings.Split(frame, "\n") {
		column := 0
		for line != "" {
			text := line
			code := sgr.FindStringSubmatchIndex(line)
			if code != nil {
				text = line[:code[0]]
			}
			for _, piece := range pieces(text) {
				draw(&b, now, piece, column, n)
				column += lipgloss.Width(piece)
			}
			if code == nil {
				break
			}
			now = now.after(line[code[2]:code[3]])
			line = line[code[1]:]
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// after is the look after the codes of a sequence.
func (l look) after(codes string) look {
	for code := range strings.SplitSeq(codes, ";") {
		switch n, _ := strconv.Atoi(code); {
		case n == 0:
			l = look{colour: -1}
		case n == 1:
			l.bold = true
		case n == 2:
			l.faint = true
		case 30 <= n && n <= 37:
			l.colour = n - 30
		case 90 <= n && n <= 97:
			l.colour = n - 90 + 8
		}
	}
	return l
}

// Blocks are drawn as rectangles: fonts leave gaps between them.
var run = regexp.MustCompile(`█+|░+|[^█░]+`)

func pieces(text string) []string { return run.FindAllString(text, -1) }

// draw draws a piece of text, at its place whatever the font's widths are.
func draw(b *strings.Builder, l look, text string, column, line int) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fill, opacity := ink, ""
	if l.colour >= 0 {
		fill = palette[l.colour]
	}
	shade := 1.0
	if l.faint {
		shade = 0.55
	}
	if strings.HasPrefix(text, "░") {
		shade *= 0.25
	}
	if shade < 1 {
		opacity = fmt.Sprintf(` opacity="%.2f"`, shade)
	}
	indent := len(text) - len(strings.TrimLeft(text, " "))
	text = strings.TrimSpace(text)
	width := cellWidth * float64(lipgloss.Width(text))
	x, y := margin+cellWidth*float64(column+indent), margin+cellHeight*float64(line)
	if strings.ContainsAny(text, "█░") {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"%s/>`+"\n", x, y+3, width, cellHeight-6, fill, opacity)
		return
	}
	weight := ""
	if l.bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s%s xml:space="preserve">%s</text>`+"\n",
		x, y+fontSize, width, fill, opacity, weight, html.EscapeString(text))
}
