package local

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// apiError is an error as the service reports it.
type apiError struct {
	kind    string // the exception's name, sent as __type
	message string
	status  int // of the HTTP answer
}

func (e *apiError) Error() string { return e.kind + ": " + e.message }

func failure(kind, format string, args ...any) error {
	return &apiError{kind, fmt.Sprintf(format, args...), http.StatusBadRequest}
}

func notFound(format string, args ...any) error {
	return failure("ResourceNotFoundException", format, args...)
}

func invalidArgument(format string, args ...any) error {
	return failure("InvalidArgumentException", format, args...)
}

func inUse(format string, args ...any) error {
	return failure("ResourceInUseException", format, args...)
}

func limitExceeded(format string, args ...any) error {
	return failure("LimitExceededException", format, args...)
}

func throttled(format string, args ...any) error {
	return failure("ProvisionedThroughputExceededException", format, args...)
}

func internalFailure() error {
	return &apiError{"InternalFailure", "Internal Service Failure", http.StatusInternalServerError}
}

// dryRun is what a request with the DryRun flag gets when all else is in order.
func dryRun() error {
	return failure("DryRunOperationException", "Request would have succeeded, but DryRun flag is set.")
}

// violations collects what is wrong with a request's members. The service checks
// them all before it looks at anything else, and reports them in one message.
type violations []string

// want records that value, at the named member, breaks constraint unless ok.
func (v *violations) want(ok bool, value any, member, constraint string) {
	if ok {
		return
	}
	shown := "null"
	if value != nil {
		shown = fmt.Sprintf("'%v'", value)
	}
	*v = append(*v, fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: %s", shown, member, constraint))
}

// required checks that a string member is there.
func (v *violations) required(value, member string) {
	v.want(value != "", nil, member, "Member must not be null")
}

// matches checks a string member, where it is there, against a whole pattern.
func (v *violations) matches(value, member string, p *pattern) {
	v.want(value == "" || p.re.MatchString(value), value, member,
		"Member must satisfy regular expression pattern: "+p.text)
}

// atMost checks the length in characters of a string member.
func (v *violations) atMost(value, member string, length int) {
	// A string of n bytes has at most n characters: count only where it matters.
	v.want(len(value) <= length || len([]rune(value)) <= length, value, member,
		"Member must have length less than or equal to "+strconv.Itoa(length))
}

// between checks an integer member, where it is there.
func (v *violations) between(value *int32, member string, least, most int32) {
	if value == nil {
		return
	}
	v.want(*value >= least, *value, member, fmt.Sprintf("Member must have value greater than or equal to %d", least))
	v.want(*value <= most, *value, member, fmt.Sprintf("Member must have value less than or equal to %d", most))
}

// oneOf checks an enumerated member, where it is there.
func (v *violations) oneOf(value, member string, names ...string) {
	ok := value == ""
	for _, name := range names {
		ok = ok || value == name
	}
	v.want(ok, value, member, "Member must satisfy enum value set: ["+strings.Join(names, ", ")+"]")
}

// err is the ValidationException for all that was found, or nil.
func (v violations) err() error {
	if len(v) == 0 {
		return nil
	}
	plural := "s"
	if len(v) == 1 {
		plural = ""
	}
	return failure("ValidationException", "%d validation error%s detected: %s", len(v), plural, strings.Join(v, "; "))
}

type pattern struct {
	text string
	re   *regexp.Regexp
}

func newPattern(text string) *pattern {
	return &pattern{text, regexp.MustCompile("^(?:" + text + ")$")}
}

// The patterns of the service's model (API reference, Kinesis_20131202).
var (
	namePattern     = newPattern(`[a-zA-Z0-9_.-]+`)
	arnPattern      = newPattern(`arn:aws.*:kinesis:.*:\d{12}:stream/\S+`)
	hashKeyPattern  = newPattern(`0|([1-9]\d{0,38})`)
	sequencePattern = newPattern(`0|([1-9]\d{0,128})`)
)
