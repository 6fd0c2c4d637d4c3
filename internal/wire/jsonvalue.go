package wire

import (
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

// digits reads digits; there must be one.
func (j *jsonReader) digits() {
	from := j.at
	for j.at < len(j.in) && j.in[j.at]-'0' <= 9 {
		j.at++
	}
	switch {
	case j.err != nil:
	case j.at == len(j.in):
		j.fail(errShort) // it may go on
	case j.at == from:
		j.fail(unexpected(j.in[j.at], "a digit"))
	}
}

// numeral reads a number, as it stands there.
func (j *jsonReader) numeral() []byte {
	if j.peek(); j.err != nil {
		return nil
	}
	from := j.at
	if j.in[j.at] == '-' {
		j.at++
	}
	if j.at < len(j.in) && j.in[j.at] == '0' {
		if j.at++; j.at == len(j.in) {
			j.fail(errShort)
		}
	} else {
		j.digits()
	}
	if j.err == nil && j.in[j.at] == '.' {
		j.at++
		j.digits()
	}
	if j.err == nil && j.in[j.at]|0x20 == 'e' {
		if j.at++; j.at < len(j.in) && (j.in[j.at] == '+' || j.in[j.at] == '-') {
			j.at++
		}
		j.digits()
	}
	if j.err != nil {
		return nil
	}
	return j.in[from:j.at]
}

// number reads a number; one that is too large for a float is infinite.
func (j *jsonReader) number() float64 {
	numeral := j.numeral()
	if j.err != nil {
		return 0
	}
	if f, ok := decimal(numeral); ok {
		return f
	}
	f, _ := strconv.ParseFloat(string(numeral), 64)
	return f
}

// powers are those of ten that a float holds exactly, as far as decimal needs them.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal is the number of up to 15 digits and a point, which it gets right: the quotient of two floats that
// are exact. Anything else is not ok.
func decimal(numeral []byte) (f float64, ok bool) {
	n, point := uint64(0), -1
	if len(numeral) > 16 {
		return 0, false
	}
	for i, b := range numeral {
		switch {
		case b-'0' <= 9:
			n = n*10 + uint64(b-'0')
		case b == '.' && i <= 15:
			point = i
		default:
			return 0, false
		}
	}
	if point < 0 {
		return float64(n), len(numeral) <= 15
	}
	return float64(n) / powers[len(numeral)-1-point], true
}

// time reads a number, or a string that is a date or a number.
func (j *jsonReader) time() float64 {
	if j.peek() != '"' || j.err != nil {
		return j.number()
	}
	s := j.string()
	if j.err != nil {
		return 0
	}
	since, err := dateSince(string(appendText(nil, s)))
	if err != nil {
		j.fail(err)
	}
	return since
}

// children reads ChildShards. They come once in a shard's life, so that this need not be fast.
func (j *jsonReader) children() (shards []types.ChildShard) {
	j.peek()
	from := j.at
	if j.skip(0); j.err != nil {
		return nil
	}
	if err := json.Unmarshal(j.in[from:j.at], &shards); err != nil {
		j.fail(err)
	}
	return shards
}
