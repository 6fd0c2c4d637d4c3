package screen

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/leatstream/leat/internal/demo"
)

var rewrite = flag.Bool("rewrite", false, "write the frames anew")

func id(n int) string { return fmt.Sprintf("shardId-%012d", n) }

// scene is a run in its second round.
func scene() demo.State {
	return demo.State{
		Time: 41234 * time.Millisecond, Round: 2, Rounds: 3,
		Doing: "kill -9 of w4: the others wait until its lease must be over", DoingFor: 2100 * time.Millisecond,
		Shards: []demo.ShardState{
			{ID: id(0), Done: true, Put: 4619, Handled: 4619},
			{ID: id(4), Parents: []string{id(0)}, Depth: 1, Open: true, Owner: "w5", Put: 469, Handled: 458, Unsaved: 458, Rate: 117},
			{ID: id(5), Parents: []string{id(0)}, Depth: 1, Open: true, Owner: "w4", Orphan: true, Put: 1000, Handled: 753, Unsaved: 253},
			{ID: id(1), Open: true, Owner: "w6", Put: 666, Handled: 663, Unsaved: 135, Rate: 38.6},
			{ID: id(2), Done: true, Put: 161, Handled: 161},
			{ID: id(3), Put: 1251, Handled: 1250, Owner: "w6", Rate: 21},
			{ID: id(6), Parents: []string{id(2), id(3)}, Depth: 1, Open: true, Put: 54},
		},
		Workers: []demo.WorkerState{
			{Name: "w1", Process: 101, Fate: "killed", Handled: 500},
			{Name: "w2", Process: 102, Fate: "stopped", Handled: 700},
			{Name: "w4", Process: 104, Fate: "killed", Handled: 900},
			{Name: "w5", Process: 105, Shards: 1, Handled: 458, Rate: 117},
			{Name: "w6", Process: 106, Shards: 2, Handled: 1913, Rate: 59.6},
		},
		Put: 8220, Handled: 7904, PutRate: 400, HandledRate: 176.6, Repeated: 76,
		Lines: []demo.Line{
			{Time: 0, Text: `an embedded Kinesis serves stream "earthquakes" with 4 shards at http://127.0.0.1:45001`},
			{Time: 100 * time.Millisecond, Text: "started worker w1 (process 101)"},
			{Time: 35 * time.Second, Text: "merged " + id(2) + " and " + id(3)},
			{Time: 39100 * time.Millisecond, Text: "killed worker w4 (SIGKILL), which held " + id(5)},
		},
	}
}

// The frames in testdata are what people see, without colours. -rewrite writes them.
func TestFrames(t *testing.T) {
	broken := scene()
	broken.Lost, broken.Disorders = 2, 1
	for name, frame := range map[string]string{
		"100x34":   Frame(scene(), 100, 34),
		"80x24":    Frame(scene(), 80, 24),
		"60x16":    Frame(scene(), 60, 16),
		"36x12":    Frame(scene(), 36, 12),
		"20x5":     Frame(scene(), 20, 5),
		"starting": Frame(demo.State{}, 80, 24),
		"broken":   Frame(broken, 80, 24),
	} {
		golden := filepath.Join("testdata", name+".txt")
		got := ansi.Strip(frame) + "\n"
		if *rewrite {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
}

// What went wrong is red, what did not is not.
func TestFrameColours(t *testing.T) {
	s := scene()
	red := func(s demo.State, text string) bool {
		return strings.Contains(Frame(s, 100, 40), "\x1b[1;31m"+text)
	}
	if red(s, "lost") || !red(s, "none") {
		t.Errorf("nothing is lost, and shard 6 is nobody's:\n%q", Frame(s, 100, 40))
	}
	if s.Lost = 3; !red(s, "lost 3") {
		t.Errorf("three records are lost:\n%q", Frame(s, 100, 40))
	}
}

// No frame is larger than its terminal, whatever it shows.
func TestFrameFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(0, 130).Draw(t, "width"), rapid.IntRange(0, 60).Draw(t, "height")
		s := scene()
		for n := range rapid.IntRange(0, 40).Draw(t, "shards") {
			s.Shards = append(s.Shards, demo.ShardState{
				ID: id(n + 10), Depth: n % 9, Put: n * 1e5, Handled: n * rapid.IntRange(0, 2e5).Draw(t, "handled"), Done: n%3 == 0, Owner: "w1000",
			})
		}
		for n := range rapid.IntRange(0, 30).Draw(t, "workers") {
			s.Workers = append(s.Workers, demo.WorkerState{Name: fmt.Sprintf("w%d", n), Fate: []string{"", "killed", "stopping"}[n%3]})
		}
		frame := Frame(s, width, height)
		if h := lipgloss.Height(frame); frame != "" && h > height {
			t.Fatalf("%d lines in %d:\n%s", h, height, frame)
		}
		if w := lipgloss.Width(frame); w > width {
			t.Fatalf("%d columns in %d:\n%s", w, width, frame)
		}
	})
}

// The picture holds the frame's words, and is XML.
func TestPicture(t *testing.T) {
	picture := Picture(Frame(scene(), 100, 34), 100, 34)
	for _, want := range []string{"<svg ", ">leat demo<", "of 2+3", "&#34;earthquakes&#34;", `fill="#ff6b6b"`, "</svg>"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture is without %s", want)
		}
	}
	if strings.Contains(picture, "\x1b") {
		t.Error("the picture has an escape sequence")
	}
	checkXML(t, picture)
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
