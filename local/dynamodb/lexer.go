package dynamodb

import (
	"strings"
	"unicode"
)

// lex splits an expression into words (#name, :value, AND, begins_with ...), comparators and punctuation.
func lex(text string) ([]string, error) {
	var tokens []string
	for rest := strings.TrimLeft(text, " \t\r\n"); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		n := 1
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "<=") || strings.HasPrefix(rest, ">=") || strings.HasPrefix(rest, "<>"):
			n = 2
		case strings.IndexByte("=<>(),", c) >= 0:
		case c == '#' || c == ':' || c == '_' || unicode.IsLetter(rune(c)) && c < 0x80:
			for n < len(rest) && (rest[n] == '_' || rest[n] < 0x80 && (unicode.IsLetter(rune(rest[n])) || unicode.IsDigit(rune(rest[n])))) {
				n++
			}
		case strings.IndexByte("+-.[]", c) >= 0:
			return nil, unsupported("%q in an expression: %s", c, text)
		default:
			return nil, invalid("Invalid expression: Syntax error; token: %q, near: %q", c, rest)
		}
		tokens = append(tokens, rest[:n])
		rest = rest[n:]
	}
	return tokens, nil
}
