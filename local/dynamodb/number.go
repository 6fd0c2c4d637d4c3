package dynamodb

import (
	"math/big"
	"strconv"
	"strings"
)

// The bounds of numbers (DynamoDB developer guide, "Supported data types: Number").
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// canonical returns a number's text as the service gives it back: all digits written out, no zeros at the
// ends, no exponent.
func canonical(text string) (string, error) {
	bad := func() (string, error) {
		return "", invalid("The parameter cannot be converted to a numeric value: %s", text)
	}
	rest, negative := strings.CutPrefix(text, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	shift := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e, err := strconv.Atoi(rest[i+1:])
		if err != nil || e > 1000 || e < -1000 {
			return bad()
		}
		rest, shift = rest[:i], e
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return bad()
	}
	shift -= len(fraction) // the number is digits x 10^shift
	digits = strings.TrimLeft(digits, "0")
	short := strings.TrimRight(digits, "0")
	shift += len(digits) - len(short)
	digits = short
	switch leading := shift + len(digits) - 1; {
	case digits == "":
		return "0", nil
	case len(digits) > maxDigits:
		return "", invalid("Attempting to store more than 38 significant digits in a Number")
	case leading > maxExponent:
		return "", invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case leading < minExponent:
		return "", invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	var out string
	switch point := len(digits) + shift; {
	case shift >= 0:
		out = digits + strings.Repeat("0", shift)
	case point > 0:
		out = digits[:point] + "." + digits[point:]
	default:
		out = "0." + strings.Repeat("0", -point) + digits
	}
	if negative {
		out = "-" + out
	}
	return out, nil
}

// compareNumbers compares two canonical numbers.
func compareNumbers(a, b string) int {
	x, _ := new(big.Rat).SetString(a)
	y, _ := new(big.Rat).SetString(b)
	return x.Cmp(y)
}

// numberSize is what a canonical number counts for: about a byte for two digits, and one.
func numberSize(text string) int {
	digits := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(text, "-"), ".", ""), "0")
	size := 1 + (len(digits)+1)/2
	if strings.HasPrefix(text, "-") {
		size++
	}
	return size
}
