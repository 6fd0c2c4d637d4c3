package fetch

import (
	"errors"
	"fmt"
)

// ErrMissing says that the service knows no such stream, or no such shard of it. It is never the end
// of a shard: the stream may have been deleted, or deleted and made again under its name, or the shard may
// have passed out of retention.
var ErrMissing = errors.New("no such stream or shard")

// PositionError says that the service does not accept the place to read from, and that it is not
// one that merely passed out of retention. The stream may have been made again under its name, or the
// checkpoint is another stream's or another shard's.
type PositionError struct {
	Shard    string
	Position string // as people read it: the sequence number
	Err      error  // the service's answer
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("shard %s cannot be read from %s (has the stream been recreated, or is the checkpoint another stream's?): %v",
		e.Shard, e.Position, e.Err)
}

func (e *PositionError) Unwrap() error { return e.Err }
