package main

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestPathValue(t *testing.T) {
	t.Parallel()
	const line = ` {"a": {"b": "x\u0041", "c": [1, {"d": 2.50}], "n": null}, "t": true, "a.b": 1} `
	tests := []struct{ path, want string }{
		{"a.b", "xA"},
		{"a.c.0", "1"},
		{"a.c.1.d", "2.50"},
		{"t", "true"},
		{"a", "error: neither"},
		{"a.c", "error: neither"},
		{"a.n", "error: neither"},
		{"a.x", "error: there is no a.x"},
		{"a.c.2", "error: 2 elements"},
		{"a.c.x", "error: 2 elements"},
		{"t.x", "error: neither object nor array"},
	}
	for _, test := range tests {
		got, err := pathValue([]byte(line), strings.Split(test.path, "."))
		want, fails := strings.CutPrefix(test.want, "error: ")
		if fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && got != want {
			t.Errorf("%s: %q, %v; want %q", test.path, got, err, test.want)
		}
	}
}

func TestInputLines(t *testing.T) {
	t.Parallel()
	// The buffer is smaller than the lines, so that they come in parts.
	read := func(text string, limit int) (lines []string, err error) {
		in := &input{r: bufio.NewReaderSize(strings.NewReader(text), 16), limit: limit, key: "k"}
		for {
			e, err := in.next()
			if err != nil {
				return lines, err
			}
			lines = append(lines, string(e.data))
		}
	}
	long := strings.Repeat("y", 99)
	lines, err := read("a\n\n"+long+"\r\nb", 200)
	if want := []string{"a", "", long + "\r", "b"}; err != io.EOF || !slices.Equal(lines, want) {
		t.Errorf("%q, %v", lines, err)
	}
	for _, text := range []string{"a\n" + long + "\nb\n", "a\n" + long} {
		lines, err = read(text, 99) // with its key it is one over
		var large *tooLargeError
		if !errors.As(err, &large) || *large != (tooLargeError{2, 100, 99}) || len(lines) != 1 {
			t.Errorf("%q, %v", lines, err)
		}
	}
	if lines, err := read("a\n"+long+"\n", 100); err != io.EOF || len(lines) != 2 {
		t.Errorf("at the limit: %q, %v", lines, err)
	}
}

func TestInputKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, want string }{
		{`{"id":""}`, "the key is empty"},
		{`{"id":"` + strings.Repeat("z", 257) + `"}`, "257 characters"},
		{`{"id":`, "not a JSON value"},
	} {
		in := &input{r: bufio.NewReader(strings.NewReader("\n" + test.line)), limit: 1000, json: true, field: []string{"id"}}
		if _, err := in.next(); err == nil || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.line, err)
		}
	}
	in := &input{r: bufio.NewReader(strings.NewReader("a\nb\n")), limit: 1000}
	a, _ := in.next()
	b, _ := in.next()
	if a.key == "" || a.key == b.key {
		t.Errorf("random keys %q and %q", a.key, b.key)
	}
}
