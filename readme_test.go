package leat_test

import (
	"os"
	"strings"
	"testing"
)

// The program in the README is the one in examples, which is compiled.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("examples/smallest/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, found := strings.Cut(string(source), "func main() {")
	if !found || !strings.Contains(string(readme), "func main() {"+program) {
		t.Error("README.md does not hold main of examples/smallest/main.go to the letter")
	}
}
