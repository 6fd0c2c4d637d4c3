package main

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/leatstream/leat"
)

// writer appends a record to an output, in one format. It keeps nothing of the record.
type writer func(out []byte, r *leat.Record) []byte

// writeJSON is the writer of JSON lines: a contract, see doc.go.
func writeJSON(out []byte, r *leat.Record) []byte {
	line, _ := r.MarshalJSON() // of strings and a number: it cannot fail
	return append(append(out, line...), '\n')
}

// arrival is the time of a record as people and JSON get it: RFC 3339, UTC, milliseconds.
func arrival(r *leat.Record) string {
	return r.ArrivalTime.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// verbs are what --format knows besides %% and %n.
var verbs = map[byte]writer{
	's': func(out []byte, r *leat.Record) []byte { return append(out, r.Data...) },
	'k': func(out []byte, r *leat.Record) []byte { return append(out, r.PartitionKey...) },
	'q': func(out []byte, r *leat.Record) []byte { return append(out, r.SequenceNumber...) },
	'S': func(out []byte, r *leat.Record) []byte { return append(out, r.Shard...) },
	't': func(out []byte, r *leat.Record) []byte { return append(out, arrival(r)...) },
	'T': func(out []byte, r *leat.Record) []byte { return strconv.AppendInt(out, r.ArrivalTime.UnixMilli(), 10) },
	'n': func(out []byte, _ *leat.Record) []byte { return append(out, '\n') },
	'%': func(out []byte, _ *leat.Record) []byte { return append(out, '%') },
}

// verbList tells the verbs, for help and errors.
const verbList = `%s data, %k partition key, %q sequence number, %S shard,
%t arrival time (RFC 3339), %T arrival time (Unix milliseconds),
%n newline, %% percent sign; \n newline, \t tab, \\ backslash`

var escapes = map[byte]byte{'n': '\n', 't': '\t', '\\': '\\'}

// parseFormat compiles a --format.
func parseFormat(format string) (writer, error) {
	var parts []writer
	var text []byte
	flush := func() {
		if fixed := text; len(fixed) > 0 {
			parts = append(parts, func(out []byte, _ *leat.Record) []byte { return append(out, fixed...) })
			text = nil
		}
	}
	for i := 0; i < len(format); i++ {
		lead := format[i]
		if lead != '%' && lead != '\\' {
			text = append(text, lead)
			continue
		}
		if i++; i == len(format) {
			return nil, fmt.Errorf("%q ends in %c; verbs:\n%s", format, lead, verbList)
		}
		verb, isVerb := verbs[format[i]]
		escape, isEscape := escapes[format[i]]
		switch {
		case lead == '%' && isVerb:
			flush()
			parts = append(parts, verb)
		case lead == '\\' && isEscape:
			text = append(text, escape)
		default:
			_, size := utf8.DecodeRuneInString(format[i:])
			return nil, fmt.Errorf("%q has the unknown verb %c%s; verbs:\n%s", format, lead, format[i:i+size], verbList)
		}
	}
	flush()
	return func(out []byte, r *leat.Record) []byte {
		for _, part := range parts {
			out = part(out, r)
		}
		return out
	}, nil
}
