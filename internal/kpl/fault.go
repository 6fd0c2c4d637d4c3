package kpl

import "fmt"

// Reason is what is wrong with an aggregated record, as one word for counters and logs.
type Reason string

const (
	// NotAggregated: the data do not look like an aggregated record. See Is.
	NotAggregated Reason = "not-aggregated"

	// BadChecksum: the MD5 is not that of the message. So it is damaged, or a plain record whose
	// data begin with the magic bytes by chance.
	BadChecksum Reason = "bad-checksum"

	// Malformed: the message is not one of the format. The checksum is right: its producer wrote it so,
	// as in all that follow.
	Malformed Reason = "malformed"

	// BadIndex: a user record names a key that is not in the table.
	BadIndex Reason = "bad-index"

	// LongKey: a key is longer than the service allows.
	LongKey Reason = "long-key"

	// TooMany: it holds more user records, or keys, than the reader allows.
	TooMany Reason = "too-many"

	// Empty: it holds no user record.
	Empty Reason = "empty"
)

// Error says why data cannot be taken apart. Its text holds numbers only, no data and no keys, so that it may
// be logged.
type Error struct {
	Reason Reason
	Offset int // bytes from the start of data to what is wrong; 0 if that is the whole of it
	what   string
}

func (e *Error) Error() string {
	if e.Offset == 0 {
		return "aggregated record: " + e.what
	}
	return fmt.Sprintf("aggregated record: at byte %d: %s", e.Offset, e.what)
}
