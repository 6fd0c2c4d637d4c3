package lease

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Position is a place in a shard. As a checkpoint it means: everything up to and including this
// place has been handled. As a start it means: read what comes after it.
//
// The zero Position is TRIM_HORIZON. Positions are values; == compares them.
type Position struct {
	kind positionKind
	seq  string // canonical decimal, no leading zeros; only with kindSequence
	sub  int64  // place inside an aggregated record; only with kindSequence
	at   int64  // Unix milliseconds; only with kindAtTimestamp
}

// The order of the kinds is not the order of positions; see rank.
type positionKind uint8

const (
	kindTrimHorizon positionKind = iota
	kindLatest
	kindAtTimestamp
	kindSequence
	kindShardEnd
)

// The sentinels as they stand in a lease's checkpoint attribute, the Java KCL's words
// (KCL source, ExtendedSequenceNumber and SentinelCheckpoint).
const (
	textTrimHorizon = "TRIM_HORIZON"
	textLatest      = "LATEST"
	textAtTimestamp = "AT_TIMESTAMP"
	textShardEnd    = "SHARD_END"
)

// maxSequenceDigits is the longest sequence number that the service accepts
// (Kinesis API reference, pattern of SequenceNumber: 0|([1-9]\d{0,128})).
const maxSequenceDigits = 129

// TrimHorizon is the place before the oldest record that the stream still keeps.
func TrimHorizon() Position { return Position{} }

// Latest is the place after the newest record. It is a start only: a group turns it into a point in
// time when it first sees the stream, so that a restart of an idle shard leaves no gap.
func Latest() Position { return Position{kind: kindLatest} }

// AtTimestamp is the place before the first record that arrived at t or later. Kinesis and the lease
// tables know milliseconds; t is cut to them. No record is older than 1970: an earlier t is 1970.
func AtTimestamp(t time.Time) Position {
	return Position{kind: kindAtTimestamp, at: max(0, t.UnixMilli())}
}

// ShardEnd is the place after the last record of a closed shard: the shard is finished.
func ShardEnd() Position { return Position{kind: kindShardEnd} }

// AfterSequence is the place just after the record with this sequence number and, inside an
// aggregated record, this sub-sequence number (0 for a plain record). A sequence number is 1 to 129
// decimal digits; anything else is an error.
func AfterSequence(sequence string, sub int64) (Position, error) {
	if !decimal(sequence) {
		return Position{}, fmt.Errorf("sequence number %q: not a decimal number", clip(sequence))
	}
	for len(sequence) > 1 && sequence[0] == '0' {
		sequence = sequence[1:]
	}
	if len(sequence) > maxSequenceDigits {
		return Position{}, fmt.Errorf("sequence number %q: more than %d digits", clip(sequence), maxSequenceDigits)
	}
	if sub < 0 {
		return Position{}, fmt.Errorf("sub-sequence number %d: negative", sub)
	}
	return Position{kind: kindSequence, seq: sequence, sub: sub}, nil
}

// decimal says whether s is decimal digits, at least one. It is asked of each record.
func decimal(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return s != ""
}

// Sequence returns the sequence and sub-sequence number of a position made by AfterSequence; ok is
// false for every other kind.
func (p Position) Sequence() (sequence string, sub int64, ok bool) {
	return p.seq, p.sub, p.kind == kindSequence
}

// Timestamp returns the time of a position made by AtTimestamp; ok is false for every other kind.
func (p Position) Timestamp() (t time.Time, ok bool) {
	if p.kind != kindAtTimestamp {
		return time.Time{}, false
	}
	return time.UnixMilli(p.at).UTC(), true
}

// IsLatest says whether p is Latest.
func (p Position) IsLatest() bool { return p.kind == kindLatest }

// IsShardEnd says whether p is ShardEnd.
func (p Position) IsShardEnd() bool { return p.kind == kindShardEnd }

// Begun says whether a shard with this checkpoint has been read: some record was handled, or all.
func (p Position) Begun() bool { return p.kind == kindSequence || p.kind == kindShardEnd }

// Compare orders positions: AT_TIMESTAMP < TRIM_HORIZON < LATEST < any sequence number < SHARD_END,
// the Java KCL's order (ExtendedSequenceNumber). Sequence numbers compare as numbers, then by
// sub-sequence number; two times by time.
func (p Position) Compare(q Position) int {
	switch {
	case p.rank() != q.rank():
		return sign(p.rank() - q.rank())
	case len(p.seq) != len(q.seq): // canonical decimals: the longer one is the larger one
		return sign(len(p.seq) - len(q.seq))
	case p.seq != q.seq:
		return strings.Compare(p.seq, q.seq)
	case p.sub != q.sub:
		return compareInt(p.sub, q.sub)
	default:
		return compareInt(p.at, q.at)
	}
}

func (p Position) rank() int {
	return [...]int{kindTrimHorizon: 1, kindLatest: 2, kindAtTimestamp: 0, kindSequence: 3, kindShardEnd: 4}[p.kind]
}

// String describes p for people: a sentinel, "AT_TIMESTAMP 2026-01-02T15:04:05.678Z", or a sequence
// number, followed by "/sub" where the sub-sequence number is not 0.
func (p Position) String() string {
	switch p.kind {
	case kindAtTimestamp:
		return textAtTimestamp + " " + time.UnixMilli(p.at).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	case kindSequence:
		if p.sub != 0 {
			return p.seq + "/" + strconv.FormatInt(p.sub, 10)
		}
		return p.seq
	default:
		return p.checkpointText()
	}
}

// checkpointText is the value of a lease item's checkpoint attribute; the sub-sequence number and the
// timestamp stand in attributes of their own.
func (p Position) checkpointText() string {
	switch p.kind {
	case kindLatest:
		return textLatest
	case kindAtTimestamp:
		return textAtTimestamp
	case kindShardEnd:
		return textShardEnd
	case kindSequence:
		return p.seq
	default:
		return textTrimHorizon
	}
}

// parseCheckpoint is the inverse of checkpointText.
func parseCheckpoint(text string, sub, at int64) (Position, error) {
	switch text {
	case textTrimHorizon:
		return TrimHorizon(), nil
	case textLatest:
		return Latest(), nil
	case textAtTimestamp:
		return Position{kind: kindAtTimestamp, at: at}, nil
	case textShardEnd:
		return ShardEnd(), nil
	}
	return AfterSequence(text, sub)
}

func sign(n int) int { return compareInt(int64(n), 0) }

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// clip keeps a foreign string in an error message short.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
